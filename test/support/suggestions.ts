// A Temporal server of its own, which suggests early that flows continue as new, for all that runs meanwhile.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Supervisor } from '../../dev/supervisor.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.mjs';
import { STACK_VARIABLE, testStack } from './stack.ts';

/**
 * Replaces the Temporal server of the test stack by one that suggests continuing as new after this many events. The
 * function that it returns stops it.
 */
export async function suggestContinueAsNew(
  eventsMax: number,
  say: (line: string) => void = () => {},
): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'manilla-suggestions-'));
  const parts = new Supervisor({ logFolder: path.join(folder, 'logs'), say });
  parts.removeAtEnd(folder);
  const usual = testStack();
  const stop = async (): Promise<void> => {
    process.env[STACK_VARIABLE] = JSON.stringify(usual);
    await parts.stop();
  };
  try {
    const program = await findTemporal({ say });
    const dynamicConfig = { 'limit.historyCount.suggestContinueAsNew': eventsMax };
    const { address: temporalAddress } = await startTemporal(parts, { program, dynamicConfig });
    process.env[STACK_VARIABLE] = JSON.stringify({ ...usual, temporalAddress });
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

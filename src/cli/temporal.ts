// The command line's connection to Temporal. The client is loaded by the commands that need it: the others start faster.
import type { Client } from '@temporalio/client';
import { CommandFailure } from './failure.ts';
import { readSettings } from './settings.ts';

const CONNECT_TIMEOUT_MS = 5_000;

/** Runs `work` with a client of the Temporal server that the service uses. */
export async function withTemporal<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const { Client, Connection } = await import('@temporalio/client');
  const { temporalAddress } = readSettings();
  const address = temporalAddress ?? '127.0.0.1:7233';
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS }).catch(() => {
    throw new CommandFailure(`No Temporal server answers at ${address}. Start it, or set TEMPORAL_ADDRESS.`);
  });
  try {
    return await work(new Client({ connection, namespace: process.env.TEMPORAL_NAMESPACE || 'default' }));
  } finally {
    await connection.close();
  }
}

/** Whether there is no such flow, or it has ended. */
export const isNoFlow = (error: unknown): boolean => (error as Error | null)?.name === 'WorkflowNotFoundError';

/** The words in which a flow refused an update; null for any other error. */
export function refusalOf(error: unknown): string | null {
  const refused = error as (Error & { cause?: Error }) | null;
  return refused?.name === 'WorkflowUpdateFailedError' ? (refused.cause?.message ?? refused.message) : null;
}

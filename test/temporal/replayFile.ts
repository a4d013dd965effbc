// Runs `npm run replay` on a file, with these payload keys, in a process of its own.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../dev/replay/command.ts', import.meta.url));

/** Returns what it printed. */
export function replayFile(file: string, keys: string): Promise<string> {
  return new Promise((resolve) => {
    const env = { ...process.env, TEMPORAL_PAYLOAD_KEYS: keys };
    execFile(process.execPath, [COMMAND, file], { env }, (_error, output, errors) => resolve(output + errors));
  });
}

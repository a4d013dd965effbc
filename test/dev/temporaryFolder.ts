// A folder for one test, removed when the test file is done.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from '@jest/globals';

const made: string[] = [];

afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'manilla-test-'));
  // As most folders are: others may pass through. (mkdtemp makes one that is closed to all but its owner.)
  chmodSync(folder, 0o711);
  made.push(folder);
  return folder;
}

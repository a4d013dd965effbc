// A temporary folder for a test, removed after the test file.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from '@jest/globals';

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'manilla-test-'));
  // As most folders are: others may enter. (mkdtemp makes one that is accessible to its owner only.)
  chmodSync(folder, 0o711);
  folders.push(folder);
  return folder;
}

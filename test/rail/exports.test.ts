// An adapter in a repository of its own imports the port and its suite, as docs/rails/writing-an-adapter.md says.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = path.resolve(import.meta.dirname, '../..');

test('a package that links to this one runs the suite from TypeScript', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'manilla-adapter-'));
  try {
    mkdirSync(path.join(folder, 'node_modules'));
    // What `npm install` makes of a folder.
    symlinkSync(ROOT, path.join(folder, 'node_modules/manilla'));
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(
      path.join(folder, 'adapter.test.ts'),
      `import { type RailBench, railPromises } from 'manilla/rail/conformance';
       import type { RailCapabilities } from 'manilla/rail/capabilities';
       import { RailUnavailableError } from 'manilla/rail/errors';
       import type { BankRail } from 'manilla/rail/port';
       import type { RailProvider } from 'manilla/rail/provider';
       const transfers = { minAmount: 1, maxAmount: null, balance: false };
       const capabilities = { oneOff: null, permanent: null, credits: {}, callbacks: {}, transfers } as unknown as
         RailCapabilities;
       const rail = { banks: () => Promise.reject(new RailUnavailableError('no banks')) } as unknown as BankRail;
       const [, first] = railPromises(capabilities) as [unknown, { title: string; check: (bench: RailBench) => Promise<void> }];
       const provider = { name: 'mine' } as RailProvider;
       await first.check({ rail } as RailBench).catch((error) => console.log(provider.name, first.title, error.name));`,
    );
    const printed = execFileSync(process.execPath, ['adapter.test.ts'], { cwd: folder, encoding: 'utf8' });
    expect(printed).toBe('mine the list of banks has no code twice RailUnavailableError\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

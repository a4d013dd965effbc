// A port that is taken between our finding it and the program's listening on it: the race is real, and always lost.
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { freePort } from '../../dev/freePort.ts';
import { choosePorts, startOnPorts, type WantedPorts } from '../../dev/ports.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { checkTemporal, DEFAULT_NAMESPACE, startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.ts';
import { temporaryFolder } from './temporaryFolder.ts';

const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function occupy(port: number): Promise<void> {
  const server: Server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
}

function openParts(): Supervisor {
  const parts = new Supervisor({ logFolder: path.join(temporaryFolder(), 'logs'), say: () => {} });
  ends.push(() => parts.stop());
  return parts;
}

/** A server of its own process, on this port. */
const listener = (port: number) => ({
  name: 'api',
  kind: 'application' as const,
  command: process.execPath,
  args: ['-e', `require('node:http').createServer((q, r) => r.end('mine')).listen(${port}, '127.0.0.1')`],
  stopSignal: 'SIGTERM' as const,
  stopWithinMs: 2_000,
  readyWithinMs: 20_000,
  isReady: async () =>
    (await (await fetch(`http://127.0.0.1:${port}`, { signal: AbortSignal.timeout(3_000) })).text()) === 'mine',
});

async function wantedPorts(isSet: boolean): Promise<WantedPorts<'sandbox'>> {
  const address = '127.0.0.1';
  return { sandbox: { setting: 'SANDBOX_PORT', what: 'the sandbox API', port: await freePort(), isSet, address } };
}

test.each([
  { isSet: true, says: (port: number) => `  SANDBOX_PORT=${port} is taken: the sandbox API is on ` },
  { isSet: false, says: (port: number) => `  port ${port} is taken: the sandbox API is on ` },
])(
  'a port that is snatched is replaced by another, and it is said (set by the user: $isSet)',
  async ({ isSet, says }) => {
    const parts = openParts();
    const wanted = await wantedPorts(isSet);
    const { port } = wanted.sandbox;
    const said: string[] = [];
    const say = (line: string) => said.push(line);
    const chosen = await choosePorts(wanted, say);
    expect([chosen.sandbox, said]).toEqual([port, []]);
    await occupy(port);
    const ports = await startOnPorts(chosen, wanted, say, ({ sandbox }) => parts.start(listener(sandbox)));
    expect(ports.sandbox).not.toBe(port);
    expect(said).toEqual([expect.stringContaining(`${says(port)}${ports.sandbox}`)]);
    expect(said[0]).toContain('SANDBOX_PORT');
    expect(await (await fetch(`http://127.0.0.1:${ports.sandbox}`)).text()).toBe('mine');
  },
);

test('a program that fails for another reason is not started again', async () => {
  const parts = openParts();
  const wanted = await wantedPorts(false);
  let starts = 0;
  const start = startOnPorts(
    await choosePorts(wanted, () => {}),
    wanted,
    () => {},
    async ({ sandbox }) => {
      starts += 1;
      await parts.start({ ...listener(sandbox), args: ['-e', 'throw new Error("no settings")'] });
    },
  );
  await expect(start).rejects.toThrow('no settings');
  expect(starts).toBe(1);
});

test.each(['--port', '--ui-port'])('Temporal takes another port when its own (%s) is snatched', async (flag) => {
  const folder = temporaryFolder();
  const real = await findTemporal({ say: () => {} });
  // Stands before the real program: the first time it takes the port itself, and keeps it while that tries to start.
  const program = path.join(folder, 'temporal');
  const snatch = `
    const [, program, ...args] = process.argv;
    const port = Number(args.find((word) => word.startsWith('${flag}=')).split('=')[1]);
    require('node:net').createServer((socket) => socket.destroy()).listen(port, '127.0.0.1', () => {
      process.exit(require('node:child_process').spawnSync(program, args, { stdio: 'inherit' }).status ?? 1);
    });`;
  writeFileSync(path.join(folder, 'snatch.cjs'), snatch.replace('const [, program', 'const [, , program'));
  writeFileSync(
    program,
    `#!/bin/sh
if mkdir '${folder}/once' 2>/dev/null; then exec '${process.execPath}' '${folder}/snatch.cjs' '${real}' "$@"; fi
exec '${real}' "$@"
`,
  );
  chmodSync(program, 0o755);
  const port = await freePort();
  const uiPort = await freePort(undefined, [port]);
  const parts = openParts();
  const { address, uiUrl } = await startTemporal(parts, { program, portPreferred: port, uiPortPreferred: uiPort });
  await checkTemporal(address, DEFAULT_NAMESPACE);
  // Only the real program's second start makes it ready, whichever ports it then has.
  expect((await fetch(uiUrl)).status).toBe(200);
});

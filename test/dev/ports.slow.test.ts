// The race for a port between its selection and the program's start: here another process always wins it.
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { freePort } from '../../dev/freePort.ts';
import { choosePorts, startOnPorts, type WantedPorts } from '../../dev/ports.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { checkTemporal, startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.mjs';
import { DEFAULT_NAMESPACE } from '../../src/temporal/profile.ts';
import { temporaryFolder } from './temporaryFolder.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function occupy(port: number): Promise<void> {
  const server: Server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => server.close(resolve)));
}

function openParts(): Supervisor {
  const parts = new Supervisor({ logFolder: path.join(temporaryFolder(), 'logs'), say: () => {} });
  closers.push(() => parts.stop());
  return parts;
}

/** A server in its own process, on this port. */
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
  { isSet: true, message: (port: number) => `  SANDBOX_PORT=${port} is taken: the sandbox API is on ` },
  { isSet: false, message: (port: number) => `  port ${port} is taken: the sandbox API is on ` },
])(
  'a port that is taken before the start is replaced, and the replacement is reported (set by the user: $isSet)',
  async ({ isSet, message }) => {
    const parts = openParts();
    const preferred = await wantedPorts(isSet);
    const { port } = preferred.sandbox;
    const lines: string[] = [];
    const say = (line: string) => lines.push(line);
    const chosen = await choosePorts(preferred, say);
    expect([chosen.sandbox, lines]).toEqual([port, []]);
    await occupy(port);
    const ports = await startOnPorts(chosen, preferred, say, ({ sandbox }) => parts.start(listener(sandbox)));
    expect(ports.sandbox).not.toBe(port);
    expect(lines).toEqual([expect.stringContaining(`${message(port)}${ports.sandbox}`)]);
    expect(lines[0]).toContain('SANDBOX_PORT');
    expect(await (await fetch(`http://127.0.0.1:${ports.sandbox}`)).text()).toBe('mine');
  },
);

test.each(['--port', '--ui-port'])('Temporal is restarted on another port when its own (%s) is taken', async (flag) => {
  const folder = temporaryFolder();
  const real = await findTemporal({ say: () => {} });
  // A wrapper of the real program: its first run occupies the port itself while the program tries to start.
  const program = path.join(folder, 'temporal');
  const snatch = `
    const [, program, ...args] = process.argv;
    const port = Number(args.find((word) => word.startsWith('${flag}=')).split('=')[1]);
    const [, ip] = args.find((word) => word.startsWith('${flag === '--ui-port' ? '--ui-ip' : '--ip'}=')).split('=');
    require('node:net').createServer((socket) => socket.destroy()).listen(port, ip, () => {
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
  // Only the second run of the real program becomes ready, on whichever ports it has.
  expect((await fetch(uiUrl)).status).toBe(200);
  // Its server checks no Host: on Linux it is at an address that no page of another site knows.
  const isUnguessable = /^127\.(?!0\.0\.1$)/.test(new URL(uiUrl).hostname);
  expect(isUnguessable).toBe(process.platform === 'linux');
});

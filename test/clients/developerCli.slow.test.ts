// The developer's command line as a program of its own, against the API and a worker: what it prints, sends and ends
// with.
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from '@jest/globals';
import { EVENT_TYPES, RECIPES } from '../../clients/cli/src/recipes.ts';
import { verifyWebhook } from '../../clients/typescript/src/index.ts';
import { newApiKey } from '../../src/resources/keys.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import type { Client } from '../support/api.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus, startReceiver } from '../webhooks/receiver.ts';

const PROGRAM = fileURLToPath(new URL('../../clients/cli/manilla.mjs', import.meta.url));

const flows = await startTestFlows({ settings: { WORKER_ROLES: 'flows,payouts,relay' } });

const running = new Set<ChildProcess>();

afterAll(async () => {
  // Those of failed tests.
  for (const child of running) child.kill('SIGKILL');
  await flows.close();
});

type Document = Record<string, unknown>;

interface Run {
  child: ChildProcessByStdio<Writable, Readable, Readable>;
  stdout: () => string;
  stderr: () => string;
  /** The JSON documents of standard output so far; one a line, or it throws. */
  documents: () => Document[];
  /** Waits for the end. Returns the exit code. */
  ended: () => Promise<number | null>;
}

interface RunOptions {
  /** Run it on a terminal: what is shown is in `stdout`, and `input` is typed once the prompt is there. */
  terminal?: { prompt?: string };
  /** Default: the key of the default organisation. Null: none. */
  key?: string | null | undefined;
  env?: Record<string, string>;
  cwd?: string;
  input?: string;
}

/** Runs a command on a terminal of its own, with Python's pty module: Node has none. */
const ON_TERMINAL = [
  'python3',
  '-c',
  'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))',
];

/** Starts the program with settings of its own. */
function start(args: string[], { key, env = {}, cwd, input = '', terminal }: RunOptions = {}): Run {
  const apiKey = key === undefined ? flows.test.key : key;
  const command = [...(terminal === undefined ? [] : ON_TERMINAL), process.execPath, PROGRAM, ...args];
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      XDG_CONFIG_HOME: temporaryFolder(),
      MANILLA_URL: flows.urls.test,
      ...(apiKey !== null && { MANILLA_API_KEY: apiKey }),
      ...env,
    },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  function typeAfter(prompt: string): () => void {
    let isTyped = false;
    return () => {
      if (!isTyped && stdout.includes(prompt)) child.stdin.write(input);
      isTyped ||= stdout.includes(prompt);
    };
  }
  running.add(child);
  const closed = once(child, 'close').then(() => running.delete(child));
  if (terminal?.prompt === undefined) child.stdin.end(input);
  else child.stdout.on('data', typeAfter(terminal.prompt));
  const documents = () =>
    stdout
      .slice(0, stdout.lastIndexOf('\n') + 1)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Document);
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    documents,
    ended: async () => {
      await closed;
      return child.exitCode;
    },
  };
}

/** Runs the program to its end. */
async function manilla(args: string[], options: RunOptions = {}) {
  const started = start(args, options);
  const code = await started.ended();
  return { code, stdout: started.stdout(), stderr: started.stderr(), documents: started.documents };
}

const untilSaid = (run: Run, text: string) => waitFor(`the program to say ${text}`, () => run.stderr().includes(text));

/** Ends a program as Ctrl-C does. Returns the exit code. */
async function interrupt(run: Run): Promise<number | null> {
  run.child.kill('SIGINT');
  return await run.ended();
}

async function paymentOf(client: Client, walletId: string) {
  const body = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: walletId };
  const { data } = await client.money('/payments', body);
  return data as typeof data & { virtualAccount: { accountNumber: string } };
}

describe('login', () => {
  test.concurrent('stores a key from standard input that the API knows, for its user only', async () => {
    const config = temporaryFolder();
    const env = { XDG_CONFIG_HOME: config };
    const file = path.join(config, 'manilla', 'config.json');
    const login = await manilla(['login', '--api-key-file', '-', '--json'], {
      key: null,
      env,
      input: `${flows.test.key}\n`,
    });
    expect([login.code, login.stderr]).toEqual([0, '']);
    expect(login.documents()).toEqual([{ url: flows.urls.test, version: expect.any(String), file }]);
    expect(login.stdout).not.toContain(flows.test.key);
    expect(statSync(file).mode & 0o777).toBe(0o600);

    // Other commands use it, wherever they are.
    const used = await manilla(['events', 'resend', 'svc_unknown', '--json'], {
      key: null,
      env: { ...env, MANILLA_URL: '' },
    });
    expect(used.code).toBe(1);
    expect(used.documents()).toMatchObject([{ error: { code: 'EVENT_NOT_FOUND', status: 404 } }]);

    expect((await manilla(['logout'], { key: null, env })).code).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  test.concurrent('takes what npm start wrote', async () => {
    const cwd = temporaryFolder();
    mkdirSync(path.join(cwd, '.manilla'));
    const quickstart = { sandboxBaseUrl: flows.urls.test, testApiKey: flows.test.key };
    writeFileSync(path.join(cwd, '.manilla/quickstart.json'), JSON.stringify(quickstart));
    const { code, stdout } = await manilla(['login', '--quickstart'], { key: null, cwd });
    expect(code).toBe(0);
    expect(stdout).toContain(`Logged in at ${flows.urls.test}`);
  });

  test.concurrent('refuses live keys, live hosts, unknown keys and keys as arguments, and stores nothing', async () => {
    const config = temporaryFolder();
    const env = { XDG_CONFIG_HOME: config };
    const [live, liveHost, unknown, argument, none] = await Promise.all([
      manilla(['login'], { key: flows.live.key, env }),
      manilla(['login', '--url', flows.urls.live], { env }),
      manilla(['login'], { key: newApiKey('test'), env }),
      manilla(['login', '--api-key', String(flows.test.key)], { key: null, env }),
      manilla(['login'], { key: null, env }),
    ]);
    expect([live.code, liveHost.code, unknown.code, argument.code, none.code]).toEqual([2, 1, 1, 2, 2]);
    expect(live.stderr).toContain('live key');
    expect(live.stderr).not.toContain(flows.live.key);
    expect(liveHost.stderr).toContain('is a live host');
    expect(unknown.stderr).toMatch(/API_KEY_INVALID[\s\S]*next: Log in again[\s\S]*request id: req_/);
    expect(argument.stderr).toContain("unknown option '--api-key'");
    expect(none.stderr).toContain('MANILLA_API_KEY, --api-key-file FILE');
    expect(existsSync(path.join(config, 'manilla'))).toBe(false);
  });

  test.concurrent('asks for the key on a terminal, and does not show what is typed', async () => {
    const config = temporaryFolder();
    const env = { XDG_CONFIG_HOME: config, TERM: 'xterm' };
    const terminal = { prompt: 'Test key (svc_test_…): ' };
    const { key } = flows.test;
    const login = await manilla(['login'], { key: null, env, terminal, input: `${key}\r` });
    expect([login.code, login.stdout]).toEqual([0, expect.stringContaining(`Logged in at ${flows.urls.test}`)]);
    expect(login.stdout).not.toContain(key?.slice(-8));
    expect(JSON.parse(readFileSync(path.join(config, 'manilla/config.json'), 'utf8')).apiKey).toBe(key);

    const interrupted = await manilla(['login'], { key: null, env, terminal, input: '\u0003' });
    expect([interrupted.code, interrupted.stdout]).toEqual([130, expect.stringContaining('No key was given')]);
  });

  test.concurrent('without a key and without the API a command says what to do', async () => {
    const [noKey, noApi] = await Promise.all([
      manilla(['pay', '6000000001', '5'], { key: null }),
      manilla(['pay', '6000000001', '5', '--json', '--url', 'http://127.0.0.1:9']),
    ]);
    expect([noKey.code, noKey.stdout]).toEqual([2, '']);
    expect(noKey.stderr).toContain('manilla login');
    expect(noApi.code).toBe(3);
    expect(noApi.documents()).toMatchObject([{ error: { code: 'CONNECTION_FAILED' } }]);
    expect(noApi.stderr).toContain('Start the API');
  });
});

describe('trigger', () => {
  const possible = EVENT_TYPES.filter((type) => !('impossible' in RECIPES[type]) && type !== 'webhook.test');

  test.concurrent.each(possible)('%s happens', async (type) => {
    const { code, stderr, documents } = await manilla(['trigger', type, '--json']);
    expect([code, code === 0 || stderr]).toEqual([0, true]);
    expect(documents()).toEqual([{ event: expect.objectContaining({ type }) }]);
    expect(stderr).toContain(`Making ${type} happen`);
    const { id } = (documents()[0] as { event: { id: string } }).event;
    expect((await flows.test.get(`/events/${id}`)).data.type).toBe(type);
  });

  test.concurrent('a part of a payment is a payment.settled with the status partial, in the amount asked for', async () => {
    const args = ['trigger', 'payment.settled', '--partial', '--amount', '1,000.00'];
    const { code, stdout, stderr } = await manilla(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d payment\.settled svc_\w+_evt svc_\w+_pay partial ₦5\d\d\.\d\d\n$/);
    expect(stderr).toMatch(/payment svc_\w+_pay of ₦1,0\d\d\.\d\d to account \d{10}/);
  });

  test.concurrent('webhook.test goes to an endpoint, and needs one', async () => {
    const organisation = await flows.createOrganisation();
    const { key } = organisation.test;
    const without = await manilla(['trigger', 'webhook.test'], { key });
    expect(without.code).toBe(1);
    expect(without.stderr).toContain('Register one');
    const receiver = await startReceiver();
    try {
      const { data } = await organisation.test.post('/webhook-endpoints', { url: receiver.url });
      const { code, documents } = await manilla(['trigger', 'webhook.test', '--json'], { key });
      expect(code).toBe(0);
      expect(documents()).toMatchObject([{ event: { type: 'webhook.test', data: { id: data.id } } }]);
    } finally {
      await receiver.close();
    }
  });

  test.concurrent('Ctrl-C ends it at once, whatever it waits for', async () => {
    const silent = await startReceiver(() => {}); // no response
    try {
      const run = start(['trigger', 'payment.settled', '--url', `http://127.0.0.1:${silent.port}`]);
      await silent.untilReceived(1);
      expect(await interrupt(run)).toBe(130);
      expect(run.stderr()).not.toContain('error');
    } finally {
      await silent.close();
    }
  });

  test.concurrent('what cannot be made says why; the list has every event', async () => {
    const [adjusted, unknown, list] = await Promise.all([
      manilla(['trigger', 'wallet.adjusted']),
      manilla(['trigger', 'payment.paid']),
      manilla(['trigger', '--list', '--json'], { key: null }),
    ]);
    expect([adjusted.code, unknown.code, list.code]).toEqual([2, 2, 0]);
    expect(adjusted.stderr).toContain('Two operators');
    expect(unknown.stderr).toContain('manilla trigger --list');
    expect(list.documents().map(({ type }) => type)).toEqual(EVENT_TYPES);
  });
});

describe('listen', () => {
  test.concurrent('forwards what happens, as the service sends it, until Ctrl-C', async () => {
    const organisation = await flows.createOrganisation();
    const { key } = organisation.test;
    const [own, endpoint] = await Promise.all([startReceiver(answerStatus(204)), startReceiver()]);
    try {
      // Before the start, and so left out.
      const walletId = await flows.createWallet(organisation.test);
      const earlier = await paymentOf(organisation.test, walletId);
      await organisation.test.post(`/simulations/payments/${earlier.id}/expire`);
      // The earlier event may still be on its way to endpoints.
      await organisation.test.post('/webhook-endpoints', { url: endpoint.url, eventTypes: ['payment.settled'] });

      const listening = start(
        ['listen', '--forward-to', `127.0.0.1:${own.port}/hooks`, '--events', 'payment.settled', '--json'],
        { key },
      );
      await untilSaid(listening, 'whsec_');
      const [secret = ''] = /whsec_\S+/.exec(listening.stderr()) ?? [];
      const payment = await paymentOf(organisation.test, walletId);
      const { accountNumber } = payment.virtualAccount;
      await organisation.test.post('/simulations/inbound-credits', { accountNumber, amount: payment.payableAmount });

      const [received] = await own.untilReceived(1);
      const [sent] = await endpoint.untilReceived(1);
      expect(received).toMatchObject({ method: 'POST', path: '/hooks', body: sent?.body });
      const { id, type } = verifyWebhook(secret, received?.body ?? '', received?.headers ?? {});
      expect(type).toBe('payment.settled');
      for (const name of ['content-type', 'user-agent', 'webhook-id']) {
        expect(received?.headers[name]).toBe(sent?.headers[name]);
      }
      await waitFor('the line of the event', () => listening.documents().length === 1);
      expect(listening.documents()).toMatchObject([{ event: { id, type }, forwarded: { status: 204, error: null } }]);
      expect(await interrupt(listening)).toBe(0);
      expect(listening.stderr()).toMatch(/To go on from here: --since 20\d\d-/);
    } finally {
      await Promise.all([own.close(), endpoint.close()]);
    }
  });

  test.concurrent('goes on after a failure of the own server, filters, and begins earlier on request', async () => {
    const organisation = await flows.createOrganisation();
    const { key } = organisation.test;
    const walletId = await flows.createWallet(organisation.test, { balance: 10_000 });
    const other = await flows.createWallet(organisation.test);
    const receiver = await startReceiver(
      (response, _received, count) => void response.writeHead(count === 1 ? 500 : 200).end(),
    );
    try {
      for (let count = 0; count < 2; count += 1) {
        await organisation.test.money(`/wallets/${walletId}/transfer`, { destinationWalletId: other, amount: 100 });
        const { id } = await paymentOf(organisation.test, walletId);
        await organisation.test.post(`/simulations/payments/${id}/expire`);
      }
      const args = ['listen', '--forward-to', receiver.url, '--events', 'payment.*', '--since', '10m'];
      const listening = start(args, { key });
      await waitFor('two lines', () => listening.stdout().split('\n').length === 3);
      expect(await interrupt(listening)).toBe(0);
      const [first, second] = listening.stdout().split('\n');
      expect(first).toMatch(/payment\.expired .* 500 \d+ ms not delivered$/);
      expect(second).toMatch(/payment\.expired .* 200 \d+ ms$/);
      expect(receiver.received).toHaveLength(2);
    } finally {
      await receiver.close();
    }
  });

  test.concurrent('prints its secret, the same each time; and ends on a key that may not read events', async () => {
    const env = { XDG_CONFIG_HOME: temporaryFolder() };
    const first = await manilla(['listen', '--print-secret'], { env });
    const second = await manilla(['listen', '--print-secret', '--json'], { env });
    expect(first.stdout).toMatch(/^whsec_\S+\n$/);
    expect(second.documents()).toEqual([{ secret: first.stdout.trim() }]);
    const { key } = await flows.createKey(flows.organisation.organisationId, { scopes: ['wallet'] });
    const refused = await manilla(['listen'], { key });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/API_KEY_SCOPE_FORBIDDEN[\s\S]*webhook[\s\S]*request id: req_/);
  });

  test.concurrent('colours what is shown on a terminal, unless NO_COLOR is set, and elsewhere on request', async () => {
    const list = (env: Record<string, string>, terminal?: object) =>
      manilla(['trigger', '--list'], { env: { TERM: 'xterm', ...env }, ...(terminal && { terminal }) });
    const runs = await Promise.all([list({}, {}), list({ NO_COLOR: '1' }, {}), list({ FORCE_COLOR: '1' }), list({})]);
    for (const { stdout } of runs) expect(stdout).toContain('payment.settled');
    expect(runs.map(({ stdout }) => stdout.includes('\u001B['))).toEqual([true, false, true, false]);
  });
});

describe('events resend', () => {
  test.concurrent('sends to endpoints, to one of them, or to the own server', async () => {
    const organisation = await flows.createOrganisation();
    const { key } = organisation.test;
    const { id: paymentId } = await paymentOf(organisation.test, await flows.createWallet(organisation.test));
    await organisation.test.post(`/simulations/payments/${paymentId}/expire`);
    const { items } = await organisation.test.get(`/events?resourceId=${paymentId}`);
    const eventId = items[0]?.id ?? '';
    const none = await manilla(['events', 'resend', eventId], { key });
    expect(none.code).toBe(1);
    expect(none.stderr).toContain('--forward-to');

    const [one, two] = await Promise.all([startReceiver(), startReceiver()]);
    try {
      const endpointIds = [];
      for (const { url } of [one, two]) {
        endpointIds.push((await organisation.test.post('/webhook-endpoints', { url })).data.id);
      }
      const all = await manilla(['events', 'resend', eventId, '--json'], { key });
      const [sent] = all.documents() as { eventId: string; endpointIds: string[] }[];
      expect([all.code, sent?.eventId, sent?.endpointIds.toSorted()]).toEqual([0, eventId, endpointIds.toSorted()]);
      await Promise.all([one.untilReceived(1), two.untilReceived(1)]);

      const single = await manilla(['events', 'resend', eventId, '--endpoint', endpointIds[0] ?? ''], { key });
      expect(single.code).toBe(0);
      await one.untilReceived(2);

      const direct = await manilla(['events', 'resend', eventId, '--forward-to', two.url], { key });
      expect(direct.stdout).toMatch(/payment\.expired .* 200 \d+ ms\n$/);
      expect(two.received.map(({ body }) => JSON.parse(body).id)).toEqual([eventId, eventId]);
      two.answerWith(answerStatus(500));
      expect((await manilla(['events', 'resend', eventId, '--forward-to', two.url], { key })).code).toBe(1);
    } finally {
      await Promise.all([one.close(), two.close()]);
    }
  });
});

describe('logs tail', () => {
  test.concurrent('prints the latest requests and those that come, without its own readings', async () => {
    const organisation = await flows.createOrganisation();
    const { key } = organisation.test;
    await organisation.test.get('/wallets');
    const refused = await organisation.test.post('/wallets', { email: 5 });
    const latest = await waitFor('the refusal in the request log', async () => {
      const run = await manilla(['logs', 'tail', '--no-follow', '--json'], { key });
      return run.documents().length === 2 && run;
    });
    expect(latest.code).toBe(0);
    expect(latest.documents()).toMatchObject([
      { method: 'GET', path: '/wallets', status: 200 },
      { method: 'POST', path: '/wallets', status: 400, errorCode: 'VALIDATION_FAILED', requestId: refused.requestId },
    ]);

    const tail = start(['logs', 'tail', '--status', '404', '--method', 'get', '--lines', '0'], { key });
    await untilSaid(tail, 'Following');
    await organisation.test.post('/wallets', { email: 5 });
    const { requestId } = await organisation.test.get('/events/svc_unknown');
    await waitFor('the line of the request', () => tail.stdout().includes('\n'));
    expect(await interrupt(tail)).toBe(0);
    expect(tail.stdout()).toMatch(
      new RegExp(`^\\d\\d:\\d\\d:\\d\\d 404 GET +/events/:id EVENT_NOT_FOUND \\d+ ms ${requestId}\\n$`),
    );
  });
});

describe('pay', () => {
  test.concurrent('pays a part of a payment, in naira, and then what is left', async () => {
    const { virtualAccount } = await paymentOf(flows.test, await flows.createWallet());
    const { accountNumber } = virtualAccount;
    const part = await manilla(['pay', accountNumber, '1,020.00', '--sender-name', 'Bola Ade']);
    expect([part.code, part.code === 0 || part.stderr]).toEqual([0, true]);
    expect(part.stdout).toMatch(/^₦1,020\.00 from Bola Ade to \d{10}, session \S+; payment svc_\w+_pay is partial\n$/);
    const rest = await manilla(['pay', accountNumber, '--json']);
    expect(rest.documents()).toMatchObject([
      { credit: { amount: 100_000, accountNumber }, payment: { status: 'settled', amountReceived: 202_000 } },
    ]);
    const again = await manilla(['pay', accountNumber]);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('waits for nothing');
  });

  test.concurrent('pays into a wallet, in kobo, and refuses what is no amount', async () => {
    const walletId = await flows.createWallet();
    const { data } = await flows.test.get(`/wallets/${walletId}/deposit-account`);
    const accountNumber = String(data.accountNumber);
    const [paid, fraction, noAccount] = await Promise.all([
      manilla(['pay', accountNumber, '12345', '--kobo', '--json']),
      manilla(['pay', accountNumber, '12.345']),
      manilla(['pay', '123', '5']),
    ]);
    expect([paid.code, fraction.code, noAccount.code]).toEqual([0, 2, 2]);
    expect(paid.documents()).toMatchObject([{ credit: { amount: 12_345 }, payment: null }]);
    await waitFor('the deposit', async () => (await flows.balanceOf(walletId)) === 12_345);
  });
});

test('the README names every command, and its exit codes are those of the program', async () => {
  const readme = readFileSync(new URL('../../clients/cli/README.md', import.meta.url), 'utf8');
  const { stdout } = await manilla(['--help']);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name).filter((name) => name !== 'help');
  expect(commands).toEqual(['login', 'logout', 'listen', 'trigger', 'events', 'logs', 'pay']);
  for (const name of commands) expect(readme).toMatch(new RegExp(`\`${name}\\b`));
  const { EXIT } = await import('../../clients/cli/src/failure.ts');
  const listed = [...readme.matchAll(/^- (\d+): /gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(EXIT));
});

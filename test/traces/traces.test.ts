// A trace of one payment, from the request through the outbox and its workflow into the activities, as a collector gets it;
// and that a flow goes the same way whether it is traced or not.
import { execFileSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../src/config.ts';
import { currentTraceparent, inSpan, startTracing } from '../../src/telemetry/tracing.ts';
import { TRACED_WORKFLOWS } from '../../src/worker/tracing.ts';
import { type RunningWorker, startWorker } from '../../src/worker/worker.ts';
import { bundleWorkflows } from '../../src/worker/workflowBundle.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { findWords, personalWords, recordedHistories, replay, replayEverything } from '../support/histories.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus, type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { type CollectedSpan, type Collector, startCollector } from './collector.ts';

const source = (file: string) => fileURLToPath(new URL(`../../src/${file}`, import.meta.url));

/** Building the workflows with their interceptors, beside other tests. */
const LIMIT_MS = 120_000;

const settings = (more: Record<string, string>) =>
  readConfig({ DATABASE_URL: 'postgres://nowhere', MANILLA_KEYS: `k:${'A'.repeat(43)}`, ...more });

describe('one payment and its callback', () => {
  const STRANGER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  let collector: Collector;
  let receiver: Receiver;
  let flows: TestFlows;
  let paymentId: string;
  let requestLine: Record<string, unknown>;
  let words: string[];

  beforeAll(async () => {
    collector = await startCollector();
    receiver = await startReceiver(answerStatus(200));
    const stopTracing = await startTracing(settings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }), 'test');
    flows = await startTestFlows({ worker: false });
    const worker: RunningWorker = await startWorker(flows.services);

    await flows.test.post('/webhook-endpoints', { url: receiver.url });
    const wallet = await flows.createWallet();
    const body = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: wallet };
    const headers = { traceparent: STRANGER };
    const answer = await flows.test.call('POST', '/payments', { body, headers, idempotencyKey: 'traced' });
    paymentId = answer.data.id;
    requestLine = flows.logged.map((line) => JSON.parse(line)).find((line) => line.requestId === answer.requestId);
    const { accountNumber } = answer.data.virtualAccount as { accountNumber: string };
    await flows.credit(accountNumber, 202_000, { senderName: 'Chidi Eze' });
    await flows.untilStatus(`/payments/${paymentId}`, 'settled');
    await flows.temporal.workflow.getHandle(paymentId).result();
    // A message leaves the outbox after its span has ended, so every span that is looked for below exists from here on.
    await waitFor('the outbox to be empty', async () => (await flows.sql`SELECT FROM outbox LIMIT 1`).length === 0);
    words = [...(await personalWords(flows.sql)), 'Chidi Eze', receiver.url];

    await worker.stop();
    await stopTracing();
  }, LIMIT_MS);

  afterAll(async () => {
    await replayEverything(flows); // with the code as it is when traces are off
    await Promise.all([flows.close(), receiver.close(), collector.close()]);
  }, LIMIT_MS);

  const named = (name: string): CollectedSpan => {
    const found = collector.spans.filter((span) => span.name === name);
    expect(found.map(({ attributes }) => attributes)).toHaveLength(1);
    return found[0] as CollectedSpan;
  };

  /** The names from a span up to the root of its trace. */
  const pathOf = (span: CollectedSpan): string[] => {
    const above = collector.spans.find(
      ({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId,
    );
    return above === undefined ? [span.name] : [...pathOf(above), span.name];
  };

  test('are one trace, from the request through the outbox and the workflow into the activity and the bank', () => {
    const flow = ['POST /payments', 'StartWorkflow:payment', 'RunWorkflow:payment', 'RunActivity:applyCredit'];
    expect(pathOf(named('rail find_inbound_credit'))).toEqual([...flow, 'rail find_inbound_credit']);
    expect(pathOf(named('deliver event'))).toEqual([...flow, 'deliver event']);
    // One for the payment, and one for the wallet that reached tier1.
    const opened = collector.spans.filter(({ name }) => name === 'rail open_virtual_account').map(pathOf);
    expect(opened).toContainEqual(['POST /payments', 'rail open_virtual_account']);
    expect(named('POST /payments').parentSpanId).toBeUndefined();
  });

  test('the span of the workflow lasts as long as the workflow did', async () => {
    const { startTime, closeTime, runId } = await flows.temporal.workflow.getHandle(paymentId).describe();
    const span = named('RunWorkflow:payment');
    expect(span.attributes).toEqual({ temporalWorkflowID: paymentId, temporalRunID: runId });
    const toMs = (nanoseconds: bigint) => Number(nanoseconds / 1_000_000n);
    expect(toMs(span.start)).toBeGreaterThanOrEqual(startTime.getTime());
    expect(toMs(span.end)).toBeLessThanOrEqual((closeTime as Date).getTime());
    expect(toMs(span.end - span.start)).toBeGreaterThan(0);
  });

  test('the signal stands in it, and leads to the trace of the callback that sent it', () => {
    const signal = named('HandleSignal:creditReceived');
    expect(pathOf(signal).slice(-2)).toEqual(['RunWorkflow:payment', 'HandleSignal:creditReceived']);
    const sent = named('SignalWithStartWorkflow:payment');
    expect(signal.links).toMatchObject([{ traceId: sent.traceId, spanId: sent.spanId }]);
    expect(pathOf(sent)).toEqual(['POST /rails/:rail/callbacks', 'SignalWithStartWorkflow:payment']);
    expect(sent.traceId).not.toBe(signal.traceId);
  });

  test('a request says what it was and what it answered; a stranger’s trace is a link', () => {
    const { attributes, links, traceId, service } = named('POST /payments');
    expect(attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/payments',
      'http.response.status_code': 201,
      'manilla.environment': 'test',
      'manilla.request_id': requestLine.requestId,
      'manilla.resource': paymentId,
    });
    const [, strangersTrace, strangersSpan] = STRANGER.split('-');
    expect(links).toMatchObject([{ traceId: strangersTrace, spanId: strangersSpan }]);
    expect(traceId).not.toBe(strangersTrace);
    expect(service).toBe('manilla-test');
  });

  test('the log lines carry the trace', () => {
    expect(requestLine).toMatchObject({ traceId: named('POST /payments').traceId, resource: paymentId });
  });

  test('no span names a person, an account or an address', () => {
    const text = collector.text().toLowerCase();
    expect(words.length).toBeGreaterThan(5);
    expect(words.filter((word) => text.includes(word.toLowerCase()))).toEqual([]);
  });

  test('the header is in its history, and the input and the signal are as without it', async () => {
    const history = await flows.temporal.workflow.getHandle(paymentId).fetchHistory();
    expect(findWords(history, [named('StartWorkflow:payment').spanId])).toHaveLength(1);
    const [started] = history.events ?? [];
    const input = started?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data ?? '';
    expect(Object.keys(JSON.parse(Buffer.from(input).toString()))).not.toContain('traceparent');
  });
});

test(
  'histories that were recorded without traces replay with them',
  async () => {
    const recorded = recordedHistories();
    const workflowBundle = await bundleWorkflows({ interceptors: [TRACED_WORKFLOWS] });
    expect(await replay(recorded, { workflowBundle })).toEqual({ replayed: recorded.length, misfits: [] });
  },
  LIMIT_MS,
);

describe('a span', () => {
  async function collect(more: Record<string, string>, work: () => Promise<unknown>): Promise<Collector> {
    const collector = await startCollector();
    const stop = await startTracing(settings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...more }), 'test');
    try {
      await work().catch(() => {});
    } finally {
      await stop();
      await collector.close();
    }
    return collector;
  }

  test('of work that failed tells the code, and not the message', async () => {
    const { spans, text } = await collect({}, () =>
      inSpan('work', { kind: 'internal', root: true }, () =>
        Promise.reject(Object.assign(new Error('Ada Obi is unknown'), { code: 'BANK_ACCOUNT_NOT_RESOLVED' })),
      ),
    );
    expect(spans).toMatchObject([{ failed: true, attributes: { 'error.type': 'BANK_ACCOUNT_NOT_RESOLVED' } }]);
    expect(text()).not.toContain('Ada');
  });

  test('is made within a trace only', async () => {
    const { spans } = await collect({}, () => inSpan('sweep', { kind: 'internal' }, () => Promise.resolve()));
    expect(spans).toEqual([]);
  });

  test('that is not sampled is not told, and nothing is passed on', async () => {
    let passedOn: string | undefined = 'not asked';
    const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' };
    const { spans } = await collect(sampler, () =>
      inSpan('work', { kind: 'internal', root: true }, async () => {
        passedOn = currentTraceparent();
      }),
    );
    expect(spans).toEqual([]);
    expect(passedOn).toBeUndefined();
  });

  test.each(['', 'nonsense', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, '00-0af7651916cd43dd8448eb211c80319c-b7ad'])(
    'above which %j is said to stand is none',
    async (parent) => {
      const { spans } = await collect({}, () => inSpan('work', { kind: 'internal', parent }, () => Promise.resolve()));
      expect(spans).toEqual([]);
    },
  );
});

// Its API alone, a few tables of constants, is loaded by prom-client too.
test('a process whose traces are off loads nothing of the SDK of OpenTelemetry', () => {
  const script = `
    import { registerHooks } from 'node:module';
    let loaded = 0;
    let ofOpenTelemetry = 0;
    registerHooks({ load(url, context, next) {
      loaded += 1;
      if (/@opentelemetry.(?!api)|src.openTelemetry/.test(url)) ofOpenTelemetry += 1;
      return next(url, context);
    } });
    for (const file of ['worker/worker.ts', 'api/server.ts', 'telemetry/tracing.ts']) await import('${pathToFileURL(source('')).href}' + file);
    const { startTracing } = await import('${pathToFileURL(source('telemetry/tracing.ts')).href}');
    const before = ofOpenTelemetry;
    await startTracing({ tracing: null }, 'off');
    const off = ofOpenTelemetry;
    const stop = await startTracing({ tracing: { url: 'http://127.0.0.1:1/', ratio: 1, serviceName: '' } }, 'on');
    await stop();
    console.log(JSON.stringify({ loaded: loaded > 100, before, off, on: ofOpenTelemetry > 0 }));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual({ loaded: true, before: 0, off: 0, on: true });
});

describe('traces are', () => {
  test.each<[Record<string, string>, string | null]>([
    [{}, null],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/x' }, 'http://c:4318/x'],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, 'http://localhost:4318/v1/traces'],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, null],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, null],
  ])('with %j sent to %j', (environment, url) => {
    expect(settings(environment).tracing?.url ?? null).toBe(url);
  });

  test.each<Record<string, string>>([
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    { OTEL_TRACES_SAMPLER: 'jaeger_remote' },
  ])('refused with %j, rather than sent to nobody', (environment) => {
    expect(() => settings(environment)).toThrow(/OTEL_/);
  });
});

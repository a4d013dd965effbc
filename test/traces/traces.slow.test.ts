// The trace of one payment, from the request through the outbox and its workflow into the activities, as a collector
// receives it; and that a flow runs the same with and without tracing.
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

/** Time to bundle the workflows with their interceptors while other tests run. */
const LIMIT_MS = 400_000;

const settings = (more: Record<string, string>) =>
  readConfig({ DATABASE_URL: 'postgres://nowhere', MANILLA_KEYS: `k:${'A'.repeat(43)}`, ...more });

describe('one payment and its callback', () => {
  const FOREIGN_TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  let collector: Collector;
  let receiver: Receiver;
  let flows: TestFlows;
  let paymentId: string;
  let requestLine: Record<string, unknown>;
  let words: string[];

  beforeAll(async () => {
    collector = await startCollector();
    receiver = await startReceiver(answerStatus(200));
    const stopTracing = await startTracing(settings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }).tracing, 'test');
    flows = await startTestFlows({ worker: false });
    const worker: RunningWorker = await startWorker(flows.dependencies);

    await flows.test.post('/webhook-endpoints', { url: receiver.url });
    const wallet = await flows.createWallet();
    const body = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: wallet };
    const headers = { traceparent: FOREIGN_TRACEPARENT };
    const answer = await flows.test.call('POST', '/payments', { body, headers, idempotencyKey: 'traced' });
    paymentId = answer.data.id;
    requestLine = flows.logged.map((line) => JSON.parse(line)).find((line) => line.requestId === answer.requestId);
    const { accountNumber } = answer.data.virtualAccount as { accountNumber: string };
    await flows.credit(accountNumber, 202_000, { senderName: 'Chidi Eze' });
    await flows.untilStatus(`/payments/${paymentId}`, 'settled');
    await flows.temporal.workflow.getHandle(paymentId).result();
    // A message leaves the outbox after its span has ended, so every span examined below exists from here on.
    await waitFor(
      'the outbox to be empty',
      async () => (await flows.sql`SELECT FROM outbox WHERE topic <> 'scheduled' LIMIT 1`).length === 0,
    );
    words = [...(await personalWords(flows.sql)), 'Chidi Eze', receiver.url];

    await worker.stop();
    await stopTracing();
  }, LIMIT_MS);

  afterAll(async () => {
    // With the untraced code.
    await replayEverything(flows);
    await Promise.all([flows.close(), receiver.close(), collector.close()]);
  }, LIMIT_MS);

  const spanNamed = (name: string): CollectedSpan => {
    const found = collector.spans.filter((span) => span.name === name);
    expect(found.map(({ attributes }) => attributes)).toHaveLength(1);
    return found[0] as CollectedSpan;
  };

  /** The span names from the root of its trace to a span. */
  const pathOf = (span: CollectedSpan): string[] => {
    const parent = collector.spans.find(
      ({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId,
    );
    return parent === undefined ? [span.name] : [...pathOf(parent), span.name];
  };

  test('one trace covers the request, the outbox, the workflow, the activity and the rail call', () => {
    const flow = [
      'POST /rails/:rail/callbacks/:contract',
      'SignalWithStartWorkflow:payment',
      'RunWorkflow:payment',
      'RunActivity:applyCredit',
    ];
    expect(pathOf(spanNamed('rail find_inbound_credit'))).toEqual([...flow, 'rail find_inbound_credit']);
    // payment.settled and payment.completed
    const delivered = collector.spans.filter(({ name }) => name === 'deliver event').map(pathOf);
    expect(delivered).toEqual([0, 1].map(() => [...flow, 'deliver event']));
    // One call for the payment, and one for the wallet that reached tier1.
    const opened = collector.spans.filter(({ name }) => name === 'rail open_virtual_account').map(pathOf);
    expect(opened).toContainEqual(['POST /payments', 'rail open_virtual_account']);
    expect(spanNamed('POST /payments').parentSpanId).toBeUndefined();
  });

  test('the span of the workflow lasts as long as the workflow did', async () => {
    const { startTime, closeTime, runId } = await flows.temporal.workflow.getHandle(paymentId).describe();
    const span = spanNamed('RunWorkflow:payment');
    expect(span.attributes).toEqual({ temporalWorkflowID: paymentId, temporalRunID: runId });
    const toMs = (nanoseconds: bigint) => Number(nanoseconds / 1_000_000n);
    expect(toMs(span.start)).toBeGreaterThanOrEqual(startTime.getTime());
    expect(toMs(span.end)).toBeLessThanOrEqual((closeTime as Date).getTime());
    expect(toMs(span.end - span.start)).toBeGreaterThan(0);
  });

  test("the span of the signal is in the workflow's trace and links to the span that sent it", () => {
    const signal = spanNamed('HandleSignal:creditReceived');
    expect(pathOf(signal).slice(-2)).toEqual(['RunWorkflow:payment', 'HandleSignal:creditReceived']);
    const sent = spanNamed('SignalWithStartWorkflow:payment');
    expect(signal.links).toMatchObject([{ traceId: sent.traceId, spanId: sent.spanId }]);
  });

  test("the span of a request has its route and status, and a caller's trace is only linked", () => {
    const { attributes, links, traceId, service } = spanNamed('POST /payments');
    expect(attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/payments',
      'http.response.status_code': 201,
      'manilla.environment': 'test',
      'manilla.request_id': requestLine.requestId,
      'manilla.resource': paymentId,
    });
    const [, foreignTraceId, foreignSpanId] = FOREIGN_TRACEPARENT.split('-');
    expect(links).toMatchObject([{ traceId: foreignTraceId, spanId: foreignSpanId }]);
    expect(traceId).not.toBe(foreignTraceId);
    expect(service).toBe('manilla-test');
  });

  test('log lines have the trace id', () => {
    expect(requestLine).toMatchObject({ traceId: spanNamed('POST /payments').traceId, resource: paymentId });
  });

  test('no span has personal data, account numbers or addresses', () => {
    const text = collector.text().toLowerCase();
    expect(words.length).toBeGreaterThan(5);
    expect(words.filter((word) => text.includes(word.toLowerCase()))).toEqual([]);
  });

  test('the trace header is in the workflow history, and the input and signal are the same as without tracing', async () => {
    const history = await flows.temporal.workflow.getHandle(paymentId).fetchHistory();
    expect(findWords(history, [spanNamed('SignalWithStartWorkflow:payment').spanId])).toHaveLength(1);
    const [started] = history.events ?? [];
    const input = started?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data ?? '';
    expect(Object.keys(JSON.parse(Buffer.from(input).toString()))).not.toContain('traceparent');
  });
});

test(
  'histories recorded without tracing replay with tracing',
  async () => {
    const recorded = recordedHistories();
    const workflowBundle = await bundleWorkflows({ interceptors: [TRACED_WORKFLOWS] });
    expect(await replay(recorded, { workflowBundle })).toEqual({ replayed: recorded.length, misfits: [] });
  },
  LIMIT_MS,
);

describe('single spans', () => {
  async function collect(more: Record<string, string>, work: () => Promise<unknown>): Promise<Collector> {
    const collector = await startCollector();
    const stop = await startTracing(settings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...more }).tracing, 'test');
    try {
      await work().catch(() => {});
    } finally {
      await stop();
      await collector.close();
    }
    return collector;
  }

  test('a span of failed work has the error code and not the message', async () => {
    const { spans, text } = await collect({}, () =>
      inSpan('work', { kind: 'internal', root: true }, () =>
        Promise.reject(Object.assign(new Error('Ada Obi is unknown'), { code: 'BANK_ACCOUNT_NOT_RESOLVED' })),
      ),
    );
    expect(spans).toMatchObject([{ failed: true, attributes: { 'error.type': 'BANK_ACCOUNT_NOT_RESOLVED' } }]);
    expect(text()).not.toContain('Ada');
  });

  test('a span is created within a trace only', async () => {
    const { spans } = await collect({}, () => inSpan('sweep', { kind: 'internal' }, () => Promise.resolve()));
    expect(spans).toEqual([]);
  });

  test('an unsampled span is not exported, and no trace context is propagated', async () => {
    let passedOn: string | undefined = 'not set';
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
    'an invalid parent %j creates no span',
    async (parent) => {
      const { spans } = await collect({}, () => inSpan('work', { kind: 'internal', parent }, () => Promise.resolve()));
      expect(spans).toEqual([]);
    },
  );
});

// Only its API package, a few tables of constants, is also loaded by prom-client.
test('a process without tracing does not load the OpenTelemetry SDK', () => {
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
    await startTracing(null, 'off');
    const off = ofOpenTelemetry;
    const stop = await startTracing({ url: 'http://127.0.0.1:1/', ratio: 1, serviceName: '' }, 'on');
    await stop();
    console.log(JSON.stringify({ loaded: loaded > 100, before, off, on: ofOpenTelemetry > 0 }));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual({ loaded: true, before: 0, off: 0, on: true });
});

describe('tracing settings', () => {
  test.each<[Record<string, string>, string | null]>([
    [{}, null],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' }, 'http://c:4318/v1/traces'],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, null],
  ])('with %j traces are sent to %j', (environment, url) => {
    expect(settings(environment).tracing?.url ?? null).toBe(url);
  });

  test.each<Record<string, string>>([
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    { OTEL_TRACES_SAMPLER: 'jaeger_remote' },
  ])('the settings %j are rejected instead of being ignored', (environment) => {
    expect(() => settings(environment)).toThrow(/OTEL_/);
  });
});

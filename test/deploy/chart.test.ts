// The Helm chart, rendered: valid, complete, consistent with the service, and closed where it must be.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { PROCESS_STOP_MAX_MS } from '../../src/concurrency/timeLimits.ts';
import { readConfig, WORKER_ROLES } from '../../src/config.ts';
import { QUEUES } from '../../src/worker/queues.ts';
import { taskQueueOf } from '../../src/workflows/flows.ts';
import { settingNames } from '../support/settingNames.ts';
import {
  CHART,
  containerOf,
  DEPLOY,
  lint,
  type Manifest,
  ofKind,
  podsOf,
  render,
  template,
  validate,
} from './chart.ts';

const SETUPS = [
  { name: 'as it is', files: [] },
  { name: 'production', files: ['production.yaml'] },
  { name: 'Temporal Cloud', files: ['production.yaml', 'temporalCloud.yaml'] },
];
const EVERYTHING = { files: ['production.yaml'] };

const read = (file: string): string => readFileSync(path.join(DEPLOY, file), 'utf8');
const PART = 'app.kubernetes.io/component';

let everything: Manifest[];
let plain: Manifest[];

beforeAll(async () => {
  [everything, plain] = await Promise.all([render(EVERYTHING), render()]);
});

describe.each(SETUPS)('$name', ({ files }) => {
  test('passes the linter', async () => {
    expect(await lint({ files })).toMatchObject({ ok: true });
  });

  test('has the schema of Kubernetes and of the operators', async () => {
    const { output } = await template({ files });
    expect(await validate(output)).toMatchObject({ ok: true });
  });
});

test.each(['cloudnativepg/manilla.yaml', 'cloudnativepg/temporal.yaml'])('%s has its schema', async (file) => {
  expect(await validate(read(file))).toMatchObject({ ok: true });
});

test('the check of schemas refuses an unknown field', async () => {
  const wrong = read('cloudnativepg/manilla.yaml').replace('instances:', 'instance:');
  expect(await validate(wrong)).toMatchObject({ ok: false });
});

describe('settings', () => {
  /** Any text will do, because the chart does not read it; and a number that Helm would print as 1e+07. */
  const exampleOf = (name: string, index: number): string | number =>
    name.endsWith('_KOBO') ? 10_000_000 : `v${index}`;
  const confidential = () => parse(read('helm/manilla/values.schema.json')).definitions.secretName.enum as string[];
  const ports = {
    SANDBOX_PORT: 8080,
    LIVE_PORT: 8081,
    METRICS_PORT: 9100,
    WORKER_METRICS_PORT: 9101,
    CODEC_PORT: 8234,
  };

  test('each one reaches API, workers, migration and codec server', async () => {
    const names = settingNames().filter((name) => name !== 'WORKER_ROLES');
    const settings = Object.fromEntries(
      names.filter((name) => !confidential().includes(name)).map((name, index) => [name, exampleOf(name, index)]),
    );
    const secrets = Object.fromEntries(confidential().map((name) => [name, { name: 'other', key: name }]));
    const values = {
      settings: { ...settings, ...ports },
      secrets,
      api: { settings: { DATABASE_CONNECTIONS_MAX: null } },
    };
    const pods = podsOf(await render({ files: ['production.yaml'], values }));
    expect(pods.length).toBeGreaterThan(6);
    for (const [, pod] of pods) {
      const environment = Object.fromEntries(containerOf(pod).env.map((variable) => [variable.name, variable]));
      for (const [name, value] of Object.entries(values.settings)) {
        expect(environment[name]).toEqual({ name, value: String(value) });
      }
      for (const [name, secretKeyRef] of Object.entries(secrets)) {
        expect(environment[name]).toEqual({ name, valueFrom: { secretKeyRef } });
      }
    }
  });

  test('a part may have its own', async () => {
    const values = {
      settings: { LOG_LEVEL: 'warn' },
      api: { settings: { LOG_LEVEL: 'debug' } },
      workers: { payouts: { settings: { WORKER_PAYOUTS_ACTIVITIES_MAX: 5 } } },
    };
    const levels = podsOf(await render({ values })).map(([part, pod]) => {
      const of = (name: string) => containerOf(pod).env.find((variable) => variable.name === name)?.value;
      return [part, of('LOG_LEVEL'), of('WORKER_PAYOUTS_ACTIVITIES_MAX')];
    });
    expect(levels).toContainEqual(['api', 'debug', undefined]);
    expect(levels).toContainEqual(['worker-payouts', 'warn', '5']);
    expect(levels).toContainEqual(['worker-flows', 'warn', undefined]);
  });

  test.each([
    ['a misspelled one', { settings: { LOG_LEVLE: 'info' } }, 'LOG_LEVLE'],
    ['a secret as text', { settings: { MANILLA_KEYS: 'k1:secret' } }, 'MANILLA_KEYS'],
    ['the owner of the database', { secrets: { OWNER_DATABASE_URL: { name: 'a', key: 'b' } } }, 'OWNER_DATABASE_URL'],
    ['an unknown role', { workers: { flows: { roles: ['flow'] } } }, 'roles'],
    ['a role that runs nowhere', { workers: { relay: null } }, 'relay'],
  ])('%s is refused', async (_, values, named) => {
    const { ok, output } = await template({ values });
    expect(ok).toBe(false);
    expect(output).toContain(named);
  });

  test('every process can start with them', () => {
    const secrets: Record<string, string> = {
      DATABASE_URL: 'postgres://manilla_service@db/manilla',
      MANILLA_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64url')}`,
    };
    for (const [part, pod] of podsOf(plain)) {
      const environment = containerOf(pod).env.map(({ name, value }) => [name, value ?? secrets[name]]);
      const config = readConfig(Object.fromEntries(environment));
      expect(config).toMatchObject({
        bindAddress: '0.0.0.0',
        ports: { test: 8080, live: 8081 },
        metrics: { bindAddress: '0.0.0.0', ports: { api: 9100, worker: 9101 } },
        sandboxRail: { callbackUrl: 'http://manilla-api:8080/v1/rails/sandbox/callbacks' },
      });
      expect(part.startsWith('worker-')).toBe(config.worker.roles.length < WORKER_ROLES.length);
    }
  });

  test('only the migration has the login of the owner', () => {
    const owners = podsOf(everything).filter(([, pod]) =>
      containerOf(pod).env.some(({ name }) => name === 'OWNER_DATABASE_URL'),
    );
    expect(owners.map(([part]) => part)).toEqual(['migration']);
  });
});

test('no container may change its image, gain rights or call Kubernetes', () => {
  const pods = podsOf(everything);
  expect(pods.map(([part]) => part).toSorted()).toEqual([
    'api',
    'codec',
    'migration',
    'worker-flows',
    'worker-maintenance',
    'worker-payouts',
    'worker-relay',
  ]);
  for (const [, pod] of pods) {
    expect(pod.spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(containerOf(pod).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  }
});

test('a process has the time to finish its work after it has left its Service', () => {
  for (const [part, pod] of podsOf(everything).filter(([name]) => name !== 'migration')) {
    const { lifecycle } = containerOf(pod);
    const leaveMs = (lifecycle?.preStop.sleep.seconds ?? 0) * 1000;
    expect(leaveMs > 0).toBe(!part.startsWith('worker-'));
    expect((pod.spec.terminationGracePeriodSeconds ?? 0) * 1000).toBeGreaterThan(leaveMs + PROCESS_STOP_MAX_MS);
  }
});

test('an outage of the database restarts nothing, and takes pods out of their Service', () => {
  const probes = podsOf(everything)
    .filter(([part]) => part !== 'migration')
    .map(([part, pod]) => {
      const { readinessProbe, livenessProbe } = containerOf(pod);
      const kind = part.startsWith('worker-') ? 'worker' : part;
      return [kind, { ready: readinessProbe?.httpGet?.path, alive: livenessProbe?.httpGet?.path }];
    });
  expect(Object.fromEntries(probes)).toEqual({
    // /v1/health is 503 then, so that the liveness probe only connects.
    api: { ready: '/v1/health', alive: undefined },
    worker: { ready: '/ready', alive: '/health' },
    codec: { ready: '/health', alive: '/health' },
  });
});

describe('scaling', () => {
  test('what is scaled has no number of replicas of its own', () => {
    const scaled: string[] = [
      ...ofKind(everything, 'HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name),
      ...ofKind(everything, 'ScaledObject').map(({ spec }) => spec.scaleTargetRef.name),
    ];
    expect(scaled.toSorted()).toEqual(['manilla-api', 'manilla-worker-flows', 'manilla-worker-payouts']);
    for (const { metadata, spec } of ofKind(everything, 'Deployment')) {
      expect(spec.replicas === undefined).toBe(scaled.includes(metadata.name));
    }
    for (const { metadata, spec } of ofKind(plain, 'Deployment')) {
      expect(spec.replicas === undefined).toBe(metadata.name === 'manilla-api');
    }
  });

  test('by the task queues that the workers poll, but for that of rail calls, whose rate no process raises', async () => {
    const autoscaling = { replicasMin: 2, replicasMax: 3, tasksPerReplica: 10 };
    const values = { workers: { maintenance: { autoscaling } }, settings: { TEMPORAL_TASK_QUEUE: 'other' } };
    const triggers = ofKind(await render({ ...EVERYTHING, values }), 'ScaledObject').flatMap(
      ({ spec }) => spec.triggers,
    );
    const queues: string[] = triggers.map(({ metadata }) => metadata.taskQueue);
    expect(queues.toSorted()).toEqual(
      QUEUES.flatMap(({ queue }) => (queue === 'rail' ? [] : [taskQueueOf('other', queue)])).toSorted(),
    );
    expect(new Set(triggers.map(({ metadata }) => metadata.queueTypes))).toEqual(new Set(['workflow,activity']));
  });

  test('KEDA proves who it is to Temporal Cloud with the certificate of the workers', async () => {
    const manifests = await render({ files: ['production.yaml', 'temporalCloud.yaml'] });
    const [authentication] = ofKind(manifests, 'TriggerAuthentication');
    for (const { spec } of ofKind(manifests, 'ScaledObject')) {
      for (const { authenticationRef } of spec.triggers) {
        expect(authenticationRef).toEqual({ name: authentication?.metadata.name });
      }
    }
  });

  test('the relay, which polls no queue, is refused', async () => {
    const autoscaling = { replicasMin: 2, replicasMax: 3, tasksPerReplica: 10 };
    const { ok, output } = await template({ ...EVERYTHING, values: { workers: { relay: { autoscaling } } } });
    expect(ok).toBe(false);
    expect(output).toContain('relay has no task queue');
  });
});

describe('network policies', () => {
  interface Selector {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; operator: 'In' | 'NotIn'; values: string[] }[];
  }

  const selects = ({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>): boolean =>
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => values.includes(labels[key] ?? '') === (operator === 'In'));

  const policiesOf = (labels: Record<string, string>): Manifest[] =>
    ofKind(everything, 'NetworkPolicy').filter(({ spec }) => selects(spec.podSelector, labels));

  test('every pod is closed in both directions, and reaches names and the database', () => {
    for (const [, pod] of podsOf(everything)) {
      const policies = policiesOf(pod.metadata.labels);
      const types = policies.flatMap(({ spec }) => spec.policyTypes as string[]);
      expect(new Set(types)).toEqual(new Set(['Ingress', 'Egress']));
      const open = policies.flatMap(({ spec }) => spec.egress ?? []).flatMap(({ ports }) => ports);
      expect(open).toContainEqual({ protocol: 'UDP', port: 53 });
      expect(open).toContainEqual({ protocol: 'TCP', port: 5432 });
    }
  });

  test('only API and workers reach the internet, and no private network with it', () => {
    const reaches = podsOf(everything).filter(([, pod]) =>
      policiesOf(pod.metadata.labels)
        .flatMap(({ spec }) => spec.egress ?? [])
        .some(({ to = [] }) => to.some(({ ipBlock }: { ipBlock?: { cidr: string } }) => ipBlock?.cidr === '0.0.0.0/0')),
    );
    expect(reaches.map(([part]) => part).filter((part) => !part.startsWith('worker-'))).toEqual(['api']);
    const blocks = ofKind(everything, 'NetworkPolicy')
      .flatMap(({ spec }) => spec.egress ?? [])
      .flatMap(({ to = [] }) => to)
      .filter(({ ipBlock }) => ipBlock?.cidr === '0.0.0.0/0');
    for (const { ipBlock } of blocks)
      expect(ipBlock.except).toEqual(expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16']));
  });

  test('every port that they name is one of the pods that they select', () => {
    for (const { spec } of ofKind(everything, 'NetworkPolicy')) {
      const named = (spec.ingress ?? []).flatMap(({ ports }: { ports: { port: string }[] }) =>
        ports.map(({ port }) => port),
      );
      const selected = podsOf(everything).filter(([, pod]) => selects(spec.podSelector, pod.metadata.labels));
      expect(selected.length).toBeGreaterThan(0);
      const ports = selected.flatMap(([, pod]) => containerOf(pod).ports ?? []).map(({ name }) => name);
      for (const port of named) expect(ports).toContain(port);
    }
  });

  test('Services and disruption budgets select the pods of one part', () => {
    const selectors = [...ofKind(everything, 'Service'), ...ofKind(everything, 'PodDisruptionBudget')].map(
      ({ kind, metadata, spec }) => ({
        part: metadata.labels?.[PART],
        of: kind === 'Service' ? { matchLabels: spec.selector } : spec.selector,
      }),
    );
    expect(selectors.length).toBeGreaterThan(6);
    for (const { part, of } of selectors) {
      const selected = podsOf(everything).filter(([, pod]) => selects(of, pod.metadata.labels));
      expect(selected.map(([name]) => name)).toEqual([part]);
    }
  });
});

describe('monitoring', () => {
  test('the alerts are those of the file, unchanged', () => {
    const [rule] = ofKind(everything, 'PrometheusRule');
    expect(rule?.spec).toEqual(parse(read('helm/manilla/files/alerts.yml')));
  });

  test('the dashboard is that of the file, unchanged', () => {
    const dashboard = ofKind(everything, 'ConfigMap').find(({ data }) => data?.['manilla.json'] !== undefined);
    expect(JSON.parse(dashboard?.data?.['manilla.json'] ?? '{}')).toEqual(
      JSON.parse(read('helm/manilla/files/dashboard.json')),
    );
  });

  test('the metrics port of API and workers is read', () => {
    const [monitor] = ofKind(everything, 'PodMonitor');
    const [endpoint] = monitor?.spec.podMetricsEndpoints ?? [];
    const scraped = podsOf(everything).filter(([, pod]) =>
      containerOf(pod).ports?.some(({ name }) => name === endpoint.port),
    );
    expect(scraped.map(([part]) => part)).toHaveLength(5);
  });
});

test('the migration runs before the processes of an upgrade, with a network policy before it', () => {
  const before = { 'helm.sh/hook': 'pre-install,pre-upgrade,pre-rollback' };
  const weights = everything
    .filter(({ metadata }) => metadata.labels?.[PART] === 'migration')
    .map(({ kind, metadata }) => {
      expect(metadata.annotations).toMatchObject(before);
      return [kind, Number(metadata.annotations?.['helm.sh/hook-weight'])];
    });
  expect(Object.fromEntries(weights)).toEqual({ Job: 0, NetworkPolicy: -1 });
  const [job] = ofKind(everything, 'Job');
  expect(job?.spec.template.spec.containers[0].command).toEqual(['node', 'src/cli/main.ts', 'migrate']);
});

test('the chart has the version of the package', () => {
  const chart = parse(readFileSync(path.join(CHART, 'Chart.yaml'), 'utf8'));
  const { version } = JSON.parse(readFileSync(path.join(DEPLOY, '../package.json'), 'utf8'));
  expect([chart.version, chart.appVersion]).toEqual([version, version]);
});

// docker-compose.yml and the Dockerfile, as far as they can be checked without Docker: completeness, consistency with
// the rest of the project, and pinned versions.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { SEARCH_ATTRIBUTES, TASK_ORDER } from '../../dev/temporal.ts';
import { refuseRequest } from '../../dev/temporalUi.ts';
import { readConfig } from '../../src/config.ts';

interface Service {
  image?: string;
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, string | number>;
  depends_on?: Record<string, { condition: string }>;
  deploy?: { replicas: number };
  healthcheck?: { test: string[] };
  ports?: string[];
  volumes?: string[];
}

interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

const text = read('docker-compose.yml');
const compose = parse(text, { merge: true }) as Compose;
const services = Object.entries(compose.services);

function service(name: string): Service {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}

test('every service of production is defined, with two replicas of API and worker', () => {
  expect(services.map(([name]) => name).toSorted()).toEqual([
    'api',
    'cli',
    'codec',
    'gateway',
    'migrate',
    'postgres',
    'postgres-standby',
    'temporal',
    'temporal-namespace',
    'temporal-schema',
    'temporal-ui',
    'worker',
  ]);
  expect([service('api').deploy?.replicas, service('worker').deploy?.replicas]).toEqual([2, 2]);
});

test('images are pinned to a version and its digest, and the deprecated auto-setup is not used', () => {
  const pinned = /^[a-z]+(\/[a-z-]+)?:\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}$/;
  const images = services.map(([, { image = '' }]) => image).filter((image) => image !== 'manilla:local');
  const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image);
  expect(bases).toHaveLength(2);
  expect([...images, ...bases].filter((image) => !pinned.test(image) || image.includes('auto-setup'))).toEqual([]);
});

test('every depends_on names an existing service that can meet the condition', () => {
  const wrong = services.flatMap(([name, { depends_on = {} }]) =>
    Object.entries(depends_on)
      .filter(([other, { condition }]) => {
        const target = compose.services[other];
        if (target === undefined) return true;
        if (condition === 'service_healthy') return target.healthcheck === undefined;
        return condition !== 'service_completed_successfully';
      })
      .map(([other]) => `${name} waits for ${other}`),
  );
  expect(wrong).toEqual([]);
});

test('API and worker start after the migration, the namespace and the search attributes', () => {
  for (const name of ['api', 'worker']) {
    expect(Object.keys(service(name).depends_on ?? {})).toEqual(['migrate', 'temporal-namespace']);
  }
});

test('the search attributes are those of the embedded stack', () => {
  const command = service('temporal-namespace').command?.join('\n') ?? '';
  const registered = [...command.matchAll(/--name (\w+) --type (\w+)/g)].map(([, name, type]) => [name, type]);
  expect(Object.fromEntries(registered)).toEqual(SEARCH_ATTRIBUTES);
});

test('tasks have the priority and fairness of the embedded stack', () => {
  const path = String(service('temporal').environment?.DYNAMIC_CONFIG_FILE_PATH);
  expect(service('temporal').volumes).toEqual([`./tools/compose/temporal.yaml:${path}:ro`]);
  const settings = Object.entries(TASK_ORDER).map(([name, value]) => [name, [{ value }]]);
  expect(parse(read('tools/compose/temporal.yaml'))).toEqual(Object.fromEntries(settings));
});

test('the Temporal server has the version of the embedded one, and so have its tools', () => {
  const [, embedded] = /go\.temporal\.io\/server v(\S+)/.exec(read('tools/temporal/go.mod')) ?? [];
  for (const name of ['temporal', 'temporal-schema', 'temporal-namespace']) {
    expect(service(name).image).toMatch(new RegExp(`:${embedded}@`));
  }
});

/** `${NAME:-default}` as compose evaluates it if NAME is not set. */
const withDefault = (value: string): string => value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');

test('the settings are a complete configuration for API, worker, migration and command line', () => {
  for (const name of ['api', 'worker', 'migrate', 'cli']) {
    const environment = Object.fromEntries(
      Object.entries(service(name).environment ?? {}).map(([key, value]) => [key, withDefault(String(value))]),
    );
    const keys = `k1:${Buffer.alloc(32, 1).toString('base64url')}`;
    expect(readConfig({ ...environment, MANILLA_KEYS: keys })).toMatchObject({
      bindAddress: '0.0.0.0',
      ports: { test: 8080, live: 8081 },
      temporal: { address: 'temporal:7233', namespace: 'default' },
      sandboxRail: { callbackUrl: 'http://gateway:8080/v1/rails/sandbox/callbacks' },
      webhooks: { allowPrivateInSandbox: false },
      metrics: { bindAddress: '0.0.0.0', ports: { api: 9100, worker: 9101 } },
    });
  }
});

// Without the keys of payloads nothing is encrypted in Temporal, which is a choice.
test('no secret but the optional one has a default: a missing one prevents the start', () => {
  const variables = [...text.matchAll(/\$\{(\w+)(:\?)?/g)].filter(([, name]) =>
    name?.match(/^(?!TEMPORAL_PAYLOAD_KEYS).*(KEYS|PASSWORD)/),
  );
  expect(variables.length).toBeGreaterThan(0);
  expect(variables.filter(([, , required]) => required === undefined)).toEqual([]);
});

test('published ports are bound to 127.0.0.1 only', () => {
  const ports = services.flatMap(([, one]) => one.ports ?? []);
  expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
});

test('every file and program that is named exists', () => {
  const mounted = services.flatMap(([, { volumes = [] }]) => volumes).map((volume) => volume.split(':')[0] ?? '');
  for (const source of mounted) {
    expect(source.startsWith('./') ? existsSync(path.join(ROOT, source)) : source in compose.volumes).toBe(true);
  }
  const commands = services.flatMap(([, { command = [], entrypoint = [] }]) => [...command, ...entrypoint]);
  const programs = commands.filter((word) => /^src\/.*\.ts$/.test(word));
  expect(programs.length).toBeGreaterThan(3);
  expect(programs.filter((program) => !existsSync(path.join(ROOT, program)))).toEqual([]);
});

test('the Dockerfile copies exactly what .dockerignore admits, and runs as an unprivileged user', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from=)(.+) \S+$/gm)].flatMap(([, sources = '']) =>
    sources.split(' '),
  );
  const sent = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'));
  expect(sent.map((line) => line.slice(1)).toSorted()).toEqual(copied.toSorted());
  expect(read('Dockerfile')).toMatch(/^USER 1000$/m);
});

test('the gateway forwards each environment to its own port', () => {
  const gateway = read('tools/compose/Caddyfile');
  for (const port of [8080, 8081]) {
    expect(gateway).toMatch(new RegExp(`^:${port} \\{\\s+import api ${port}$`, 'm'));
  }
});

test('the Temporal UI is published through the gateway, which passes on what that of npm start does', () => {
  expect(service('temporal-ui').ports).toBeUndefined();
  expect(service('gateway').ports).toContain('127.0.0.1:8233:8233');
  const gateway = read('tools/compose/Caddyfile');
  const passes = new RegExp(/path_regexp (\S+)/.exec(gateway)?.[1] ?? 'nothing');
  const flow = '/api/v1/namespaces/default/workflows/svc_x_wth';
  const headers = { host: 'localhost:8233' };
  const operations = ['signal/resolve', 'update/resolve', 'query', 'cancel', 'terminate', 'reset', '', 'activities'];
  const posts = [...operations, 'signals', 'x/signal', 'activities/1/complete'].map((name) => `${flow}/${name}`);
  const others = [
    '/batch-operations/one',
    '/batch-operations',
    '/batch-operations/one/x',
    '/activities/complete-by-id',
  ];
  for (const url of [flow, ...posts, ...others.map((path) => `/api/v1/namespaces/default${path}`), '/']) {
    expect([url, passes.test(url)]).toEqual([url, refuseRequest({ method: 'POST', url, headers }, 8233) === null]);
  }
});

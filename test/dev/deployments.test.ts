// What deploys the service agrees with it and with itself: docker-compose.yml, the Helm chart and the values for
// Temporal's chart and CloudNativePG, as far as they can be checked without Helm (test/deploy has the rest).
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { SEARCH_ATTRIBUTES, TASK_ORDER } from '../../dev/temporal.ts';
import { settingNames } from '../support/settingNames.ts';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

const compose = parse(read('docker-compose.yml'), { merge: true });
const chart = parse(read('deploy/helm/manilla/values.yaml'));
const temporal = parse(read('deploy/helm/temporal.yaml'));
const books = parse(read('deploy/cloudnativepg/manilla.yaml'));

/** Of the command line, and of the owner of the database: docs/configuration.md names them in the text. */
const OF_THE_COMMAND_LINE = ['OWNER_DATABASE_URL', 'MANILLA_OPERATOR_KEY'];
const PROCESSES = ['api', 'worker', 'migrate', 'codec', 'cli'];

test('the chart takes exactly the settings of docs/configuration.md', () => {
  const { settingName, secretName } = parse(read('deploy/helm/manilla/values.schema.json')).definitions;
  const plain: string[] = settingName.anyOf.flatMap(({ enum: names = [] }: { enum?: string[] }) => names);
  // The roles of a worker are a value of their own.
  const taken: string[] = [...plain, ...secretName.enum, 'WORKER_ROLES'];
  expect(taken.toSorted()).toEqual(settingNames().toSorted());
});

test('docker-compose.yml passes only settings of docs/configuration.md, and takes any other from a file', () => {
  const known = new Set([...settingNames(), ...OF_THE_COMMAND_LINE]);
  for (const name of PROCESSES) {
    const { environment, env_file } = compose.services[name];
    expect(Object.keys(environment).filter((variable) => !known.has(variable))).toEqual([]);
    expect(env_file).toEqual([{ path: 'settings.env', required: false }]);
  }
});

test('both listen on the same ports, and wait as long for a process to stop', () => {
  const { environment, stop_grace_period } = compose.services.api;
  for (const name of ['BIND_ADDRESS', 'SANDBOX_PORT', 'LIVE_PORT', 'METRICS_PORT', 'WORKER_METRICS_PORT']) {
    expect(chart.settings[name]).toBe(environment[name]);
  }
  expect(stop_grace_period).toBe('30s');
});

test('both run the processes without rights, on a read-only file system', () => {
  for (const name of PROCESSES) {
    expect(compose.services[name]).toMatchObject({
      read_only: true,
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
  }
});

test('both limit the memory of a process alike, and a worker has room for its full cache', () => {
  for (const name of ['api', 'worker'] as const) {
    const { memory } = compose.services[name].deploy.resources.limits;
    expect(memory.replace('g', 'Gi')).toBe(chart[name].resources.limits.memory);
  }
  const [, taken] = /takes up to ([\d.]+) GB with its\s+cache full/.exec(read('docs/scaling.md')) ?? [];
  expect(Number.parseFloat(chart.worker.resources.limits.memory)).toBeGreaterThan(Number(taken));
});

test("Temporal's chart has the versions, the namespace and the task order of docker-compose.yml", () => {
  const parts = { server: 'temporal', admintools: 'temporal-schema', web: 'temporal-ui' };
  for (const [part, service] of Object.entries(parts)) {
    const { repository, tag } = temporal[part].image;
    expect(`${repository}:${tag}`).toBe(compose.services[service].image);
  }
  const order = Object.entries(TASK_ORDER).map(([name, value]) => [name, [{ value }]]);
  expect(temporal.server.dynamicConfig).toEqual(Object.fromEntries(order));
  expect(temporal.server.config.namespaces.namespace).toEqual([{ name: 'default', retention: '30d' }]);
  expect(temporal.server.config.persistence.numHistoryShards).toBe(2048);
});

test("Renovate finds every image of Temporal's chart and of CloudNativePG, with its digest", () => {
  const managers: { managerFilePatterns: string[]; matchStrings: string[] }[] = JSON.parse(
    read('renovate.json'),
  ).customManagers;
  const foundIn = (file: string): string[] => {
    const text = read(file);
    const found = managers
      .filter(({ managerFilePatterns: [pattern = ''] }) => new RegExp(pattern.slice(1, -1)).test(file))
      .flatMap(({ matchStrings }) => matchStrings.flatMap((one) => [...text.matchAll(new RegExp(one, 'g'))]))
      .map(({ groups }) => `${groups?.depName}:${groups?.currentValue}@${groups?.currentDigest}`);
    expect(text.match(/@sha256:/g)).toHaveLength(found.length);
    return found;
  };
  const pinned = ['temporal', 'temporal-schema', 'temporal-ui'].map((service) => compose.services[service].image);
  expect(new Set(foundIn('deploy/helm/temporal.yaml'))).toEqual(new Set(pinned));
  const [ofBooks] = foundIn('deploy/cloudnativepg/manilla.yaml');
  expect(foundIn('deploy/cloudnativepg/temporal.yaml')).toEqual([ofBooks]);
  // The version of compose, and so of the tests.
  expect(ofBooks).toContain(`postgresql:${/image: postgres:([\d.]+)/.exec(read('docker-compose.yml'))?.[1]}-`);
});

test('the job that follows it creates the search attributes', () => {
  const [job] = temporal.extraObjects as string[];
  const [container] = parse(job ?? '').spec.template.spec.containers;
  const registered = [...container.command.join(' ').matchAll(/--name=(\w+) --type=(\w+)/g)];
  expect(Object.fromEntries(registered.map(([, name, type]) => [name, type]))).toEqual(SEARCH_ATTRIBUTES);
  expect(container.image).toBe(compose.services['temporal-schema'].image);
});

test('the parameters of the books are those of docs/scaling.md', () => {
  const table = read('docs/scaling.md').split('## Settings of the primary')[1]?.split('\n## ')[0] ?? '';
  const { parameters, synchronous } = books.spec.postgresql;
  for (const [name, value] of Object.entries(parameters)) {
    // Sizes depend on the machine.
    if (name === 'max_connections' || name === 'shared_buffers') continue;
    const row = table.split('\n').find((line) => line.includes(`\`${name}\``));
    const [, amount = '', unit = ''] = /^([\d.]*)(.*)$/.exec(String(value)) ?? [];
    expect([name, row?.includes(amount), row?.includes(unit.replace(/in$/, ''))]).toEqual([name, true, true]);
  }
  expect(synchronous).toEqual({ method: 'any', number: 1, dataDurability: 'required' });
});

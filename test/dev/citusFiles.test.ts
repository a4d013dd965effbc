// deploy/citus, as far as it can be checked without Docker and without a cluster: the example files agree with each
// other and with what the service needs.
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';

interface Service {
  image: string;
  command?: string[];
  entrypoint?: string[];
  networks: Record<string, { ipv4_address: string }>;
  ports?: string[];
}

const read = (file: string): string => readFileSync(new URL(`../../deploy/citus/${file}`, import.meta.url), 'utf8');
const compose: { services: Record<string, Service> } = parse(read('docker-compose.yml'), { merge: true });
const { register, ...nodes } = compose.services;

/** The settings of a node, from its command line. */
const settingsOf = ({ command = [] }: Service): Record<string, string> =>
  Object.fromEntries(command.slice(1).map((argument) => argument.replace(/^-c/, '').split('=', 2)));

test('all nodes run one pinned version with the same settings, and publish no port', () => {
  expect(Object.keys(nodes)).toEqual(['coordinator', 'worker-1', 'worker-2']);
  const images = new Set(Object.values(compose.services).map(({ image }) => image));
  expect([...images]).toEqual([expect.stringMatching(/^citusdata\/citus:\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$/)]);
  for (const node of Object.values(nodes)) {
    expect(node.command).toEqual(nodes.coordinator?.command);
    expect(node.ports).toBeUndefined();
  }
});

test('each node is registered by its address, the coordinator as such', () => {
  const commands = register?.entrypoint?.join('\n') ?? '';
  const addresses = Object.values(nodes).map(({ networks }) => networks.nodes?.ipv4_address);
  const registered = [...commands.matchAll(/citus_(?:set_coordinator_host|add_node)\('([\d.]+)'/g)];
  expect(registered.map(([, address]) => address)).toEqual(addresses);
});

test('nodes can move shards, prepare transactions and keep the ledger append-only; the same under Patroni', () => {
  const { parameters } = parse(read('patroni.yml')).bootstrap.dcs.postgresql as { parameters: object };
  const settings = settingsOf(nodes.coordinator as Service);
  for (const each of [settings, parameters as Record<string, string | number>]) {
    expect(each).toMatchObject({ wal_level: 'logical', 'citus.enable_unsafe_triggers': 'on', jit: 'off' });
    // A transaction of several nodes is prepared by each connection.
    expect(Number(each.max_prepared_transactions)).toBeGreaterThan(0);
  }
});

test('each role of roles.sql that connects from node to node may log in', () => {
  const roles = [...read('roles.sql').matchAll(/CREATE ROLE (\w+) (LOGIN|NOLOGIN)/g)].map(([, name, login]) => [
    name,
    login,
  ]);
  expect(Object.fromEntries(roles)).toEqual({
    manilla: 'LOGIN',
    manilla_app: 'LOGIN',
    manilla_service: 'LOGIN',
    manilla_accountant: 'NOLOGIN',
  });
});

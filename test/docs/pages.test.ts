// Generated documentation pages, and pages that list what is in the code, agree with the code.
import { globSync, readFileSync, statSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { PROFILE_SETTINGS } from '../../dev/temporal.ts';
import { CATALOG, type ErrorCode, helpLink } from '../../src/api/errors.ts';
import { ENTRY_KINDS } from '../../src/ledger/entryKinds.ts';
import { CHARGED_MOVEMENTS } from '../../src/ledger/fees.ts';
import { EVENT_TYPES } from '../../src/resources/events.ts';
import { REVIEW_REASONS } from '../../src/resources/reviewCases/queries.ts';
import { CHOICES } from '../../src/workflows/attention/decide.ts';
import { taskQueuesOf } from '../../src/workflows/flows.ts';
import { errorsHtml, errorsPage } from '../../tools/generateErrorsDoc.ts';
import { railsPage } from '../../tools/generateRailsDoc.ts';
import { routeCases } from '../support/routes.ts';
import { settingNames } from '../support/settingNames.ts';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

test('docs/errors.md and the page that the API serves are the output of `npm run generate -- errors`', () => {
  expect(read('docs/errors.md')).toBe(errorsPage());
  expect(read('generated/errors.html')).toBe(errorsHtml());
});

test('docs/rails/capabilities.md is the output of `npm run generate -- rails`', () => {
  expect(read('docs/rails/capabilities.md')).toBe(railsPage());
});

test('the help link of every code leads to its heading in the served page', () => {
  const page = errorsHtml();
  for (const code of Object.keys(CATALOG) as ErrorCode[]) {
    const [, anchor] = helpLink(code).match(/^<\/docs\/errors#([a-z0-9_]+)>; rel="help"$/) ?? [];
    expect(page.split(`<h3 id="${anchor}">${code}</h3>`)).toHaveLength(2);
  }
});

test('pages and examples act on payment.completed: only those that explain payments in parts name payment.settled', () => {
  const explain = ['docs/contract.md', 'docs/guides/collect.md', 'clients/cli/README.md'];
  const patterns = ['README.md', 'docs/**/*.md', 'clients/*/*.{md,ts,py}', 'dev/demo/*.ts', 'src/api/checkout/**/*.*'];
  const files = globSync(patterns, { cwd: new URL('../..', import.meta.url), exclude: ['docs/decisions'] });
  const naming = (type: string) => files.filter((file) => read(file).includes(type));
  expect(naming('payment.settled').toSorted()).toEqual(explain.toSorted());
  expect(naming('payment.completed').length).toBeGreaterThan(explain.length);
});

test('docs/configuration.md names the suffix of every task queue', () => {
  const row = read('docs/configuration.md').match(/^\| `TEMPORAL_TASK_QUEUE` .*$/m)?.[0] ?? '';
  const suffixes = taskQueuesOf('').filter((suffix) => suffix !== '');
  expect(suffixes.length).toBeGreaterThan(0);
  expect(suffixes.filter((suffix) => !row.includes(`\`${suffix}\``))).toEqual([]);
});

test('docs/contract.md lists every kind of entry of a statement, in its direction', () => {
  const [, list = ''] =
    read('docs/contract.md')
      .split('`kind`, with the resource of `resourceId`:\n')[1]
      ?.match(/^([\s\S]*?)\n\n###/) ?? [];
  const listed = [...list.matchAll(/^- (credit|debit|both)\b[^:]*:([\s\S]*?)(?=\n- |$(?![\s\S]))/gm)].flatMap(
    ([, direction, kinds = '']) => [...kinds.matchAll(/`([a-z_]+)`/g)].map(([, kind]) => [kind, direction]),
  );
  expect(Object.fromEntries(listed)).toEqual(ENTRY_KINDS);
});

test('docs/contract.md lists every fee quote type, review case reason and refund failure reason', () => {
  const page = read('docs/contract.md');
  const listed = new Set(
    [...page.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) \|/gm)].flatMap(([, cell = '']) => cell.match(/[a-z_]+/g) ?? []),
  );
  const reasons = [...read('src/workflows/refund/decide.ts').matchAll(/^ {2}\| '([a-z_]+)'/gm)].map(
    ([, reason]) => reason,
  );
  expect(reasons).toHaveLength(5);
  expect([...CHARGED_MOVEMENTS, ...REVIEW_REASONS, ...reasons].filter((each) => !listed.has(each ?? ''))).toEqual([]);
});

test('docs/contract.md lists every route with an API key in its table of scopes', () => {
  const table = read('docs/contract.md').split('### 4.2')[0] ?? '';
  const names = routeCases()
    .map(({ route }) => route.path)
    .filter((path) => !/^\/(webhook-endpoints|events|simulations|rails)/.test(path))
    .map((path) =>
      path.replace(/^\/wallets\/:id\/(deposit-account|deposits|transactions|statements\/:month)$/, '…/$1'),
    );
  expect(names.filter((path) => !table.includes(path))).toEqual([]);
});

test('docs/configuration.md lists exactly the settings of src/config.ts', () => {
  const settings: (string | undefined)[] = [...read('src/config.ts').matchAll(/\bread\(\s*'([A-Z0-9_]+)'/g)].map(
    ([, name]) => name,
  );
  settings.push(...PROFILE_SETTINGS, 'TEMPORAL_PAYLOAD_KEYS');
  expect(settings.length).toBeGreaterThan(15);
  const listed = settingNames();
  expect(listed).toHaveLength(new Set(listed).size);
  expect(new Set(listed)).toEqual(new Set(settings));
});

test('docs/operating.md has a row for every alert and a section for every attention cause', () => {
  const page = read('docs/operating.md');
  const alerts = [...read('deploy/helm/manilla/files/alerts.yml').matchAll(/^ +- alert: (\w+)$/gm)].map(
    ([, name = '']) => name,
  );
  expect(alerts.length).toBeGreaterThan(15);
  const rows = [...page.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? []);
  expect(rows.filter((name) => alerts.includes(name)).toSorted()).toEqual(alerts.toSorted());
  // A pause is started by operators, so it is no symptom and has its own section.
  const causes = Object.keys(CHOICES).filter((cause) => cause !== 'rail_paused');
  for (const cause of causes) expect(page).toContain(`### A flow has \`Attention = ${cause}\``);
});

test('docs/scaling.md has the cost of each Schedule and of each source of gauges', () => {
  const named = (file: string, name: RegExp) => [...read(file).matchAll(name)].map(([, found = '']) => found);
  const periodic = [
    ...named('src/worker/schedules.ts', /workflow: '(\w+)'/g),
    ...['backlogGauges', 'pollerGauges'].flatMap((file) => named(`src/worker/${file}.ts`, /^ {4}name: '(\w+)'/gm)),
  ];
  expect(periodic.length).toBeGreaterThan(10);
  const listed = named('docs/scaling.md', /^\| (?:gauges )?`(\w+)` \|(?:[^|]*\|){4}$/gm);
  expect(listed.toSorted()).toEqual(periodic.toSorted());
});

test('docs/contract.md lists every event type once', () => {
  const rows = read('docs/contract.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|')[1] ?? '');
  const listed = rows.flatMap((cell) => [...cell.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, type]) => type));
  for (const type of EVENT_TYPES) expect(listed.filter((each) => each === type)).toEqual([type]);
});

test('links between pages resolve', () => {
  const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: new URL('../..', import.meta.url) });
  expect(pages.length).toBeGreaterThan(25);
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)]
      .map(([, target]) => target as string)
      .filter((target) => !exists(new URL(target, new URL(`../../${page}`, import.meta.url))))
      .map((target) => `${page} → ${target}`),
  );
  expect(broken).toEqual([]);
});

function exists(url: URL): boolean {
  return statSync(url, { throwIfNoEntry: false }) !== undefined;
}

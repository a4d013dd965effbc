// The style guide as tests: directions of imports, file names, file heads, and what must never be committed.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { needNoTools } from '../dev/launch.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IGNORED = new Set(['node_modules', '.git', '.manilla', '.cache', 'coverage', 'dist']);

const files = listFiles('');
const code = files.filter((file) => /\.(ts|mjs|js)$/.test(file));
const source = code.filter((file) => file.startsWith('src/'));

/**
 * The folders of src from the bottom up, and what each may import, types included, besides itself and the files
 * directly in src. A folder names only folders above it in this list, so there are no cycles. Missing entries are
 * deliberate: read ARCHITECTURE.md before adding one.
 */
const MAY_IMPORT: Record<string, string[]> = {
  concurrency: [],
  telemetry: ['concurrency'],
  temporal: ['concurrency', 'telemetry'],
  database: ['telemetry'],
  ledger: ['concurrency', 'database', 'telemetry'],
  rail: ['concurrency', 'database', 'telemetry'],
  // Pure: what a workflow imports is bundled into its sandbox. From concurrency it imports the time limits.
  workflows: ['concurrency'],
  resources: ['database', 'ledger', 'rail', 'telemetry', 'workflows'],
  verification: ['concurrency', 'database', 'ledger', 'resources'],
  reconciliation: ['concurrency', 'database', 'ledger', 'resources'],
  webhooks: ['concurrency', 'database', 'ledger', 'resources', 'telemetry'],
  outbox: ['concurrency', 'database', 'telemetry', 'webhooks', 'workflows'],
  recovery: ['concurrency', 'database', 'ledger', 'outbox', 'resources', 'webhooks', 'workflows'],
  activities: [
    'concurrency',
    'database',
    'ledger',
    'outbox',
    'rail',
    'reconciliation',
    'recovery',
    'resources',
    'telemetry',
    'verification',
    'webhooks',
    'workflows',
  ],
  api: ['concurrency', 'database', 'ledger', 'rail', 'resources', 'telemetry', 'temporal', 'webhooks', 'workflows'],
  worker: [
    'activities',
    'concurrency',
    'database',
    'ledger',
    'outbox',
    'rail',
    'recovery',
    'resources',
    'telemetry',
    'temporal',
    'webhooks',
    'workflows',
  ],
  cli: [
    'database',
    'ledger',
    'outbox',
    'rail',
    'reconciliation',
    'recovery',
    'resources',
    'temporal',
    'verification',
    'webhooks',
    'workflows',
  ],
};

/**
 * The files directly in src, and the folders that each may import: the shared vocabulary, which every folder may
 * import, the settings, and the composition of a process.
 */
const ROOT_FILES: Record<string, string[]> = {
  'src/config.ts': ['concurrency', 'telemetry', 'temporal'],
  'src/httpListener.ts': [],
  'src/ids.ts': [],
  'src/keyring.ts': [],
  'src/money.ts': [],
  'src/release.ts': [],
  'src/runtime.ts': ['concurrency', 'database', 'ledger', 'rail', 'telemetry'],
  'src/times.ts': [],
};
/** These two are above some folders, so not every folder may import them. */
const MAY_BE_IMPORTED_BY: Record<string, (folder: string) => boolean> = {
  'src/config.ts': (folder) => !ROOT_FILES['src/config.ts']?.includes(folder),
  'src/runtime.ts': (folder) => ['api', 'worker'].includes(folder),
};

test('src has exactly eight files outside its folders', () => {
  expect(source.filter((file) => folderOf(file) === undefined)).toEqual(Object.keys(ROOT_FILES));
});

test('imports between folders follow the allowed direction, types included', () => {
  const folders = Object.keys(MAY_IMPORT);
  const cycles = Object.entries(MAY_IMPORT).flatMap(([folder, others]) =>
    others
      .filter((other) => folders.indexOf(other) >= folders.indexOf(folder))
      .map((other) => `${folder} names ${other}`),
  );
  expect(cycles).toEqual([]);
  const wrong = source.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => target.startsWith('src/') && !isAllowed(file, target))
      .map(({ target }) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('nothing in src imports from dev, test, bench or tools', () => {
  const wrong = source.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => /^(dev|test|bench|tools)\//.test(target))
      .map(({ target }) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('no files import each other in a cycle', () => {
  const open = new Set<string>();
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string): void => {
    if (done.has(file)) return;
    open.add(file);
    for (const { target } of importsOf(file)) {
      if (open.has(target)) cycles.push(`${file} imports ${target}`);
      else if (code.includes(target)) visit(target);
    }
    open.delete(file);
    done.add(file);
  };
  for (const file of code) visit(file);
  expect(cycles).toEqual([]);
});

test('no file outside src/workflows imports workflow code at run time', () => {
  const wrong = source.flatMap((file) =>
    importsOf(file)
      .filter(({ target, typeOnly }) => /^src\/workflows\/.*workflow\.ts$/.test(target) && !typeOnly)
      .filter(() => !file.startsWith('src/workflows/'))
      .map(({ target }) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('workflow bundles import neither Node modules nor packages that are not made for workflows', () => {
  const allowed = /^@temporalio\/(workflow|common)(\/|$)/;
  const { seen, others } = importedBy(['src/workflows/index.ts', 'src/workflows/traces.ts'], /^src\//);
  expect(seen.size).toBeGreaterThan(1);
  expect(others.filter(({ target }) => !allowed.test(target))).toEqual([]);
});

test('what runs without devDependencies imports none of them', () => {
  const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
  const entries = [...needNoTools, 'dev/reaper.ts', 'src/api/main.ts', 'src/worker/main.ts'];
  const { seen, others } = importedBy(entries, /\.(ts|mjs)$/);
  expect([...seen]).toEqual(expect.arrayContaining(['tools/guide/build.ts', 'clients/typescript/src/index.ts']));
  const packageOf = (target: string): string => target.split('/', target.startsWith('@') ? 2 : 1).join('/');
  expect(others.filter(({ target }) => packageOf(target) in devDependencies)).toEqual([]);
});

test('decide.ts files are pure: they import no packages at run time', () => {
  const wrong = source
    .filter((file) => file.endsWith('/decide.ts'))
    .flatMap((file) => importsOf(file).map((one) => ({ file, ...one })))
    .filter(({ target, typeOnly }) => !typeOnly && !target.startsWith('src/'))
    .map(({ file, target }) => `${file} imports ${target}`);
  expect(wrong).toEqual([]);
});

test('files have camelCase names, migrations are numbered, and files of functions have snake_case names', () => {
  const name = /^[a-z][a-zA-Z0-9]*((\.slow)?\.(test|config))?\.(ts|mjs|js)$/;
  const wrong = [
    ...code.filter((file) => !name.test(path.basename(file))),
    ...files.filter(
      (file) =>
        file.endsWith('.sql') &&
        !/^(src\/(database\/migrations\/\d{4}_[a-z0-9_]+|ledger\/sql\/[a-z][a-z0-9_]*)|deploy\/citus\/[a-z_]+)\.sql$/.test(
          file,
        ),
    ),
  ];
  expect(wrong).toEqual([]);
});

/** What every change runs: rules, the API, the ledger, the rails, the replay, each flow end to end. */
const NEVER_SLOW = [
  /^test\/(api|bench|docs|ledger|outbox|rail|reconciliation|resources|verification|webhooks)\//,
  /^test\/(openapi\/(document|examples)|chaos\/(judge|plan))\./,
  /Rules\.slow\.test\.ts$/,
  /^test\/workflows\/(replay|commandCoverage)\.slow\.test\.ts$/,
  /^test\/e2e\/(payments|payFromWallet|credits|withdrawals|refunds|payouts|reviewCases|adjustments)\./,
  /^test\/e2e\/(reconciliation|sweep|failingFlows|schedules)\./,
];

test('slow tests are of faults, sizes, whole processes and every combination, and not what every change must run', () => {
  const slow = files.filter((file) => file.endsWith('.slow.test.ts'));
  expect(slow.length).toBeGreaterThan(0);
  expect(slow.filter((file) => NEVER_SLOW.some((pattern) => pattern.test(file)))).toEqual([]);
});

test('every test file that a page or a comment names exists', () => {
  const wrong = files
    .filter((file) => /\.(ts|mjs|js|md|jsonc)$/.test(file))
    .flatMap((file) =>
      [...read(file).matchAll(/\btest\/[a-zA-Z/]+(?:\.slow)?\.test\.ts\b/g)].map(([named]) => ({ file, named })),
    )
    .filter(({ named }) => !files.includes(named))
    .map(({ file, named }) => `${file} names ${named}`);
  expect(wrong).toEqual([]);
});

test('tables, details and findings have amounts in naira, because they are for people', () => {
  const wrong = source
    .filter((file) => /^src\/(cli|verification|workflows)\//.test(file))
    .flatMap((file) =>
      read(file)
        .split('\n')
        .filter((line) => /'Kobo'|\(kobo\)'|\| kobo \||\} kobo`|String\([\w.]*[aA]mount\b/.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
  expect(wrong).toEqual([]);
});

test('no file, function or class has a catch-all name such as utils, helpers or manager', () => {
  const catchAllNames = /^(utils?|helpers?|common|misc|managers?|service|data|info)$/i;
  const catchAllSuffix = /\b(?:function|class)\s+(\w+(?:Utils?|Helpers?|Manager|Service))\b/;
  const wrong = [
    ...code.filter((file) =>
      file
        .replace(/\.\w+$/, '')
        .split('/')
        .some((part) => catchAllNames.test(part)),
    ),
    ...code.filter((file) => catchAllSuffix.test(read(file))),
  ];
  expect(wrong).toEqual([]);
});

test('each file opens with a comment on its content', () => {
  const wrong = [
    ...code.filter((file) => !/^(#!.*\n)?(\/\/ |\/\*)/.test(read(file))),
    ...files.filter((file) => file.endsWith('.sql') && !read(file).startsWith('-- ')),
  ];
  expect(wrong).toEqual([]);
});

// The bracketed letter keeps a pattern from matching itself in this file.
const UNFINISHED = /\b(?:TOD[O]|FIXM[E]|XX[X])\b/;
const DISABLED = /\b(?:describe|it|test)\.(?:only|skip|todo|failing)\b|\b(?:fdescribe|fit|xdescribe|xit|xtest)\(/;
const FOREIGN = [
  // A path of a developer's machine.
  /\/(?:wor[k]\/|hom[e]\/\w|User[s]\/\w|roo[t]\/\w|op[t]\/(?!homebrew\/))/,
  /\.\.\/share[d]|\.librar[y]\b/,
  // A package registry or proxy: choosing it is up to the machine that installs.
  /registry\.npmj[s]|npmmirro[r]|GOPROX[Y]=|^registr[y]\s*=|^--(?:find-link[s]|(?:extra-)?index-ur[l])\b/m,
  /BEGIN [A-Z ]*PRIVATE KE[Y]/,
];

test('no code is marked unfinished and no test is disabled', () => {
  const wrong = code.filter((file) => UNFINISHED.test(read(file)) || DISABLED.test(read(file)));
  expect(wrong).toEqual([]);
});

test('no committed file names a machine, a registry or a secret', () => {
  const readable = files.filter((file) => !/\.(png|jpg|svg|ico|zip|gz|sum)$/.test(file));
  const wrong = readable.filter((file) => FOREIGN.some((pattern) => pattern.test(read(file))));
  expect(wrong).toEqual([]);
});

interface LockedPackage {
  version?: string;
  resolved?: string;
  license?: string;
  optionalDependencies?: Record<string, string>;
}

const packagesOf = (lock: string): Record<string, LockedPackage> => JSON.parse(read(lock)).packages;
const locked = packagesOf('package-lock.json');

/** Written by tools, a paragraph a line. */
const GENERATED_TEXTS =
  /^(clients\/|docs\/errors\.md|docs\/rails\/capabilities\.md|docs\/performance\/results\.md|tools\/openapi\/)/;
const PROSE_COLUMNS = 120;

test('comments and pages are at most 120 columns wide, but for tables, code and headings', () => {
  const isProse = (file: string): ((line: string) => boolean) => {
    if (!file.endsWith('.md')) return (line) => /^\s*(\/\/|\/?\*)/.test(line);
    let isCode = false;
    return (line) => {
      if (line.trimStart().startsWith('```')) isCode = !isCode;
      return !isCode && !/^(\||#|!\[)/.test(line);
    };
  };
  const wrong = files
    .filter((file) => /\.(ts|mjs|js|md)$/.test(file) && !GENERATED_TEXTS.test(file))
    .flatMap((file) => {
      const ofProse = isProse(file);
      const lines = read(file).split('\n');
      return lines.flatMap((line, index) =>
        ofProse(line) && line.length > PROSE_COLUMNS ? [`${file}:${index + 1}`] : [],
      );
    });
  expect(wrong).toEqual([]);
});

test('the lock file has versions and no hosts', () => {
  const wrong = Object.entries(locked).filter(([, entry]) => entry.resolved !== undefined);
  expect(wrong.map(([where]) => where)).toEqual([]);
});

test('the lock file has every optional dependency it names, so that it installs on every system', () => {
  // npm silently omits them when a platform package is published late, or when it locks from an installed folder; `npm
  // ci` then rejects the lock file elsewhere. To fix it: pin a version whose platform packages are all published,
  // delete node_modules and package-lock.json, and run `npm install --package-lock-only`.
  const wrong = Object.entries(locked).flatMap(([where, entry]) =>
    Object.keys(entry.optionalDependencies ?? {})
      .filter((name) => !isLocked(where, name))
      .map((name) => `${where || 'package.json'} names ${name}`),
  );
  expect(wrong).toEqual([]);
});

/** None asks for more than to be named. */
const LICENCES = /^(0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|CC-BY-4\.0|CC0-1\.0|ISC|MIT|Unlicense|Zlib)$/;
/** Of packages that are not as simple as that. */
const OTHER_LICENCES: Record<string, string> = {
  'node_modules/@expo-google-fonts/noto-sans': 'MIT AND OFL-1.1', // the font is embedded in documents, which it allows
  'node_modules/axe-core': 'MPL-2.0', // for tests, unchanged
  'clients/typescript/node_modules/argparse': 'Python-2.0', // of what generates the client's types
  'node_modules/png-js': '', // MIT, in a file of its own
  'node_modules/unionfs': '', // the Unlicense, in a file of its own
};

test('every package has one of the allowed licences', () => {
  const inClient = Object.entries(packagesOf('clients/typescript/package-lock.json'));
  const all = {
    ...locked,
    ...Object.fromEntries(inClient.map(([where, entry]) => [`clients/typescript/${where}`, entry])),
  };
  const wrong = Object.entries(all)
    .filter(([where]) => where.includes('node_modules/'))
    .map(([where, { license = '' }]) => ({ where, license }))
    .filter(({ where, license }) => OTHER_LICENCES[where] !== license)
    .filter(
      ({ license }) =>
        !license
          .replaceAll(/[()]/g, '')
          .split(/ AND | OR /)
          .every((part) => LICENCES.test(part)),
    )
    .concat(
      Object.keys(OTHER_LICENCES)
        .filter((where) => !(where in all))
        .map((where) => ({ where, license: 'gone' })),
    );
  expect(wrong).toEqual([]);
});

test('docs/dependencies.md lists every dependency', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json'));
  const page = read('docs/dependencies.md');
  const wrong = Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !page.includes(`\`${name}\``));
  expect(wrong).toEqual([]);
});

/** Whether the package finds the dependency: in its own node_modules or in an outer one, as Node resolves it. */
function isLocked(where: string, name: string): boolean {
  for (let folder = where; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in locked) return true;
    if (folder === '') return false;
  }
}

function listFiles(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(folder, entry.name);
    if (IGNORED.has(entry.name) || entry.name.endsWith('.log')) return [];
    if (entry.isDirectory()) return listFiles(file);
    return entry.isFile() ? [file] : [];
  });
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** The imports of a file, later ones too: own files by their path from the root, packages by name. */
function importsOf(file: string): { target: string; typeOnly: boolean }[] {
  const text = read(file);
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?(?:[^;'"]*?\sfrom\s+)?'([^']+)'/gm);
  const later = text.matchAll(/(typeof )?\bimport\('([^']+)'\)/g);
  return [...statements, ...later].map(([, type, name = '']) => ({
    target: name.startsWith('.') ? path.posix.join(path.posix.dirname(file), name) : name,
    typeOnly: type !== undefined,
  }));
}

/** The files with a path like `own` that these import at run time, directly or by others, and what else they import. */
function importedBy(entries: readonly string[], own: RegExp) {
  const seen = new Set<string>();
  const others: { file: string; target: string }[] = [];
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const { target, typeOnly } of importsOf(file)) {
      if (typeOnly) continue;
      if (own.test(target)) visit(target);
      else others.push({ file, target });
    }
  };
  for (const file of entries) visit(file);
  return { seen, others };
}

function isAllowed(file: string, target: string): boolean {
  const [from, to] = [folderOf(file), folderOf(target)];
  if (from === undefined) return to === undefined ? isBelow(target, file) : (ROOT_FILES[file]?.includes(to) ?? false);
  if (to === undefined) return MAY_BE_IMPORTED_BY[target]?.(from) ?? true;
  if (from === to) return true;
  return MAY_IMPORT[from]?.includes(to) ?? false;
}

/** Of two files directly in src: the composition imports the settings, and both the vocabulary. */
function isBelow(target: string, file: string): boolean {
  const order = ['src/config.ts', 'src/runtime.ts'];
  return order.indexOf(target) < order.indexOf(file);
}

/** The folder directly in src, or undefined for a file directly in src. */
function folderOf(file: string): string | undefined {
  const [, folder, ...rest] = file.split('/');
  return rest.length === 0 ? undefined : folder;
}

// The style guide as a test: which way imports go, what files are called, how they open, and what must never be committed.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NOT_OURS = new Set(['node_modules', '.git', '.manilla', '.cache', 'coverage']);

const files = listFiles('');
const code = files.filter((file) => /\.(ts|mjs|js)$/.test(file));
const source = code.filter((file) => file.startsWith('src/'));

/**
 * The rooms of src from the ground up, and what each may import, types included, besides itself and the files right under src.
 * A room names only rooms above it in this list, so there is no circle. What is missing here is not an oversight: read
 * ARCHITECTURE.md before adding a line.
 */
const MAY_IMPORT: Record<string, string[]> = {
  concurrency: [],
  telemetry: [],
  temporal: ['telemetry'],
  database: ['telemetry'],
  ledger: ['concurrency', 'database', 'telemetry'],
  rail: ['concurrency', 'database', 'telemetry'],
  // Pure: what a workflow imports is bundled into its sandbox. Of concurrency it takes the time limits.
  workflows: ['concurrency'],
  resources: ['database', 'ledger', 'rail', 'workflows'],
  reconciliation: ['database', 'ledger', 'resources'],
  webhooks: ['database', 'resources', 'telemetry', 'workflows'],
  outbox: ['concurrency', 'database', 'ledger', 'resources', 'telemetry', 'webhooks', 'workflows'],
  activities: [
    'concurrency',
    'database',
    'ledger',
    'outbox',
    'rail',
    'reconciliation',
    'resources',
    'telemetry',
    'webhooks',
    'workflows',
  ],
  api: ['concurrency', 'database', 'ledger', 'rail', 'resources', 'telemetry', 'temporal', 'webhooks', 'workflows'],
  worker: [
    'activities',
    'concurrency',
    'database',
    'outbox',
    'rail',
    'resources',
    'telemetry',
    'temporal',
    'webhooks',
    'workflows',
  ],
  cli: ['api', 'database', 'ledger', 'outbox', 'rail', 'reconciliation', 'resources', 'workflows'],
};

/** The files right under src: the vocabulary, which every room may use, and the composition of a process. */
const LOOSE = ['config.ts', 'ids.ts', 'keyring.ts', 'money.ts', 'runtime.ts'];
const RUNTIME = 'src/runtime.ts';
/** What the vocabulary itself may use, and what the composition puts together. */
const OF_VOCABULARY = ['concurrency'];
const OF_RUNTIME = ['concurrency', 'database', 'ledger', 'rail', 'telemetry'];

test('five files lie right under src', () => {
  expect(source.filter((file) => folderOf(file) === undefined)).toEqual(LOOSE.map((file) => `src/${file}`));
});

test('imports go one way, types included', () => {
  const rooms = Object.keys(MAY_IMPORT);
  const circles = Object.entries(MAY_IMPORT).flatMap(([room, others]) =>
    others.filter((other) => rooms.indexOf(other) >= rooms.indexOf(room)).map((other) => `${room} names ${other}`),
  );
  expect(circles).toEqual([]);
  const wrong = source.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => target.startsWith('src/') && !isAllowed(file, target))
      .map(({ target }) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('nothing in src imports what is outside of it', () => {
  const wrong = source.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => /^(dev|test|bench|tools)\//.test(target))
      .map(({ target }) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('no files import each other in a circle', () => {
  const open = new Set<string>();
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string): void => {
    if (done.has(file)) return;
    open.add(file);
    for (const { target } of importsOf(file)) {
      if (open.has(target)) circles.push(`${file} imports ${target}`);
      else if (code.includes(target)) visit(target);
    }
    open.delete(file);
    done.add(file);
  };
  for (const file of code) visit(file);
  expect(circles).toEqual([]);
});

test('only a worker loads workflow code; all others stop at messages, decisions and flows', () => {
  const wrong = source.flatMap((file) =>
    importsOf(file)
      .filter(({ target, typeOnly }) => /^src\/workflows\/.*workflow\.ts$/.test(target) && !typeOnly)
      .filter(() => !file.startsWith('src/workflows/'))
      .map(({ target }) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('nothing that a workflow bundles reaches for Node or for a package that is not made for workflows', () => {
  const allowed = /^@temporalio\/(workflow|common)(\/|$)/;
  const seen = new Set<string>();
  const wrong: string[] = [];
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const { target, typeOnly } of importsOf(file)) {
      if (typeOnly) continue;
      if (target.startsWith('src/')) visit(target);
      else if (!allowed.test(target)) wrong.push(`${file} imports ${target}`);
    }
  };
  visit('src/workflows/index.ts');
  visit('src/workflows/traces.ts');
  expect(seen.size).toBeGreaterThan(1);
  expect(wrong).toEqual([]);
});

test('decisions are pure: they import other plain code only', () => {
  const wrong = source
    .filter((file) => file.endsWith('/decide.ts'))
    .flatMap((file) => importsOf(file).map((one) => ({ file, ...one })))
    .filter(({ target, typeOnly }) => !typeOnly && !target.startsWith('src/'))
    .map(({ file, target }) => `${file} imports ${target}`);
  expect(wrong).toEqual([]);
});

test('files are named in camelCase, migrations by number, files of functions in snake_case', () => {
  const name = /^[a-z][a-zA-Z0-9]*(\.test|\.config)?\.(ts|mjs|js)$/;
  const wrong = [
    ...code.filter((file) => !name.test(path.basename(file))),
    ...files.filter(
      (file) =>
        file.endsWith('.sql') &&
        !/^src\/(database\/migrations\/\d{4}_[a-z0-9_]+|ledger\/sql\/[a-z][a-z0-9_]*)\.sql$/.test(file),
    ),
  ];
  expect(wrong).toEqual([]);
});

test('nothing is called after the drawer it was put in', () => {
  const drawers = /^(utils?|helpers?|common|misc|managers?|service|data|info)$/i;
  const drawerEnding = /\b(?:function|class)\s+(\w+(?:Utils?|Helpers?|Manager|Service))\b/;
  const wrong = [
    ...code.filter((file) =>
      file
        .replace(/\.\w+$/, '')
        .split('/')
        .some((part) => drawers.test(part)),
    ),
    ...code.filter((file) => drawerEnding.test(read(file))),
  ];
  expect(wrong).toEqual([]);
});

test('each file opens by saying what lives in it', () => {
  const wrong = [
    ...code.filter((file) => !/^(#!.*\n)?(\/\/ |\/\*)/.test(read(file))),
    ...files.filter((file) => file.endsWith('.sql') && !read(file).startsWith('-- ')),
  ];
  expect(wrong).toEqual([]);
});

// A letter in brackets keeps a pattern from finding itself in this file.
const UNFINISHED = /\b(?:TOD[O]|FIXM[E]|XX[X])\b/;
const SWITCHED_OFF = /\b(?:describe|it|test)\.(?:only|skip|todo|failing)\b|\b(?:fdescribe|fit|xdescribe|xit|xtest)\(/;
const FOREIGN = [
  // A path of the machine it was written on.
  /\/(?:wor[k]\/|hom[e]\/\w|User[s]\/\w|roo[t]\/\w)/,
  /\.\.\/share[d]|\.librar[y]\b/,
  // A package registry or proxy: which one to use is the business of the machine that installs.
  /registry\.npmj[s]|npmmirro[r]|GOPROX[Y]=|^registr[y]\s*=/m,
  /BEGIN [A-Z ]*PRIVATE KE[Y]/,
];

test('nothing is left unfinished or switched off', () => {
  const wrong = code.filter((file) => UNFINISHED.test(read(file)) || SWITCHED_OFF.test(read(file)));
  expect(wrong).toEqual([]);
});

test('nothing committed names a machine, a registry or a secret', () => {
  const readable = files.filter((file) => !/\.(png|jpg|svg|ico|zip|gz|sum)$/.test(file));
  const wrong = readable.filter((file) => FOREIGN.some((pattern) => pattern.test(read(file))));
  expect(wrong).toEqual([]);
});

interface LockedPackage {
  version?: string;
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

const locked: Record<string, LockedPackage> = JSON.parse(read('package-lock.json')).packages;

test('the lock file names versions, not hosts', () => {
  const wrong = Object.entries(locked).filter(([, entry]) => entry.resolved !== undefined);
  expect(wrong.map(([where]) => where)).toEqual([]);
});

test('the lock file has every optional dependency it names, so that it installs on every system', () => {
  // npm leaves them out without a word when a platform package is late, or when it locks from an installed folder;
  // `npm ci` then refuses the file elsewhere. Cure: pin a version that is whole, delete node_modules and
  // package-lock.json, and run `npm install --package-lock-only`.
  const wrong = Object.entries(locked).flatMap(([where, entry]) =>
    Object.keys(entry.optionalDependencies ?? {})
      .filter((name) => !isLocked(where, name))
      .map((name) => `${where || 'package.json'} names ${name}`),
  );
  expect(wrong).toEqual([]);
});

test('docs/dependencies.md says of every dependency why it is here', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json'));
  const page = read('docs/dependencies.md');
  const wrong = Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !page.includes(`\`${name}\``));
  expect(wrong).toEqual([]);
});

/** Whether the package finds the dependency: in its own node_modules or in one further out, as Node looks for it. */
function isLocked(where: string, name: string): boolean {
  for (let folder = where; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in locked) return true;
    if (folder === '') return false;
  }
}

function listFiles(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(folder, entry.name);
    if (NOT_OURS.has(entry.name) || entry.name.endsWith('.log')) return [];
    if (entry.isDirectory()) return listFiles(file);
    return entry.isFile() ? [file] : [];
  });
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** What a file imports: files of ours by their path from the root, packages by name. */
function importsOf(file: string): { target: string; typeOnly: boolean }[] {
  const statements = read(file).matchAll(/^(?:import|export)\s+(type\s)?(?:[^;'"]*?\sfrom\s+)?'([^']+)'/gm);
  return [...statements].map(([, type, name = '']) => ({
    target: name.startsWith('.') ? path.posix.join(path.posix.dirname(file), name) : name,
    typeOnly: type !== undefined,
  }));
}

function isAllowed(file: string, target: string): boolean {
  const [from, to] = [folderOf(file), folderOf(target)];
  if (target === RUNTIME) return from !== undefined && ['api', 'worker'].includes(from);
  if (to === undefined || from === to) return true;
  if (from === undefined) return (file === RUNTIME ? OF_RUNTIME : OF_VOCABULARY).includes(to);
  return MAY_IMPORT[from]?.includes(to) ?? false;
}

/** The folder right under src, or undefined for a file that lies there itself. */
function folderOf(file: string): string | undefined {
  const [, folder, ...rest] = file.split('/');
  return rest.length === 0 ? undefined : folder;
}

// `npm run docs:build`: writes the guide, the pages of the repository as a site of static files, to `.cache/guide` or
// the folder that is given. The API serves it on the sandbox host at /docs/guide (src/api/reference/pages.ts), as any
// host of static files can. Reaches no host. Does nothing when the guide is of the same sources already.
import { createHash } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import MiniSearch from 'minisearch';
import { answerVersion } from '../../src/release.ts';
import { imageOf, outputOf, type RenderedPage, renderPage, sectionsOf } from './markdown.ts';
import { pageHtml } from './template.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
/** Where the API looks for it. */
const FOLDER = path.join(PROJECT, '.cache/guide');
const PAGES = ['*.md', 'docs/**/*.md', 'clients/*/README.md'];
const IMAGES = ['docs/**/*.{png,svg}'];
/** Own files, which the pages load. */
const ASSETS = ['guide.css', 'guide.js'];
/** The hash of what a built guide was made from. */
const FINGERPRINT = 'fingerprint.txt';
/** Also for loading the index in the browser (guide.js). */
const SEARCH = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['title', 'heading', 'href'],
  searchOptions: { boost: { title: 3, heading: 2 }, prefix: true, combineWith: 'AND' as const },
};

const find = (patterns: readonly string[]): string[] => globSync(patterns, { cwd: PROJECT }).toSorted();
const read = (file: string): Promise<string> => readFile(path.join(PROJECT, file), 'utf8');

/** Builds the guide. Returns the number of its pages, or null when the folder has it already. */
export async function buildGuide(folder = FOLDER): Promise<number | null> {
  const sources = find(PAGES);
  const images = find(IMAGES);
  const fingerprint = await fingerprintOf([...sources, ...images, ...find(['tools/guide/*', 'package.json'])]);
  const built = await readFile(path.join(folder, FINGERPRINT), 'utf8').catch(() => '');
  if (built === fingerprint) return null;

  const targets = {
    isPage: (file: string) => sources.includes(file),
    isImage: (file: string) => images.includes(file),
  };
  const pages = new Map<string, RenderedPage>();
  for (const source of sources) pages.set(source, renderPage(source, await read(source), targets));

  const temporary = `${folder}-${process.pid}`;
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(path.dirname(path.join(temporary, file)), { recursive: true });
    await writeFile(path.join(temporary, file), text);
  };
  for (const [source, page] of pages) await write(outputOf(source), pageHtml(source, page));
  await write('search.json', searchIndex(pages));
  for (const asset of ASSETS) await write(asset, await readFile(new URL(asset, import.meta.url), 'utf8'));
  await write('minisearch.js', await readFile(fileURLToPath(import.meta.resolve('minisearch')), 'utf8'));
  for (const image of new Set([...pages.values()].flatMap((page) => page.images))) {
    const file = path.join(temporary, imageOf(image));
    await mkdir(path.dirname(file), { recursive: true });
    await copyFile(path.join(PROJECT, image), file);
  }
  await write(FINGERPRINT, fingerprint);
  await replaceFolder(folder, temporary);
  return pages.size;
}

async function fingerprintOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = await readFile(path.join(PROJECT, file));
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

/** A document for each heading of each page. */
function searchIndex(pages: ReadonlyMap<string, RenderedPage>): string {
  const index = new MiniSearch(SEARCH);
  for (const [source, page] of pages) {
    for (const { id, heading, text } of sectionsOf(page)) {
      const href = `${outputOf(source)}${id === '' ? '' : `#${id}`}`;
      index.add({ id: href, href, title: page.title, heading, text });
    }
  }
  return JSON.stringify({ options: SEARCH, index });
}

/** Puts a complete folder in the place of the former one; the API reads files one by one, at any time. */
async function replaceFolder(folder: string, replacement: string): Promise<void> {
  const former = `${replacement}-former`;
  if (existsSync(folder)) await rename(folder, former);
  await rename(replacement, folder);
  await rm(former, { recursive: true, force: true });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  answerVersion();
  const folder = path.resolve(process.argv[2] ?? FOLDER);
  const pages = await buildGuide(folder);
  console.log(pages === null ? `${folder} is up to date` : `wrote ${pages} pages to ${folder}`);
}

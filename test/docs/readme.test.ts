// The README for a first-time reader: it links every page and lists every folder.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const project = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(path.join(project, 'README.md'), 'utf8');

test('the README links every documentation page', () => {
  const pages = globSync(['*.md', 'docs/*.md'], { cwd: project }).filter((page) => page !== 'README.md');
  expect(pages.length).toBeGreaterThan(15);
  expect(pages.filter((page) => !readme.includes(`](${page})`))).toEqual([]);
});

test('the folder map of the README lists every folder of src', () => {
  const folders = globSync('src/*/', { cwd: project }).map((folder) => `\`${folder.replace(/\/?$/, '/')}\``);
  expect(folders.length).toBeGreaterThan(10);
  expect(folders.filter((folder) => !readme.includes(folder))).toEqual([]);
});

// The guide on the sandbox host: the pages of the project as a site of static files, which `npm run docs:build`, the
// image and `npm start` write. Read when they are asked for, because `npm start` builds them while it serves.
import { readFile } from 'node:fs/promises';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { ApiError } from '../errors.ts';

/** Where tools/guide/build.ts writes it. */
const FOLDER = new URL('../../../.cache/guide/', import.meta.url);
const PATH = '/docs/guide';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
};

/** No dots but that of the ending, so that no path leads out of the folder. */
const FILE = /^(?:[a-z0-9-]+\/)*[a-zA-Z0-9-]+\.([a-z]+)$/;

/** Scripts, styles, images and requests of this host only, and nothing inline. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function addGuide(docs: Router): void {
  docs.get(/^\/docs\/guide(\/.*)?$/, async (ctx: Context) => {
    ctx.state.route = `GET ${PATH}`;
    // The addresses in the pages are relative.
    if (ctx.path === PATH) return ctx.redirect(`${PATH}/`);
    const name = ctx.path.slice(PATH.length + 1) || 'index.html';
    const type = TYPES[FILE.exec(name)?.[1] ?? ''];
    const content = type === undefined ? null : await readIfExists(new URL(name, FOLDER));
    if (type === undefined || content === null) {
      throw new ApiError('ROUTE_NOT_FOUND', { resource: 'route', id: `${ctx.method} ${ctx.path}`.slice(0, 200) });
    }
    ctx.body = content;
    ctx.set('Content-Type', type);
    ctx.set('Content-Security-Policy', CONTENT_SECURITY_POLICY);
    ctx.set('X-Content-Type-Options', 'nosniff');
    ctx.set('Referrer-Policy', 'no-referrer');
  });
}

/** Null where there is no such file, also before the guide is built. */
async function readIfExists(file: URL): Promise<Buffer | null> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

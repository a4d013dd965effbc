// The guide on the sandbox host: the pages of the project as a site of static files, which `npm run docs:build`, the
// image and `npm start` write. Read when they are asked for, because `npm start` builds them while it serves.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { routeNotFound } from '../errors.ts';

/** Where tools/guide/build.ts writes it. */
const FOLDER = new URL('../../../.cache/guide/', import.meta.url);
const PATH = '/docs/guide';

/** No dots but that of the ending, so that no path leads out of the folder. */
const FILE = /^(?:[a-z0-9-]+\/)*[a-zA-Z0-9-]+\.(?:css|html|js|json|png|svg)$/;

/** Scripts, styles, images and requests of this host only; `styles` adds other ones. */
export function setPageHeaders(ctx: Context, styles = ''): void {
  ctx.set({
    'Content-Security-Policy':
      `default-src 'none'; script-src 'self'; style-src 'self'${styles}; img-src 'self' data:; connect-src 'self'; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  });
}

export function addGuide(docs: Router): void {
  docs.get(/^\/docs\/guide(\/.*)?$/, async (ctx: Context) => {
    ctx.state.route = `GET ${PATH}`;
    // The addresses in the pages are relative.
    if (ctx.path === PATH) return ctx.redirect(`${PATH}/`);
    const name = ctx.path.slice(PATH.length + 1) || 'index.html';
    const content = FILE.test(name) ? await readIfExists(new URL(name, FOLDER)) : null;
    if (content === null) throw routeNotFound(`${ctx.method} ${ctx.path}`);
    ctx.body = content;
    ctx.type = path.extname(name);
    setPageHeaders(ctx);
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

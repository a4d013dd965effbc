// What describes the API to people and programs, beside its routes: the OpenAPI document, the reference page that shows
// it, the page of errors and the guide. Files, most of them generated (generated/), served as they are; none is an
// answer of the API, so none has its envelope.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import etag from '@koa/etag';
import type { Router } from '@koa/router';
import type { Context, Next } from 'koa';
import compress from 'koa-compress';
import conditionalGet from 'koa-conditional-get';
import type { Environment } from '../../money.ts';
import { routeNotFound } from '../errors.ts';

const own = (name: string) => () => readFile(new URL(name, import.meta.url));
const generated = (name: string) => () => readFile(new URL(`../../../generated/${name}`, import.meta.url));
const ofSwaggerUi = (name: string) => () => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));

/** Pages are sent compressed, and not again while they are unchanged. Most tags are of what is not compressed: weak. */
const AS_DOCUMENTS = [
  compress(),
  conditionalGet(),
  etag({ weak: true }),
  async (ctx: Context, next: Next): Promise<void> => {
    await next();
    ctx.set('Cache-Control', 'no-cache'); // asked for again each time
  },
];

/** Adds the pages of one environment's host. `docs` has no prefix; `api` has that of the API. */
export function addPages(docs: Router, api: Router, environment: Environment): void {
  docs.use(['/docs', '/llms.txt'], ...AS_DOCUMENTS);
  api.use('/openapi.json', ...AS_DOCUMENTS);
  serve(api, '/openapi.json', 'json', () => openApiOf(environment));
  serve(docs, '/docs/errors', 'html', () => errorsOf(environment));
  serve(docs, '/llms.txt', 'txt', generated('llms.txt'));
  // With its "Try it out" the page sends requests to its own host, so it is on the one without real money.
  if (environment === 'live') return;
  docs.get('/', (ctx: Context) => {
    ctx.state.route = 'GET /';
    ctx.redirect('/docs/guide/');
  });
  serve(docs, '/docs', 'html', own('reference.html'));
  serve(docs, '/docs/reference.js', 'js', own('reference.js'));
  serve(docs, '/docs/swagger-ui.js', 'js', ofSwaggerUi('swagger-ui-bundle.js'));
  serve(docs, '/docs/swagger-ui.css', 'css', ofSwaggerUi('swagger-ui.css'));
  addGuide(docs);
}

/** The page of errors, with links to the pages that only the sandbox host has. */
async function errorsOf(environment: Environment): Promise<string> {
  const page = String(await generated('errors.html')());
  return environment === 'live' ? page.replace(/<nav>.*<\/nav>/, '') : page;
}

/** The document without the operations that this environment does not have, and on live with the rules of live. */
async function openApiOf(environment: Environment): Promise<string> {
  const text = String(await generated('openapi.json')());
  const document = JSON.parse(text, environment === 'live' ? asOnLive : undefined) as {
    paths: Record<string, Record<string, { 'x-environments'?: readonly Environment[] }>>;
  };
  const paths = Object.entries(document.paths).filter(([, operations]) =>
    Object.values(operations).every((operation) => operation['x-environments']?.includes(environment) ?? true),
  );
  return JSON.stringify({ ...document, paths: Object.fromEntries(paths) });
}

/** For JSON.parse: applies `x-live` of a schema, which has what differs on live. */
function asOnLive(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('x-live' in value)) return value;
  const { 'x-live': differing, ...schema } = value;
  return { ...schema, ...(differing as object) };
}

/**
 * `type`: an extension, whose media type the answer has. Compressed once: who asks for it needs no key, and the OpenAPI
 * document takes twenty milliseconds.
 */
function serve(router: Router, path: string, type: string, load: () => Promise<string | Buffer>): void {
  let loading: Promise<string | Buffer> | undefined;
  let compressing: Promise<Buffer> | undefined;
  router.get(path, async (ctx: Context) => {
    ctx.state.route = `GET ${path}`;
    loading ??= load();
    if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
      compressing ??= loading.then((content) => promisify(gzip)(content));
      ctx.body = await compressing;
      ctx.set('Content-Encoding', 'gzip');
    } else {
      ctx.body = await loading;
    }
    ctx.type = type;
    setPageHeaders(ctx, " 'unsafe-inline'"); // Swagger UI sets `style` attributes
  });
}

/** Where tools/guide/build.ts writes it. */
const GUIDE_FOLDER = new URL('../../../.cache/guide/', import.meta.url);
const GUIDE_PATH = '/docs/guide';

/** No dots but that of the ending, so that no path leads out of the folder. */
const GUIDE_FILE = /^(?:[a-z0-9-]+\/)*[a-zA-Z0-9-]+\.(?:css|html|js|json|png|svg)$/;

/** Scripts, styles, images and requests of this host only; `styles` adds other ones. */
function setPageHeaders(ctx: Context, styles = ''): void {
  ctx.set({
    'Content-Security-Policy':
      `default-src 'none'; script-src 'self'; style-src 'self'${styles}; img-src 'self' data:; connect-src 'self'; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  });
}

/**
 * The pages of the project as a site of static files, which `npm run docs:build`, the image and `npm start` write. Read
 * when they are asked for, because `npm start` builds them while it serves.
 */
function addGuide(docs: Router): void {
  docs.get(/^\/docs\/guide(\/.*)?$/, async (ctx: Context) => {
    ctx.state.route = `GET ${GUIDE_PATH}`;
    // The addresses in the pages are relative.
    if (ctx.path === GUIDE_PATH) return ctx.redirect(`${GUIDE_PATH}/`);
    const name = ctx.path.slice(GUIDE_PATH.length + 1) || 'index.html';
    const content = GUIDE_FILE.test(name) ? await readIfExists(new URL(name, GUIDE_FOLDER)) : null;
    if (content === null) throw routeNotFound(`${ctx.method} ${ctx.path}`);
    ctx.body = content;
    ctx.type = path.extname(name);
    setPageHeaders(ctx);
  });
}

/** Null where there is no such file, also before the guide is built. */
const readIfExists = (file: URL): Promise<Buffer | null> =>
  readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });

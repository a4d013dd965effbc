// What describes the API to people and programs, beside its routes: the OpenAPI document, the reference page that shows
// it, and the page of errors. Files, most of them generated (generated/), served as they are; none is an answer of the
// API, so none has its envelope.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import etag from '@koa/etag';
import type { Router } from '@koa/router';
import type { Context, Next } from 'koa';
import compress from 'koa-compress';
import conditionalGet from 'koa-conditional-get';
import type { Environment } from '../../money.ts';
import { addGuide, setPageHeaders } from './guide.ts';

interface File {
  type: string;
  load: () => Promise<string | Buffer>;
}

interface Operation {
  'x-environments'?: readonly Environment[];
}

const own = (name: string) => () => readFile(new URL(name, import.meta.url));
const generated = (name: string) => () => readFile(new URL(`../../../generated/${name}`, import.meta.url));
const ofSwaggerUi = (name: string) => () => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));

const HTML = 'text/html; charset=utf-8';

/**
 * Pages are sent compressed, and not again while they are unchanged. The tag is of what is not compressed, hence a weak
 * one.
 */
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
  serve(api, '/openapi.json', { type: 'application/json', load: () => openApiOf(environment) });
  serve(docs, '/docs/errors', { type: HTML, load: () => errorsOf(environment) });
  serve(docs, '/llms.txt', { type: 'text/plain; charset=utf-8', load: generated('llms.txt') });
  // With its "Try it out" the page sends requests to its own host, so it is on the one without real money.
  if (environment === 'live') return;
  docs.get('/', (ctx: Context) => {
    ctx.state.route = 'GET /';
    ctx.redirect('/docs/guide/');
  });
  serve(docs, '/docs', { type: HTML, load: own('reference.html') });
  serve(docs, '/docs/reference.js', { type: 'text/javascript', load: own('reference.js') });
  serve(docs, '/docs/swagger-ui.js', { type: 'text/javascript', load: ofSwaggerUi('swagger-ui-bundle.js') });
  serve(docs, '/docs/swagger-ui.css', { type: 'text/css', load: ofSwaggerUi('swagger-ui.css') });
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
    paths: Record<string, Record<string, Operation>>;
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

function serve(router: Router, path: string, file: File): void {
  let loading: Promise<string | Buffer> | undefined;
  router.get(path, async (ctx: Context) => {
    ctx.state.route = `GET ${path}`;
    loading ??= file.load();
    ctx.body = await loading;
    ctx.type = file.type;
    setPageHeaders(ctx, " 'unsafe-inline'"); // Swagger UI sets `style` attributes
  });
}

// Temporal's codec server protocol: POST /decode and /encode with `{"payloads": [...]}` in proto JSON, called by the
// Temporal UI from the browser and by Temporal's command line. Operators only.
import Router from '@koa/router';
import type { PayloadCodec } from '@temporalio/common';
import { type JSONPayload, JSONToPayload, payloadToJSON } from '@temporalio/common/lib/proto-utils.js';
import Koa, { type Context } from 'koa';
import readBody from 'raw-body';
import type { Config } from '../../config.ts';
import { isOutage } from '../../database/errors.ts';
import type { Sql } from '../../database/pool.ts';
import { type HttpListener, listen, withoutForeignHosts } from '../../httpListener.ts';
import type { Log } from '../../telemetry/log.ts';
import { payloadCodec } from '../../temporal/payloadCodec.ts';
import { COOKIE, createSessions } from './session.ts';

/** More than the payloads of a page of a history, which the server limits to 4 MB, in base64. */
const BODY_MAX = '8mb';
const FORM_MAX = '4kb';

interface CodecServerOptions {
  config: Pick<Config, 'temporal' | 'keyring' | 'codec' | 'bindAddress'>;
  sql: Sql;
  log: Log;
}

export async function startCodecServer(options: CodecServerOptions): Promise<HttpListener> {
  const { config, log } = options;
  const app = createCodecApp(options);
  app.on('error', (error: Error) => log.error({ err: error }, 'a request failed'));
  const handle = withoutForeignHosts(config.bindAddress, app.callback());
  return await listen(handle, { port: config.codec.port, host: config.bindAddress });
}

function createCodecApp({ config, sql }: CodecServerOptions): Koa {
  const { payloadKeys, uiUrl } = config.temporal;
  if (payloadKeys === null) throw new Error('The codec server needs TEMPORAL_PAYLOAD_KEYS, as API and worker have it.');
  const codec = payloadCodec(payloadKeys);
  const sessions = createSessions(sql, config.keyring);
  const uiOrigin = uiUrl === '' ? null : new URL(uiUrl).origin;
  const router = new Router();

  router.get('/health', (context) => {
    context.body = { status: 'ok' };
  });
  router.get('/sign-in', (context) => {
    showForm(context);
  });
  router.post('/sign-in', async (context) => {
    const { origin } = context.headers;
    if (origin !== undefined && origin !== ownOrigin(context)) context.throw(403, 'from another site');
    const form = new URLSearchParams(await readBody(context.req, { limit: FORM_MAX, encoding: 'utf8' }));
    const session = await sessions.signIn(form.get('key') ?? '');
    if (session === null) {
      context.status = 401;
      showForm(context, 'This operator key is unknown or revoked.');
      return;
    }
    context.cookies.set(COOKIE, session.value, {
      httpOnly: true,
      sameSite: 'strict',
      maxAge: session.maxAgeMs,
      // The UI is on TLS exactly where this server is: browsers do not call one without TLS from a page with it.
      secure: uiUrl.startsWith('https:'),
      signed: false,
    });
    context.redirect(uiUrl || '/health');
  });

  const convert = (path: string, work: PayloadCodec['encode']): void => {
    router.options(path, (context) => {
      context.status = 204;
    });
    router.post(path, async (context) => {
      const { authorization = '', origin } = context.headers;
      if (origin !== undefined && origin !== uiOrigin) context.throw(403, 'from another site than TEMPORAL_UI_URL');
      if (!context.is('application/json')) context.throw(415, 'send application/json');
      const isOperator = await sessions.isOperator({ authorization, cookie: context.cookies.get(COOKIE) ?? '' });
      if (!isOperator)
        context.throw(401, `sign in at ${ownOrigin(context)}/sign-in, or send an operator key as bearer token`);
      const payloads = parse(context, await readBody(context.req, { limit: BODY_MAX, encoding: 'utf8' }));
      const converted = await work(payloads).catch((error: Error) => context.throw(400, error.message));
      context.body = { payloads: converted.map(payloadToJSON) };
    });
  };
  convert('/encode', (payloads) => codec.encode(payloads));
  convert('/decode', (payloads) => codec.decode(payloads));

  const app = new Koa();
  app.proxy = true; // the proxy with TLS in front of it sends the scheme and the host
  app.use(async (context, next) => {
    if (uiOrigin !== null) allow(context, uiOrigin);
    try {
      await next();
    } catch (error) {
      answerFailure(context, error);
    }
  });
  app.use(router.routes()).use(router.allowedMethods());
  return app;
}

/** Not Koa's `origin`, which is the caller's. */
const ownOrigin = ({ protocol, host }: Context): string => `${protocol}://${host}`;

/** Lets pages of this origin call with the cookie. */
function allow(context: Context, origin: string): void {
  context.vary('Origin');
  context.set({
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Allow-Headers': 'authorization, content-type, x-namespace',
    'Access-Control-Allow-Methods': 'POST, OPTIONS',
  });
}

function answerFailure(context: Context, error: unknown): void {
  const { status = isOutage(error) ? 503 : 500, message } = error as Error & { status?: number };
  context.status = status;
  context.body = { error: status < 500 ? message : 'the request failed: see the log of the codec server' };
  if (status >= 500) context.app.emit('error', error, context);
}

function parse(context: Context, text: string) {
  try {
    const { payloads } = JSON.parse(text) as { payloads: JSONPayload[] };
    return payloads.map(JSONToPayload);
  } catch {
    return context.throw(400, 'not {"payloads": [...]} in proto JSON');
  }
}

function showForm(context: Context, problem = ''): void {
  context.type = 'html';
  context.set({ 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'", 'Cache-Control': 'no-store' });
  context.body = `<!doctype html>
<title>Manilla: sign in</title>
<h1>Sign in</h1>
<p>The Temporal UI then shows flows decrypted in this browser, for 12 hours. ${problem}</p>
<form method="post"><input name="key" type="password" aria-label="Operator key" required autofocus>
<button>Sign in</button></form>
`;
}

// The server span of a request, around all other middleware. Used only when tracing is enabled (docs/traces.md).
import type { Context, Next } from 'koa';
import type { Environment } from '../../money.ts';
import { inSpan } from '../../telemetry/tracing.ts';

/**
 * Starts a new trace for each request. A `traceparent` sent by the caller becomes a link and not the parent: callers
 * are untrusted, and could otherwise control sampling and add spans to other traces.
 */
export function trace(environment: Environment) {
  return async (ctx: Context, next: Next): Promise<void> => {
    const caller = ctx.get('traceparent');
    const start = { kind: 'server', root: true, links: caller === '' ? [] : [caller] } as const;
    await inSpan(ctx.method, start, async (span) => {
      await next();
      const { route, requestId, resource, errorCode } = ctx.state;
      if (route !== undefined) span.rename(route);
      span.set({
        'http.request.method': ctx.method,
        'http.route': route?.slice(route.indexOf(' ') + 1),
        'http.response.status_code': ctx.status,
        'manilla.environment': environment,
        'manilla.request_id': requestId,
        'manilla.resource': resource,
        'manilla.code': errorCode,
      });
      if (ctx.status >= 500) span.fail(errorCode);
    });
  };
}

// The Host of a request: which environment it names, and whether an environment answers it.
import type { IncomingMessage } from 'node:http';
import type { Context, Next } from 'koa';
import type { Config } from '../../config.ts';
import { isForeignHost } from '../../httpListener.ts';
import type { Environment } from '../../money.ts';
import { ApiError } from '../errors.ts';

/** Probes of load balancers and of Kubernetes name an address. */
const HEALTH_PATH = '/v1/health';

/** In lower case, without the port of http or https, which some clients add; empty: none was sent. */
const hostOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string =>
  (headers.host ?? '').toLowerCase().replace(/:(80|443)$/, '');

/** The environment whose configured host the request names; null: neither. */
export function environmentOfHost(request: IncomingMessage, hosts: Config['hosts']): Environment | null {
  const host = hostOf(request);
  if (host === '') return null;
  if (host === hosts.test) return 'test';
  return host === hosts.live ? 'live' : null;
}

/**
 * Throws ROUTE_NOT_FOUND where a host is configured for the environment and the request names another one, or none, and
 * where none is, on loopback, for the name of another site. The host of the payment pages and the one that the sandbox
 * bank calls are its own too.
 */
export function requireHost({ hosts, checkout, sandboxRail, bindAddress }: Config, environment: Environment) {
  const urls = [checkout.origins[environment], ...(environment === 'test' ? [sandboxRail.callbackUrl] : [])];
  const own = new Set([hosts[environment], ...urls.map((url) => URL.parse(url)?.host)]);
  const isRefused = (ctx: Context): boolean =>
    hosts[environment] === '' ? isForeignHost(ctx.req.headers.host, bindAddress) : ctx.path !== HEALTH_PATH;
  return (ctx: Context, next: Next): Promise<void> => {
    const host = hostOf(ctx.req);
    if (!own.has(host) && isRefused(ctx)) {
      throw new ApiError('ROUTE_NOT_FOUND', { resource: 'host', id: host.slice(0, 200) });
    }
    return next();
  };
}

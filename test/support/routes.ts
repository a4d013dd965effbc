// All routes of the service as a table for tests, so that common properties are tested on every route, including new
// ones.
import type { Route } from '../../src/api/route.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { type IdKind, newUuid, publicId } from '../../src/ids.ts';

/** The kind of `:id`, by the first segment of the path. */
export const KIND_OF_SEGMENT: Readonly<Record<string, IdKind>> = {
  wallets: 'wallet',
  payments: 'payment',
  transfers: 'transfer',
  holds: 'hold',
  withdrawals: 'withdrawal',
  refunds: 'refund',
  payouts: 'payout',
  events: 'event',
  'webhook-endpoints': 'webhookEndpoint',
  'review-cases': 'reviewCase',
  'split-templates': 'splitTemplate',
  simulations: 'payment',
  'api-keys': 'apiKey',
  transactions: 'transaction',
};

const OTHER_PARAMETERS: Readonly<Record<string, string>> = {
  rail: 'sandbox',
  contract: publicId('organisation', newUuid()),
  accountNumber: '0123456789',
  reference: 'nothing',
  sessionId: 'nothing',
  month: '2026-01',
};

/** The kind of the path's `:id`; null when the path has none. */
export function kindOf(route: Route): IdKind | null {
  if (!route.path.includes(':id')) return null;
  const segment = route.path.split('/')[1] ?? '';
  const kind = KIND_OF_SEGMENT[segment];
  if (kind === undefined) throw new Error(`add the id kind of /${segment} to test/support/routes.ts`);
  return kind;
}

/** A path of this route with well-formed ids; `id` defaults to a new, unknown one. */
export function pathOf(route: Route, id?: string): string {
  const kind = kindOf(route);
  return route.path.replaceAll(/:([A-Za-z]+)/g, (_match, name: string) => {
    if (name === 'id' && kind !== null) return id ?? publicId(kind, newUuid());
    const value = OTHER_PARAMETERS[name];
    if (value === undefined) throw new Error(`add a value of :${name} to test/support/routes.ts`);
    return value;
  });
}

/** Whether the route returns a paginated list. */
export const isList = ({ query }: Route): boolean =>
  query !== undefined && 'limit' in ((query as unknown as { shape?: object }).shape ?? {});

export interface RouteCase {
  /** For test titles. */
  name: string;
  method: string;
  route: Route;
}

/** The routes of the test host that pass the filter. */
export function routeCases(filter: (route: Route) => boolean = () => true): RouteCase[] {
  return ROUTES.filter(filter).map((route) => {
    const method = route.method.toUpperCase();
    return { name: `${method} ${route.path}`, method, route };
  });
}

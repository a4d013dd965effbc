// The texts of the OpenAPI document that are not about one operation.
import type { Route } from '../../src/api/route.ts';

export const INTRODUCTION = `
A JSON API over HTTP for wallets and payments in naira, over a double-entry ledger.

- **Amounts** are whole kobo, as JSON numbers (100 kobo are one naira). **Times** are ISO 8601 in UTC.
- **Two environments**, each with its own host, keys and data: the sandbox (\`svc_test_…\`), which moves no real money,
  and live (\`svc_live_…\`). A key works on its own host only.
- **Idempotency**: a POST takes an \`Idempotency-Key\`, one that moves money needs it. A repeat returns the stored
  response.
- **Errors** have one shape. Branch on \`error.code\`, whose meaning never changes; every error links to its page
  (\`Link: …; rel="help"\`). \`meta.requestId\` names the request in the log.
- **Lists** are newest first. Send \`pagination.nextCursor\` as \`cursor\` until \`hasMore\` is false.
- **Additions** (fields, values, event types, error codes) may come at any time: ignore what you do not know.
`.trim();

export const SECURITY_SCHEMES = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key: `Authorization: Bearer svc_test_…`. The scopes that an operation needs are listed with it.',
  },
};

export const TAGS = [
  { name: 'Wallets', description: 'Balances of customers, and of the platform itself (the settlement wallet)' },
  { name: 'Transfers', description: 'Money between two wallets' },
  { name: 'Payments', description: 'Money collected by bank transfer, or paid from a wallet' },
  { name: 'Refunds', description: 'Money of a payment, sent back' },
  { name: 'Withdrawals', description: 'Money from a wallet to a bank account' },
  { name: 'Payouts', description: 'Up to a thousand disbursements in one request' },
  { name: 'Webhook endpoints', description: 'The URLs that receive events' },
  { name: 'Events', description: 'What happened, and its deliveries' },
  { name: 'Webhooks', description: 'The requests that an endpoint receives' },
  { name: 'Review cases', description: 'Received money that waits for a decision' },
  { name: 'API keys', description: 'Keys of this environment, made by a key; the log of requests' },
  { name: 'Banks and fees', description: 'Look-ups before money is sent' },
  { name: 'Search', description: 'Resources of every kind' },
  { name: 'Service', description: 'Health, and the callbacks of bank rails' },
  { name: 'Sandbox', description: 'Control of the sandbox bank, on the sandbox host only' },
];

/** The tag of a route: the first pattern that its path matches. */
const TAG_OF_PATH: [pattern: RegExp, tag: string][] = [
  [/^\/simulations/, 'Sandbox'],
  [/\/transfer|^\/holds/, 'Transfers'],
  [/\/withdraw/, 'Withdrawals'],
  [/\/refund/, 'Refunds'],
  [/\/pay$/, 'Payments'],
  [/^\/(payments|split-templates)/, 'Payments'],
  [/^\/payouts/, 'Payouts'],
  [/^\/(wallets|transactions)/, 'Wallets'],
  [/^\/webhook-endpoints/, 'Webhook endpoints'],
  [/^\/review-cases/, 'Review cases'],
  [/^\/events/, 'Events'],
  [/^\/(api-keys|request-logs)/, 'API keys'],
  [/^\/(banks|bank-accounts|fees)/, 'Banks and fees'],
  [/^\/search$/, 'Search'],
  [/^\/(health|rails)/, 'Service'],
];

export function tagOf(route: Route): string {
  const tag = TAG_OF_PATH.find(([pattern]) => pattern.test(route.path))?.[1];
  if (tag === undefined) throw new Error(`add the tag of ${route.path} to tools/openapi/texts.ts`);
  return tag;
}

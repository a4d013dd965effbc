// The rules for a webhook's URL (docs/webhooks.md). They are applied when an endpoint is registered, so that its owner
// hears of a mistake, and again before each attempt, because an older row or another configuration may break them.
import type { Config } from '../config.ts';
import type { Environment } from '../money.ts';
import { type AddressPolicy, addressLiteral, isReachable } from './addressGuard.ts';

export interface DestinationRules {
  httpsOnly: boolean;
  addresses: AddressPolicy;
}

/** Live goes to the public internet over TLS. The sandbox also takes http and, where it is so configured, private addresses. */
export function destinationRules(environment: Environment, webhooks: Config['webhooks']): DestinationRules {
  if (environment === 'live') return { httpsOnly: true, addresses: 'public_only' };
  return { httpsOnly: false, addresses: webhooks.allowPrivateInSandbox ? 'private_too' : 'public_only' };
}

export type DestinationProblem = 'https_required' | 'userinfo' | 'fragment' | 'port' | 'private_address';

/** Below this, only 80 and 443 are web servers; the rest are mail, name, login and file servers. */
const UNPRIVILEGED_PORT_MIN = 1024;

/** What is wrong with an absolute http or https URL as a destination; null when nothing is. */
export function destinationProblem(url: URL, rules: DestinationRules): DestinationProblem | null {
  if (rules.httpsOnly && url.protocol !== 'https:') return 'https_required';
  if (url.username !== '' || url.password !== '') return 'userinfo';
  if (url.hash !== '') return 'fragment';
  const port = url.port === '' ? 443 : Number(url.port);
  if (port !== 80 && port !== 443 && port < UNPRIVILEGED_PORT_MIN) return 'port';
  return isPrivateHost(url.hostname, rules.addresses) ? 'private_address' : null;
}

/** What can be told of a host without asking a name server; the connection's own guard judges the rest. */
function isPrivateHost(hostname: string, policy: AddressPolicy): boolean {
  const literal = addressLiteral(hostname);
  return literal === null ? policy === 'public_only' && isLocalName(hostname) : !isReachable(literal, policy);
}

/** RFC 6761: these names are this very machine, whatever a name server says. */
const isLocalName = (hostname: string): boolean => /(^|\.)localhost\.?$/.test(hostname);

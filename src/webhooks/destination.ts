// The rules for a webhook's URL (docs/webhooks.md). They are checked when an endpoint is registered, so that its owner
// gets an error, and again before each attempt, because an older row or a changed configuration may violate them.
import type { Config } from '../config.ts';
import type { Environment } from '../money.ts';
import { type AddressPolicy, addressLiteral, isReachable, isReachableName } from './addressGuard.ts';

export interface DestinationRules {
  httpsOnly: boolean;
  addresses: AddressPolicy;
}

/** Live: public internet over TLS only. The sandbox also allows http and, where configured, private addresses. */
export function destinationRules(environment: Environment, webhooks: Config['webhooks']): DestinationRules {
  if (environment === 'live') return { httpsOnly: true, addresses: 'public_only' };
  return { httpsOnly: false, addresses: webhooks.allowPrivateInSandbox ? 'private_too' : 'public_only' };
}

export type DestinationProblem = 'https_required' | 'userinfo' | 'fragment' | 'port' | 'private_address';

/** Below this only 80 and 443 are allowed: the other privileged ports are mail, DNS, login and file servers. */
const UNPRIVILEGED_PORT_MIN = 1024;

/** Returns the first rule that an absolute http or https URL violates; null when it is allowed. */
export function destinationProblem(url: URL, rules: DestinationRules): DestinationProblem | null {
  if (rules.httpsOnly && url.protocol !== 'https:') return 'https_required';
  if (url.username !== '' || url.password !== '') return 'userinfo';
  if (url.hash !== '') return 'fragment';
  const port = url.port === '' ? 443 : Number(url.port);
  if (port !== 80 && port !== 443 && port < UNPRIVILEGED_PORT_MIN) return 'port';
  return isPrivateHost(url.hostname, rules.addresses) ? 'private_address' : null;
}

/** Checks what is known of a host without DNS; the connection's guard (addressGuard.ts) checks resolved addresses. */
function isPrivateHost(hostname: string, policy: AddressPolicy): boolean {
  const literal = addressLiteral(hostname);
  return literal === null ? !isReachableName(hostname, policy) : !isReachable(literal, policy);
}

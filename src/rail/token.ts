// The access token of a contract: one in a process, shared by all calls.
import { shared } from '../concurrency/shared.ts';
import { RailUnavailableError } from './errors.ts';

/** A token is renewed this long before it expires, so that none expires on its way. */
const RENEWED_BEFORE_MS = 60_000;

export interface Token {
  text: string;
  lifeMs: number;
}

export function createTokenSource(login: () => Promise<Token>, now = () => performance.now()) {
  let current: { text: string; expiresAt: number } | null = null;

  const renew = shared(async () => {
    const startedAt = now();
    const { text, lifeMs } = await login();
    current = { text, expiresAt: startedAt + lifeMs };
    return text;
  });

  return {
    /** Returns a token, and logs in first if there is none. Concurrent callers share one login. */
    async get(): Promise<string> {
      if (current !== null && now() < current.expiresAt - RENEWED_BEFORE_MS) return current.text;
      try {
        return await renew();
      } catch (error) {
        // The old one is still good: the provider's login may be down for a while.
        if (error instanceof RailUnavailableError && current !== null && now() < current.expiresAt) return current.text;
        throw error;
      }
    },
    /**
     * Called when the provider refused this token, so that the next call logs in. Of many calls that were refused with
     * one token, only the first has an effect.
     */
    forget(token: string): void {
      if (current?.text === token) current = null;
    },
  };
}

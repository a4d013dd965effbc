// Holds back the 429 of an overloaded process (docs/decisions/0023-keys-limits-and-request-log.md). A refusal costs a
// quarter of the time of a transfer, so callers that send again at once, without regard to Retry-After, would slow down
// those that are served. A caller waits for its answer, so an answer that is held limits how often each of its
// connections can ask.
import { setTimeout as pause } from 'node:timers/promises';
import type { Context, Next } from 'koa';

const HELD_MS = { from: 500, to: 1_000 };
/** Each holds a connection and some kilobytes. Further refusals are sent at once. */
const HELD_MAX = 4_096;

/** Marks the answer of a request as one to hold. */
export function holdRefusal({ state }: Context): void {
  state.isHeld = true;
}

/** The middleware around all others: what they log and measure of a request does not include the time it is held. */
export function holdRefusals({ heldMax = HELD_MAX } = {}) {
  let held = 0;
  return async (ctx: Context, next: Next): Promise<void> => {
    await next();
    if (ctx.state.isHeld === true && held < heldMax) {
      held += 1;
      // At different times, so that callers that were refused together do not come back together.
      await pause(HELD_MS.from + Math.random() * (HELD_MS.to - HELD_MS.from));
      held -= 1;
    }
    // The rest of a body is not read. While a refusal was held, most bodies have come.
    if (ctx.state.errorCode !== undefined && !ctx.req.complete) ctx.set('Connection', 'close');
  };
}

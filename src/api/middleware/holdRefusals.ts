// Holds back refusals (docs/decisions/0030-overload-and-strangers.md). A refusal costs a quarter of the time of a
// transfer, so callers that send again at once would slow down those that are served. A caller waits for its answer, so
// an answer that is held limits how often each of its connections can ask. Held are the refusals of an overloaded
// process, and those of strangers (without a valid API key) while there are many of them.
import { setTimeout as pause } from 'node:timers/promises';
import type { Context, Next } from 'koa';

/** At most; half of it at least. */
const HELD_MS = 1_000;
/** Where this takes longer: so few are sent a second that they leave most of the process to those that are served. */
const MS_PER_HELD = 2;
/** Each holds a connection and some kilobytes. Of further ones the connection is closed. */
const HELD_MAX = 4_096;
/** Refusals of strangers that are sent at once in each second: of honest callers with a wrong key there are few. */
const STRANGERS_PER_SECOND = 100;

/** Marks the answer of a request as one to hold. */
export function holdRefusal({ state }: Context): void {
  state.isHeld = true;
}

/** Whether the answer is one to hold. */
export const isHeld = ({ state }: Context): boolean => state.isHeld === true;

/** The middleware around all others: what they log and measure of a request does not include the time it is held. */
export function holdRefusals({ heldMax = HELD_MAX, strangersPerSecond = STRANGERS_PER_SECOND } = {}) {
  let held = 0;
  let second = 0;
  let strangers = 0;
  const isOneStrangerTooMany = ({ state, status }: Context): boolean => {
    if (state.caller !== undefined || state.errorCode === undefined || status >= 500) return false;
    const now = Math.floor(performance.now() / 1_000);
    if (now !== second) [second, strangers] = [now, 0];
    strangers += 1;
    return strangers > strangersPerSecond;
  };
  return async (ctx: Context, next: Next): Promise<void> => {
    await next();
    // The rest of a body is not read. While a refusal was held, most bodies have come.
    let closes = false;
    if (isHeld(ctx) || isOneStrangerTooMany(ctx)) {
      closes = held >= heldMax;
      if (!closes) {
        held += 1;
        // At different times, so that callers that were refused together do not come back together.
        await pause(((1 + Math.random()) / 2) * Math.max(HELD_MS, MS_PER_HELD * held));
        held -= 1;
      }
    }
    if (closes || (ctx.state.errorCode !== undefined && !ctx.req.complete)) ctx.set('Connection', 'close');
  };
}

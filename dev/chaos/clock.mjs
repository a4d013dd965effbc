// Shifts the clock of a Node process by CLOCK_OFF_MS milliseconds: `node --import dev/chaos/clock.mjs …`. Only `Date`
// is shifted, as a wrong wall clock is: timers and `performance.now()` use the monotonic clock, which is right.

/**
 * Shifts `Date`. Returns the function that restores it.
 *
 * @param {number} offMs
 */
export function shiftClock(offMs) {
  const RightDate = globalThis.Date;
  const now = () => RightDate.now() + offMs;
  globalThis.Date = new Proxy(RightDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RightDate(now()).toString(),
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  });
  return () => {
    globalThis.Date = RightDate;
  };
}

const setting = Number(process.env.CLOCK_OFF_MS);
if (Number.isFinite(setting) && setting !== 0) shiftClock(setting);

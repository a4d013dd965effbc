// How long a call of the rail, a step of a flow and the end of a worker process may take. The limits are in one place because each
// is derived from the one before it. Pure, so that workflows may use it.

/**
 * The longest that one call of a rail may take. An adapter may set a shorter limit (`BankRail.callLimitMs`), and never a longer
 * one. What takes longer is unknown until a callback or a query reports it. As long as a request leaves to the rail
 * (`REQUEST_RAIL_MAX_MS`), so that a rail is given the same time everywhere.
 */
export const RAIL_CALL_MAX_MS = 7_000;

/** The most calls that one step makes one after the other: name enquiry, status and send, for an item of a payout. */
const RAIL_CALLS_OF_A_STEP = 3;

/** For reading and posting, with the repeats of a contended row or a lost connection. */
const POSTING_ROOM_MS = 9_000;

/**
 * The start-to-close timeout of a step that moves money: no attempt is given up while one of its calls may be in flight. 30 s,
 * because the server notices the death of a worker that ran a step only when this time is up.
 */
export const STEP_MAX_MS = RAIL_CALLS_OF_A_STEP * RAIL_CALL_MAX_MS + POSTING_ROOM_MS;

/**
 * What an attempt keeps back of its start-to-close timeout. The server counts from the moment at which it handed out the task,
 * the worker from the moment at which it began, and the answer has to arrive in time.
 */
export const ATTEMPT_RESERVE_MS = 2_000;

/** A request is answered with 504 or 503 after this (contract, section 7). */
export const REQUEST_MAX_MS = 8_000;

/** The rail calls of a request end by then, so that there is time left to record the failure and answer. */
export const REQUEST_RAIL_MAX_MS = REQUEST_MAX_MS - 1_000;

/**
 * A process ends this long after SIGTERM, whatever it does then: container platforms kill it after 30 s. What was cut off goes on in
 * another process, or in this one after its restart.
 */
export const PROCESS_STOP_MAX_MS = 24_000;

/** What a worker had begun when it was told to end may finish, a call of the rail with its posting included; then it is cancelled. */
export const WORKER_GRACE_MS = RAIL_CALL_MAX_MS + 1_000;

/** What does not end after it was cancelled is left behind, with time for the connections to be closed. */
export const WORKER_FORCE_MS = WORKER_GRACE_MS + 6_000;

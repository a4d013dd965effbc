// Time limits of a rail call, of a step of a flow and of the shutdown of a worker process. They are in one file because
// each is derived from the one before it. Pure, so that workflows may import it.

/**
 * The timeout of one rail call. An adapter may set a shorter limit (`calls.limitMs` of its capabilities), never a
 * longer one. The outcome of a call that times out is unknown until a callback or a status query reports it. Equal to
 * `REQUEST_RAIL_MAX_MS`, so that a rail has the same time in requests and in activities.
 */
export const RAIL_CALL_MAX_MS = 7_000;

/** The most rail calls that one step makes in sequence: name enquiry, status and send, for an item of a payout. */
const RAIL_CALLS_OF_A_STEP = 3;

/** Time for reading and posting, including the retries after a lock conflict or a lost connection. */
const POSTING_ROOM_MS = 9_000;

/**
 * The start-to-close timeout of a step that moves money. It covers all rail calls of the step, so an attempt never
 * times out while one of them may be in flight. 30 s in total, and no more, because the Temporal server detects the
 * death of a worker that was running a step only when this timeout expires.
 */
export const STEP_MAX_MS = RAIL_CALLS_OF_A_STEP * RAIL_CALL_MAX_MS + POSTING_ROOM_MS;

/**
 * Subtracted from the start-to-close timeout to get the deadline of an attempt. The server measures from when it hands
 * out the task, the worker from when it starts the attempt, and the result must reach the server before the timeout.
 */
export const ATTEMPT_RESERVE_MS = 2_000;

/** The timeout of a request, which is then answered with 504 or 503 (contract, section 7). */
export const REQUEST_MAX_MS = 8_000;

/** The deadline for the rail calls of a request, which leaves time to record the failure and to send the response. */
export const REQUEST_RAIL_MAX_MS = REQUEST_MAX_MS - 1_000;

/**
 * A process exits this long after SIGTERM, even if work is unfinished: container platforms kill it after 30 s. Work
 * that was cut off continues in another process, or in this one after its restart.
 */
export const PROCESS_STOP_MAX_MS = 24_000;

/** Grace period of a worker shutdown: long enough for a rail call with its posting. Activities are then cancelled. */
export const WORKER_GRACE_MS = RAIL_CALL_MAX_MS + 1_000;

/** Activities that ignore the cancellation are abandoned after this, which leaves time to close the connections. */
export const WORKER_FORCE_MS = WORKER_GRACE_MS + 6_000;

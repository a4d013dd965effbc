// Judges a chaos run: every definite answer is still true, once; every event arrived; the bank's book and ours agree;
// the ledger is whole; nothing is left unfinished. Pure functions over the facts.
import { isDeepStrictEqual } from 'node:util';
import type { Answer, BankCredit, BankReference, Facts, Operation, OperationKind } from './facts.ts';

/** The checks in the order in which their results are reported: the first is the closest to what a caller sees. */
const CHECKS: ((facts: Facts) => string[])[] = [
  unanswered,
  falseAnswers,
  wrongTimes,
  changedReplays,
  notOnce,
  missingEvents,
  bankDifferences,
  ({ violations }) => violations.map((violation) => `an invariant is violated: ${violation}`),
  ({ findings }) => findings.map((finding) => `ledger verify finds ${JSON.stringify(finding)}`),
  ({ unfinished }) => unfinished.map(({ what, id }) => `${what} ${id} has not ended`),
];

/** Everything that is wrong, the first first; empty when nothing is. */
export const judge = (facts: Facts): string[] => CHECKS.flatMap((check) => check(facts));

const nameOf = ({ number, kind, path, key }: Operation): string =>
  `operation ${number} (${kind}, ${path}${key === null ? '' : `, key ${key}`})`;

export const isAccepted = ({ answer }: Operation): boolean => answer !== null && answer.status < 300;

/** Requests that were sent again and again without a definite answer, although everything had healed. */
function unanswered({ operations }: Pick<Facts, 'operations'>): string[] {
  return operations
    .filter(({ answer }) => answer === null)
    .map((one) => `${nameOf(one)} has no definite answer after ${one.attempts} attempts`);
}

/** What may follow the status of an accepted resource; without an entry, only the same status. */
const MAY_BECOME: Partial<Record<OperationKind, Record<string, readonly string[]>>> = {
  payment: {
    pending: ['pending', 'partial', 'settled', 'expired', 'cancelled', 'partially_refunded', 'refunded'],
  },
  pay: { settled: ['settled', 'partially_refunded', 'refunded'] },
  withdrawal: { processing: ['completed', 'failed', 'returned'] },
  refund: { processing: ['completed', 'failed'], completed: ['completed'] },
  hold: { held: ['held', 'released', 'cancelled'] },
  payout: { processing: ['completed', 'partially_completed', 'failed'] },
  review: {
    // A return may fail or come back, and the bank may take back what is held.
    returning: ['returned_to_sender', 'open', 'credited', 'unclaimed', 'recalled'],
    unclaimed: ['unclaimed', 'credited', 'returning', 'returned_to_sender', 'open', 'recalled'],
  },
  wallet: { active: ['active', 'frozen'] },
};

/** The fields that change in the life of a resource; all others keep the value of the first response. */
const LIVING = new Set([
  'status',
  'kycStatus',
  'phone',
  'amountInReview',
  'amountOwed',
  'amountReceived',
  'amountRecalled',
  'settledAt',
  'completedAt',
  'splits',
  'amountHeld',
  'amountReleased',
  'amountCancelled',
  'endedAt',
  'heldBalance',
  'failureCode',
  'failureReason',
  'failureDetail',
  'sessionId',
  'successCount',
  'failureCount',
  'items',
]);

/** Of a review case also these, which a later decision or a recall changes. */
const LIVING_OF_CASE = new Set([
  'actions',
  'amount',
  'fee',
  'walletId',
  'resolvedAt',
  'returnFailure',
  'returnFailureCode',
  'returnFailureReason',
]);

const lives = (kind: OperationKind, field: string): boolean =>
  LIVING.has(field) || (kind === 'review' && LIVING_OF_CASE.has(field));

/** Accepted answers whose resource is gone or different. */
function falseAnswers({ operations }: Pick<Facts, 'operations'>): string[] {
  return operations.filter(isAccepted).flatMap((one) => {
    const accepted = one.answer?.body ?? {};
    if (one.now === null) return [`${nameOf(one)} was accepted as ${accepted.id}, which does not exist`];
    const { now } = one;
    const changed = Object.keys(accepted).filter(
      (field) => !lives(one.kind, field) && !isDeepStrictEqual(accepted[field], now[field]),
    );
    const from = accepted.status ?? '';
    const to = now.status ?? '';
    const mayBecome = MAY_BECOME[one.kind]?.[from] ?? [from];
    return [
      ...changed.map((field) => {
        const [was, is] = [accepted[field], now[field]].map((value) => JSON.stringify(value));
        return `${nameOf(one)} got ${field} ${was}; ${accepted.id} has ${is}`;
      }),
      ...(mayBecome.includes(to) ? [] : [`${nameOf(one)} got ${from || 'no status'}; ${accepted.id} is ${to}`]),
    ];
  });
}

/** A caller's clock is that of this machine; a response is dated when its request began. */
const CLOCK_SLACK_MS = 1_000;

/**
 * Accepted resources that are dated before their request was sent or after it was answered, or expire at another time.
 */
function wrongTimes({ operations }: Pick<Facts, 'operations'>): string[] {
  return operations.filter(isAccepted).flatMap((one) => {
    const { createdAt, expiresAt } = one.answer?.body ?? {};
    if (one.kind !== 'wallet' && one.key === null) return [];
    if (['pay', 'review', 'hold'].includes(one.kind) || createdAt === undefined) return [];
    const created = Date.parse(createdAt);
    const isDated = created >= one.sentAt - CLOCK_SLACK_MS && created <= one.answeredAt + CLOCK_SLACK_MS;
    const { expiresIn } = one.body as { expiresIn?: number };
    const openMs = expiresAt === undefined ? undefined : Date.parse(expiresAt) - created;
    return [
      ...(isDated ? [] : [`${nameOf(one)}, sent at ${new Date(one.sentAt).toISOString()}, got createdAt ${createdAt}`]),
      ...(expiresIn === undefined || openMs === expiresIn * 1000
        ? []
        : [`${nameOf(one)} got a payment that is open for ${openMs} ms, not for ${expiresIn} s`]),
    ];
  });
}

/** A body without the bounds of a request that is not valid: of a time they are counted from the check, now. */
const lasting = ({ status, body }: Answer): unknown =>
  status === 400
    ? JSON.parse(JSON.stringify(body, (name, value) => (name === 'constraint' ? undefined : value)))
    : body;

/** Whether a request is not valid by a time that has passed: it hides what else was wrong with it before. */
const isTooLate = ({ status, body }: Answer): boolean =>
  status === 400 && JSON.stringify(body).includes('"message":"must be in the future"');

/** Requests whose repetition with the same key got another answer, or was carried out again. */
function changedReplays({ operations }: Pick<Facts, 'operations'>): string[] {
  return operations.flatMap((one) => {
    const { answer, replay } = one;
    if (answer === null || one.key === null) return [];
    if (replay === null) return [`${nameOf(one)} has no answer to its replay`];
    const isSame = isTooLate(replay)
      ? replay.body.code === answer.body.code
      : isDeepStrictEqual(lasting(replay), lasting(answer));
    if (replay.status !== answer.status || !isSame) {
      const [was, is] = [answer, replay].map(({ status, body }) => `${status} ${JSON.stringify(body)}`);
      return [`${nameOf(one)} was answered ${was} in ${one.attempts} attempts, and its replay ${is}`];
    }
    // A request that is not valid leaves its key unused.
    if (replay.replayed || answer.status === 400) return [];
    return [`the replay of ${nameOf(one)} was carried out as a new request`];
  });
}

/** The kinds whose accepted answers and stored resources must be the same set. */
const CREATING: readonly OperationKind[] = ['wallet', 'payment', 'transfer', 'withdrawal', 'refund', 'payout'];

/** The kinds of which several requests may be about one resource. */
const DECIDED_AGAIN: ReadonlySet<OperationKind> = new Set(['kyc', 'review', 'hold']);

/** The cancellation of what a payment held makes a refund, which its answer does not name. */
const refundsUnnamed = ({ kind, path, answer }: Operation): boolean =>
  kind === 'hold' && path.endsWith('/cancel') && typeof answer?.body.paymentId === 'string';

/** Resources that no response has named, and responses that name the same resource twice. */
function notOnce({ operations, resources }: Pick<Facts, 'operations' | 'resources'>): string[] {
  const known = new Map<string, Operation>();
  const twice: string[] = [];
  for (const one of operations.filter(isAccepted)) {
    // A `pay` names a payment that another operation created; two that were accepted paid it twice.
    const name = `${one.kind} ${one.answer?.body.id ?? one.answer?.body.sessionId}`;
    const first = known.get(name);
    if (first !== undefined && !DECIDED_AGAIN.has(one.kind))
      twice.push(`${nameOf(first)} and ${nameOf(one)} are both ${name}`);
    known.set(name, one);
  }
  const unknown = resources
    .filter(({ kind }) => CREATING.includes(kind))
    // A payment whose account could not be opened is stored as failed, and its request is sent again.
    .filter(({ kind, status }) => !(kind === 'payment' && status === 'failed'))
    .filter(({ kind, id }) => !known.has(`${kind} ${id}`));
  const unnamed = operations.filter(isAccepted).filter(refundsUnnamed).length;
  const refunds = unknown.filter(({ kind }) => kind === 'refund').slice(unnamed);
  const wrong = [...unknown.filter(({ kind }) => kind !== 'refund'), ...refunds];
  return [
    ...twice,
    ...wrong.map(({ kind, id, status }) => `${kind} ${id} (${status}) exists, and no response named it`),
  ];
}

/** Events that did not arrive, and deliveries that are not those of an event. */
function missingEvents({ events, received }: Pick<Facts, 'events' | 'received'>): string[] {
  const bodies = new Map<string, Set<string>>();
  for (const { id, body } of received) bodies.set(id, (bodies.get(id) ?? new Set()).add(body));
  const ids = new Set(events.map(({ id }) => id));
  return [
    ...events.filter(({ id }) => !bodies.has(id)).map(({ id, type }) => `the event ${id} (${type}) never arrived`),
    ...[...bodies.keys()].filter((id) => !ids.has(id)).map((id) => `the event ${id} arrived, and does not exist`),
    ...[...bodies].filter(([, each]) => each.size > 1).map(([id]) => `the event ${id} arrived with different bodies`),
    ...received
      .filter(({ isSigned }) => !isSigned)
      .map(({ id }) => `the event ${id} arrived without a valid signature`),
  ];
}

/**
 * Our status of a transfer, by the bank's; a returned withdrawal is `returned`, and other returned transfers failed.
 */
const OWN_STATUS: Record<string, readonly string[]> = {
  completed: ['completed'],
  failed: ['failed'],
  returned: ['returned', 'failed'],
};

/** References and credits that the bank's book and ours do not have once and with the same sums. */
function bankDifferences({ references, credits }: Pick<Facts, 'references' | 'credits'>): string[] {
  return [...references.flatMap(wrongReference), ...credits.flatMap(wrongCredit)];
}

function wrongReference({ reference, own, bank, sent, returned }: BankReference): string[] {
  const wrong: string[] = [];
  if (own === null) return [`the bank has a transfer ${reference} that no resource asked for`];
  if (sent.length > 1) wrong.push(`the bank paid ${reference} ${sent.length} times`);
  if (returned.length > 1) wrong.push(`the bank returned ${reference} ${returned.length} times`);
  if (returned.length > sent.length) wrong.push(`the bank returned ${reference}, which it has not paid`);
  for (const amount of [...sent, ...returned]) {
    if (amount !== own.amount)
      wrong.push(`the bank's line of ${reference} is ${amount}; the resource is ${own.amount}`);
  }
  // A transfer that never reached the bank has failed.
  const expected = OWN_STATUS[bank?.status ?? 'failed'] ?? [];
  if (!expected.includes(own.status)) {
    wrong.push(`${reference} is ${own.status}, and ${bank?.status ?? 'unknown'} at the bank`);
  }
  const kept = sent.length - returned.length;
  if (kept !== (own.status === 'completed' ? 1 : 0)) {
    wrong.push(`${reference} is ${own.status}, and the bank's book has ${sent.length} out and ${returned.length} back`);
  }
  return wrong;
}

function wrongCredit({ sessionId, amount, recalled, own, posted, takenBack }: BankCredit): string[] {
  const wrong: string[] = [];
  if (own.length !== 1) wrong.push(`the bank's credit ${sessionId} is ${own.length} times in our book`);
  else if (own[0] !== amount) wrong.push(`the bank's credit ${sessionId} is ${amount}; in our book it is ${own[0]}`);
  // What was taken back before it was posted is not posted at all.
  const isPosted = posted === 1 || (recalled && posted === 0);
  if (!isPosted) wrong.push(`the bank's credit ${sessionId} is posted ${posted} times`);
  if (takenBack !== (recalled ? posted : 0))
    wrong.push(
      `the bank's credit ${sessionId} is ${recalled ? '' : 'not '}taken back; in our book, ${takenBack} times`,
    );
  return wrong;
}

// An attacker with the service's DATABASE_URL and nothing else: it can read every table, call every function that the
// service calls, and post as the service does. It cannot say who decided. So nothing that only an operator may decide
// happens, no operator is named in the audit log, and no wallet or key has more rights than before. What it can do,
// post as a customer's request does, is in SECURITY.md.
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { buildBatch, POST, postValues } from '../../src/ledger/batch.ts';
import { walletAccount } from '../../src/ledger/chart.ts';
import { setFees } from '../../src/ledger/feeSchedules.ts';
import { Journal } from '../../src/ledger/journal.ts';
import type { Decision, Movement, Transaction } from '../../src/ledger/movement.ts';
import type { Posting } from '../../src/ledger/postings.ts';
import type { Book } from '../../src/money.ts';
import { postAdjustment } from '../../src/resources/adjustments/movements.ts';
import { findAdjustment } from '../../src/resources/adjustments/queries.ts';
import { requestAdjustment } from '../../src/resources/adjustments/request.ts';
import { insertApiKey } from '../../src/resources/apiKeys.ts';
import { nextVersion } from '../../src/resources/bookTable.ts';
import { feeSweepMovement } from '../../src/resources/feeSweeps/movements.ts';
import { creditToSuspense } from '../../src/resources/inboundCredits/movements.ts';
import { makeApiKey } from '../../src/resources/keys.ts';
import { createOrganisation } from '../../src/resources/organisations.ts';
import { proofOfCode as proofOf } from '../../src/resources/proofs.ts';
import { pauseRail, resumeRail } from '../../src/resources/rails/pauses.ts';
import {
  closeCase,
  creditCase,
  holdReturn,
  moveCaseToUnclaimed,
  openReviewCase,
} from '../../src/resources/reviewCases/movements.ts';
import { findReviewCase, type ReviewCase } from '../../src/resources/reviewCases/queries.ts';
import { setPolicy } from '../../src/resources/wallets/limits.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { codeOf, OPERATORS } from '../support/operators.ts';
import { newCredit } from '../support/rows.ts';

let api: TestApi;
let sql: Sql;
let journal: Journal;
let book: Book;
let walletId: Uuid;
let frozen: Uuid;

beforeAll(async () => {
  api = await startTestApi();
  sql = connect(api.dependencies.config.databaseUrl, { connectionsMax: 2 });
  journal = new Journal(sql);
  book = { organisationId: api.organisation.organisationId, environment: 'test' };
  walletId = requireUuid('wallet', await api.createWallet());
  frozen = requireUuid('wallet', await api.createWallet());
  const act = { proof: OPERATORS.ada.proof, reason: 'reported stolen' };
  await setWalletStatus(api.sql, book.organisationId, frozen, 'frozen', act);
  await pauseRail(api.sql, 'live', act);
});

afterAll(async () => {
  expect((await verifyBooks(api.sql)).findings).toEqual([]);
  await sql.end();
  await api.close();
});

/** Everything that a decision could change. */
const state = async (): Promise<unknown> => {
  const [found] = await api.sql`
    SELECT (SELECT jsonb_agg(a ORDER BY id) FROM ledger.accounts a WHERE code LIKE 'wallet:%') AS accounts,
           (SELECT count(*) FROM ledger.postings) AS postings,
           (SELECT jsonb_agg(k ORDER BY id) FROM api_keys k) AS keys,
           (SELECT jsonb_agg(o ORDER BY id) FROM operators o) AS operators,
           (SELECT jsonb_agg(c ORDER BY id) FROM review_cases c) AS review_cases,
           (SELECT jsonb_agg(c ORDER BY id) FROM inbound_credits c) AS inbound_credits,
           (SELECT jsonb_agg(a ORDER BY id) FROM adjustments a) AS adjustments,
           (SELECT jsonb_agg(p ORDER BY id) FROM payments p) AS payments,
           (SELECT jsonb_agg(a ORDER BY id) FROM audit_log a) AS audit_log,
           (SELECT jsonb_agg(p) FROM operator_proposals p) AS proposals,
           (SELECT jsonb_agg(p) FROM rail_pauses p) AS pauses`;
  return found;
};

/** What an attempt, which may throw or be refused, has changed. */
async function effectOf(attempt: () => Promise<unknown>): Promise<unknown> {
  const before = await state();
  const answer = await attempt().catch((error: Error) => error);
  const after = await state();
  // A statement that the database cannot read says nothing of what it would refuse.
  if (['42601', '42883'].includes((answer as { code?: string } | undefined)?.code ?? '')) throw answer;
  return isDeepStrictEqual(before, after) && (answer as { outcome?: string } | undefined)?.outcome !== 'posted'
    ? 'none'
    : after;
}

/** Proofs that it can make of what it reads: the stored hashes, as if they were the secrets or their digests. */
async function forgedProofs(): Promise<string[]> {
  const [found] = await sql<{ operator: Buffer; apiKey: Buffer }[]>`
    SELECT (SELECT key_hash FROM operators LIMIT 1) AS operator, (SELECT hash FROM api_keys LIMIT 1) AS api_key`.catch(
    () => [{ operator: Buffer.alloc(32), apiKey: Buffer.alloc(32) }],
  );
  const hex = (hash: Buffer | undefined): string => hash?.toString('hex') ?? '';
  return [
    'owner',
    'worker',
    '',
    `key:${hex(found?.operator)}`,
    `api:${hex(found?.apiKey)}`,
    `code:${'0'.repeat(64)}`,
    OPERATORS.ada.id,
  ];
}

describe('statements', () => {
  const NIL = "'00000000-0000-0000-0000-000000000000'";
  test.each([
    "INSERT INTO operator_codes (hash, operator_id, subject, action, expires_at) SELECT '\\x00', id, 'x', 'fail', now() + interval '1 hour' FROM operators",
    'UPDATE operator_codes SET expires_at = now()',
    'SELECT subject FROM operator_codes',
    `INSERT INTO audit_log (organisation_id, operator, action, subject) VALUES (${NIL}, 'ada', 'wallet.unfreeze', 'x')`,
    'DELETE FROM audit_log',
    `INSERT INTO operator_proposals (organisation_id, environment, subject, decision, operator_id) SELECT ${NIL}, 'test', 'x', 'resolve:fail x', id FROM operators`,
    'UPDATE decision_limits SET credit_by_two_from = 9007199254740991',
    "UPDATE operators SET scopes = '{admin}'",
    "UPDATE operators SET key_hash = '\\x00'",
    "UPDATE api_keys SET scopes = '{wallet,payment,transfer,payout,review,webhook,keys}'",
    "UPDATE api_keys SET hash = '\\x00'",
    'UPDATE api_keys SET revoked_at = NULL, expires_at = NULL',
    `INSERT INTO api_keys (organisation_id, environment, id, hash, hint, scopes) VALUES (${NIL}, 'live', gen_random_uuid(), '\\x00', 'x', '{transfer}')`,
    'UPDATE idempotency_keys SET status_code = 500',
    `INSERT INTO rail_pauses (organisation_id, environment, operator, reason) VALUES (${NIL}, 'test', 'ada', 'x')`,
    'DELETE FROM rail_pauses',
    `INSERT INTO organisations (organisation_id, name) VALUES (gen_random_uuid(), 'x')`,
    `INSERT INTO wallets (organisation_id, environment, id, kind, email, created_at) VALUES (${NIL}, 'test', gen_random_uuid(), 'settlement', 'x', now())`,
    "UPDATE wallets SET kyc_status = 'tier1'",
    `INSERT INTO ledger.accounts (organisation_id, environment, code, class, balance) VALUES (${NIL}, 'test', 'wallet:x', 'customer', 0)`,
    "UPDATE ledger.accounts SET status = 'active'",
    `SELECT ledger.audit_decisions(${NIL}, 'test', '{}', '{}', NULL)`,
    "SELECT ledger.write_adjustments('00000000-0000-0000-0000-000000000000', 'test', '[]')",
  ])('%s is refused', async (statement) => {
    expect(
      await effectOf(async () => {
        await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
      }),
    ).toBe('none');
  });

  test('outcomes of requests of the last seven days stay', async () => {
    await api.sql`
      INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, attempt, status_code, response)
      VALUES (${book.organisationId}, 'test', 'young', '\\x00', gen_random_uuid(), 201, '{}')`;
    await expect(sql`DELETE FROM idempotency_keys`).rejects.toMatchObject({ code: '42501' });
    await expect(sql`DELETE FROM idempotency_keys WHERE key = 'young'`).rejects.toMatchObject({ code: '42501' });
  });
});

test('no function takes a proof that is made of what can be read', async () => {
  const { organisationId } = book;
  const made = makeApiKey(organisationId, {
    environment: 'live',
    scopes: ['transfer'],
    name: null,
    expiresAt: null,
    allowedIps: null,
    rateLimit: null,
  });
  for (const proof of await forgedProofs()) {
    const act = { proof, reason: 'x' };
    expect(await effectOf(() => setWalletStatus(sql, organisationId, frozen, 'active', act))).toBe('none');
    expect(await effectOf(() => setWalletStatus(sql, organisationId, walletId, 'closed', act))).toBe('none');
    expect(await effectOf(() => insertApiKey(sql, made.row, proof))).toBe('none');
    expect(await effectOf(() => createOrganisation(sql, { name: 'x', email: 'x@test.example', proof }))).toBe('none');
    expect(await effectOf(() => resumeRail(sql, 'live', act))).toBe('none');
    expect(await effectOf(() => setPolicy(sql, { organisationId, environment: 'test' }, { tier1: {} }, act))).toBe(
      'none',
    );
    expect(
      await effectOf(() =>
        setFees(sql, { organisationId, environment: 'test' }, { rules: [] }, { ...act, effectiveFrom: null }),
      ),
    ).toBe('none');
    expect(
      await effectOf(
        () => sql`
          SELECT ledger.record_kyc(${organisationId}, 'test', ${proof}, ${walletId}, 'x', ARRAY['x'], NULL, 'tier1', NULL, NULL)`,
      ),
    ).toBe('none');
    expect(
      await effectOf(() => sql`SELECT ledger.audit(${organisationId}, 'test', ${proof}, 'wallet.unfreeze', 'x', 'x')`),
    ).toBe('none');
    expect(
      await effectOf(() => sql`SELECT ledger.end_api_key(${organisationId}, ${proof}, id, 'x') FROM api_keys`),
    ).toBe('none');
    expect(
      await effectOf(
        () => sql`SELECT ledger.create_operator_codes(${proof}, 'fail', ARRAY['x'], ARRAY['00'], interval '1 hour')`,
      ),
    ).toBe('none');
    expect(
      await effectOf(
        () => sql`SELECT ledger.record_decision(${organisationId}, 'test', ${proof}, 'x', 'resolve:fail', 'x', 'x')`,
      ),
    ).toBe('none');
  }
});

describe('movements that only a decision makes', () => {
  let adjustmentId: Uuid;
  let reviewCase: ReviewCase;

  const PLATFORM_ACCOUNTS = [
    'expense:rail',
    'income:fees',
    'loss:operations',
    'receivable:bank',
    'suspense:unmatched',
    'unclaimed:credits',
  ];

  const transaction = (postings: Posting[], change: Partial<Transaction> = {}): Transaction => ({
    id: newUuid(),
    key: `attack/${newUuid()}`,
    kind: 'transfer',
    resource: 'svc_x_trf',
    effectiveAt: new Date(),
    rules: 'credit_exempt',
    postings,
    ...change,
  });

  beforeAll(async () => {
    const postings = [{ debit: 'expense:rail', credit: walletAccount(walletId), amount: 5_000 }];
    const grounds = { reason: 'a refund', evidence: 'ticket 1', proof: OPERATORS.ada.proof };
    const requested = await requestAdjustment(api.dependencies, book, postings, grounds);
    if (requested.outcome === 'refused') throw new Error(requested.message);
    adjustmentId = requested.id;
    const held = newCredit({ amount: 20_000_000, senderAccountNumber: '0123456789', senderBankCode: '058' });
    await journal.post({ book, rows: { inbound_credits: [held] } });
    await journal.post(creditToSuspense(book, held, 'unknown_account', null));
    const [row] = await api.sql<{ id: Uuid }[]>`SELECT id FROM review_cases WHERE inbound_credit_id = ${held.id}`;
    reviewCase = (await findReviewCase(api.sql, book, row?.id ?? '')) as ReviewCase;
    await api.sql`
      INSERT INTO ledger.accounts (organisation_id, environment, code, class)
      SELECT ${book.organisationId}, 'test', code, ledger.class_of(code) FROM unnest(${PLATFORM_ACCOUNTS}::text[]) AS a (code) ON CONFLICT DO NOTHING`;
    const [payer, payee] = [await api.createWallet(undefined, { balance: 100_000 }), await api.createWallet()];
    const paid = await api.test.money(`/wallets/${payer}/transfer`, { destinationWalletId: payee, amount: 10_000 });
    if (paid.status !== 201) throw new Error('no transfer was made');
  });

  const attempts: [string, () => Promise<Movement>][] = [
    ['an adjustment is approved', async () => approve()],
    [
      'an adjustment is posted that nobody requested',
      async () => {
        const row = { ...(await adjustment()), id: newUuid() };
        return {
          ...(await approve()),
          rows: {
            adjustments: [
              { ...row, version: 1, status: 'posted', decidedBy: OPERATORS.ngozi.id, decidedAt: new Date() },
            ],
          },
        };
      },
    ],
    [
      'a transaction says that it is an adjustment',
      () => Promise.resolve({ book, transaction: transaction(gift('expense:rail'), { kind: 'adjustment' }) }),
    ],
    ...['invented:account', ...PLATFORM_ACCOUNTS].map((account): [string, () => Promise<Movement>] => [
      `a wallet gets money of ${account}`,
      () => Promise.resolve({ book, transaction: transaction(gift(account)) }),
    ]),
    ...['income:fees', 'suspense:unmatched'].flatMap((from) =>
      ['reserve:svc_x_pyt', 'in_transit:returns', 'suspense:payment:svc_x_pay', 'held:wallet:svc_x_wlt'].map(
        (to): [string, () => Promise<Movement>] => [
          `${to} gets money of ${from}, for a wallet to get it from there`,
          () => Promise.resolve({ book, transaction: transaction([{ debit: from, credit: to, amount: 1 }]) }),
        ],
      ),
    ),
    ['a case names another wallet, which one person could credit then', () => change({ walletId })],
    ['a case holds more money', () => change({ amount: reviewCase.amount + 1 })],
    [
      'a case holds money of suspense that did not come for it',
      () => open({ inboundCreditId: reviewCase.inboundCreditId }),
    ],
    [
      'a case holds money of suspense as that of a payment',
      () => open({ reason: 'partial_expired', paymentId: newUuid() }),
    ],
    ['a case is credited to a wallet', () => Promise.resolve(creditCase(book, reviewCase, walletId))],
    [
      'the money of a case is returned',
      () => Promise.resolve(holdReturn(book, reviewCase, { rail: 'sandbox', attempts: 1 })),
    ],
    ['the money of a case is given up', () => Promise.resolve(moveCaseToUnclaimed(book, reviewCase))],
    ['a case is closed', () => Promise.resolve(closeCase(book, reviewCase))],
    [
      'the money of a case that nobody opened is returned',
      () =>
        Promise.resolve(
          holdReturn(book, { ...reviewCase, id: newUuid(), version: 0 }, { rail: 'sandbox', attempts: 1 }),
        ),
    ],
    [
      'the fee of a transfer that is over goes to a wallet with what was paid',
      async () => {
        const [paid] = await api.sql<{ key: string; debit: string; fee: number }[]>`
          SELECT t.key, payee.code AS debit, f.amount AS fee
          FROM ledger.transactions t
          JOIN ledger.postings p ON p.transaction_id = t.id JOIN ledger.accounts payee ON payee.id = p.credit_account_id
          JOIN ledger.postings f ON f.transaction_id = t.id JOIN ledger.accounts i ON i.id = f.credit_account_id
          WHERE t.kind = 'transfer' AND payee.code LIKE 'wallet:%' AND i.code = 'income:fees'`;
        const postings = [
          { debit: paid?.debit ?? '', credit: walletAccount(walletId), amount: 10_000 },
          { debit: 'income:fees', credit: walletAccount(walletId), amount: paid?.fee ?? 0 },
        ];
        return { book, transaction: transaction(postings, { resolves: paid?.key ?? '' }) };
      },
    ],
    [
      'fee income is swept',
      () =>
        Promise.resolve({
          ...feeSweepMovement(book, { id: newUuid(), key: 'x', walletId, amount: 1, createdAt: new Date() }, ''),
        }),
    ],
  ];

  const change = (changes: Partial<ReviewCase>): Promise<Movement> =>
    Promise.resolve({ book, rows: { review_cases: [nextVersion(reviewCase, changes)] } });
  const open = (about: Partial<ReviewCase>): Promise<Movement> => {
    const opened = openReviewCase({
      reason: 'unknown_account',
      amount: 1,
      accountCode: 'suspense:unmatched',
      ...about,
    });
    return Promise.resolve({ book, rows: { review_cases: [opened] } });
  };
  const gift = (debit: string): Posting[] => [{ debit, credit: walletAccount(walletId), amount: 1 }];
  const adjustment = async () => {
    const row = await findAdjustment(api.sql, book, adjustmentId);
    if (row === null) throw new Error('there is no such adjustment');
    return row;
  };
  const approve = async (): Promise<Movement> =>
    postAdjustment(book, await adjustment(), decision('', 'adjustment.approve', publicId('adjustment', adjustmentId)));
  const decision = (proof: string, action: string, subject: string): Decision => ({
    proof,
    action,
    subject,
    about: 'x',
    reason: 'x',
  });

  const ACTIONS = [
    'adjustment.approve',
    'review:credit',
    'review:close',
    'review:return_to_sender',
    'review:move_to_unclaimed',
    'fees.sweep',
  ];

  /** As a statement of the attacker's own, which need not say of an account that the platform has it. */
  const postUndeclared = async (movement: Movement): Promise<unknown> => {
    const batch = { ...buildBatch([movement]), platformAccounts: '{}' };
    const [answer] = await sql.unsafe(POST, postValues(book, batch));
    return answer ?? { outcome: 'posted' };
  };

  test.each(attempts)('%s: refused without a decision, and with a forged one', async (_name, make) => {
    const { decision: _none, ...movement } = await make();
    expect(await effectOf(() => journal.post(movement))).toBe('none');
    expect(await effectOf(() => postUndeclared(movement))).toBe('none');
    const subject = movement.transaction?.resource ?? publicId('reviewCase', reviewCase.id);
    for (const proof of await forgedProofs()) {
      for (const action of ACTIONS) {
        expect(await effectOf(() => journal.post({ ...movement, decision: decision(proof, action, subject) }))).toBe(
          'none',
        );
      }
    }
  });

  // An operator who has the login too is still one person, with one scope.
  test('an operator with the login decides nothing that needs another operator', async () => {
    const { proof } = OPERATORS.ada;
    const subject = publicId('adjustment', adjustmentId);
    const row = await adjustment();
    const by = (action: string) => ({ proof, action, subject, reason: 'x' });
    const answer = await journal.post(postAdjustment(book, row, by('adjustment.approve')));
    expect(answer).toMatchObject({ code: 'DECISION_REFUSED', detail: { because: 'same_person' } });
    const other = { ...row, postings: row.postings.map((posting) => ({ ...posting, amount: 1_000_000 })) };
    const ngozi = { ...by('adjustment.approve'), proof: OPERATORS.ngozi.proof };
    expect(await effectOf(() => journal.post(postAdjustment(book, other, ngozi)))).toBe('none');
    // A decision opens the way for what it is about, and for nothing beside it.
    for (const action of ['resolve:retry', 'review:credit', 'adjustment.approve', 'fees.sweep']) {
      const given = transaction(gift('expense:rail'), { kind: 'adjustment', resource: subject });
      expect(await effectOf(() => journal.post({ book, transaction: given, decision: by(action) }))).toBe('none');
    }
    const caseId = publicId('reviewCase', reviewCase.id);
    const wallet = publicId('wallet', walletId);
    for (let time = 0; time < 2; time += 1) {
      const code = await codeOf(sql, 'ada', caseId, `credit ${wallet}`);
      const credited = {
        proof: proofOf(code),
        action: 'review:credit',
        subject: caseId,
        wallet,
        about: 'x',
        reason: 'x',
      };
      const proposed = await journal.post({ ...creditCase(book, reviewCase, walletId), decision: credited });
      expect(proposed).toMatchObject({ code: 'DECISION_PROPOSED' });
    }
    expect(await findReviewCase(api.sql, book, reviewCase.id)).toMatchObject({ status: 'open' });
  });
});

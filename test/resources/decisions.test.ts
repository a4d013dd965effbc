// The proof of who decides: codes and keys of operators, the scope that each decision needs, and two distinct operators
// where a rule says so. The functions of the database decide; nothing that a caller says of operators is believed.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect, hasRow, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import { newApiKey } from '../../src/resources/keys.ts';
import {
  createBatchCode,
  createOperatorCodes,
  insertOperator,
  recordDecision,
  replaceOperatorKey,
  revokeOperator,
} from '../../src/resources/operators.ts';
import { hashOfProof, OWNER_PROOF, type Proof, proofOfOperator } from '../../src/resources/proofs.ts';
import type { OperatorScope, SentDecision } from '../../src/workflows/operators/messages.ts';
import { codeOf, OPERATORS, type OperatorName } from '../support/operators.ts';
import { createDatabase, ownerOf, type TestDatabase } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

let database: TestDatabase;
let sql: Sql;
let owner: Sql;
const book = { organisationId: newUuid(), environment: 'test' as const };

beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url, { connectionsMax: 4 });
  owner = connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });
});

afterAll(async () => {
  await sql.end();
  await owner.end();
  await database.drop();
});

const ACCEPTED = { outcome: 'accepted' };
const proposedBy = (name: OperatorName) => ({ outcome: 'proposed', operator: OPERATORS[name].publicId });
const refused = (words: string) => ({ outcome: 'refused', message: expect.stringContaining(words) });

const decide = (sent: Partial<SentDecision> & Pick<SentDecision, 'code' | 'subject'>) =>
  recordDecision(sql, book, { action: 'resolve:fail', about: 'one request', reason: 'the bank said so', ...sent });

const newSubject = (): string => publicId('withdrawal', newUuid());

async function createOperator(
  name: string,
  scopes: OperatorScope[],
): Promise<{ id: Uuid; proof: Proof; hash: Buffer }> {
  const [id, proof] = [newUuid(), proofOfOperator(newApiKey('operator'))];
  const hash = hashOfProof(proof);
  await insertOperator(owner, { id, name, scopes, key: { hash, hint: 'hint' } }, OWNER_PROOF);
  return { id, proof, hash };
}

const auditOf = async (subject: string) =>
  (
    await owner<{ line: string }[]>`
    SELECT operator || ' ' || action || ': ' || reason AS line FROM audit_log WHERE subject = ${subject} ORDER BY id`
  ).map(({ line }) => line);

describe('a code', () => {
  test('proves its operator, also when the decision is sent again, and however it is typed; one entry is written', async () => {
    const subject = newSubject();
    const code = await codeOf(sql, 'ngozi', subject, 'retry');
    for (const text of [code, code, ` ${code.replaceAll('-', '').toUpperCase()}`]) {
      expect(await decide({ code: text, subject, action: 'resolve:retry' })).toEqual(ACCEPTED);
    }
    expect(await auditOf(subject)).toEqual(['ngozi resolve:retry: the bank said so']);
  });

  test.each<[string, string, Partial<SentDecision>]>([
    ['for another workflow', 'not valid', { subject: 'svc_other_wth' }],
    ['for another action', 'another decision', { action: 'resolve:complete' }],
    ['that nobody made', 'not valid', { code: 'guess' }],
  ])('%s is refused', async (_name, words, change) => {
    const subject = newSubject();
    const code = await codeOf(sql, 'ngozi', subject, 'fail');
    expect(await recordDecision(sql, book, decision({ code, subject, ...change }))).toEqual(refused(words));
    expect(await auditOf(subject)).toEqual([]);
  });

  test('that was used about one request is refused about the next one', async () => {
    const subject = newSubject();
    const code = await codeOf(sql, 'ngozi', subject, 'retry');
    expect(await decide({ code, subject, action: 'resolve:retry' })).toEqual(ACCEPTED);
    expect(await decide({ code, subject, action: 'resolve:retry', about: 'the next' })).toEqual(
      refused('used already'),
    );
  });

  test('ends after ten minutes, with its key and with its operator', async () => {
    const efe = await createOperator('efe', ['support']);
    const subject = newSubject();
    const make = async () => (await createOperatorCodes(sql, efe, 'retry', [subject])).codes.get(subject) as string;
    const sent = async (code: string) => decide({ code, subject, action: 'resolve:retry' });
    const late = await make();
    await owner`UPDATE operator_codes SET expires_at = now() - interval '1 millisecond' WHERE operator_id = ${efe.id}`;
    expect(await sent(late)).toEqual(refused('not valid'));
    const rotated = await make();
    const next = proofOfOperator(newApiKey('operator'));
    await replaceOperatorKey(owner, 'efe', { hash: hashOfProof(next), hint: 'hint' }, OWNER_PROOF);
    expect(await sent(rotated)).toEqual(refused('not valid'));
    await expect(make()).rejects.toThrow('not the key of an operator');
    efe.proof = next;
    const revoked = await make();
    await revokeOperator(owner, 'efe', null, OWNER_PROOF);
    expect(await sent(revoked)).toEqual(refused('not valid'));
  });

  test('is not made with a key that is replaced meanwhile', async () => {
    const uche = await createOperator('uche', ['support']);
    let made: Promise<unknown> = Promise.resolve();
    await owner.begin(async (transaction) => {
      await transaction`UPDATE operators SET key_hash = sha256('next'), key_since = now() WHERE id = ${uche.id}`;
      made = createOperatorCodes(sql, uche, 'retry', [newSubject()]).catch((error: Error) => error.message);
      await waitFor('its maker to wait for the change', () =>
        hasRow(transaction`
          SELECT FROM pg_locks
          WHERE locktype = 'transactionid' AND transactionid = pg_current_xact_id()::xid AND NOT granted`),
      );
    });
    expect(await made).toContain('not the key of an operator');
  });

  test('and a proposal made with it end with the key, also after its use', async () => {
    const ife = await createOperator('ife', ['finance']);
    const subject = newSubject();
    const { codes } = await createOperatorCodes(sql, ife, 'fail', [subject]);
    const sent = { code: codes.get(subject) as string, subject };
    expect(await decide(sent)).toMatchObject({ outcome: 'proposed' });
    const next = proofOfOperator(newApiKey('operator'));
    await replaceOperatorKey(owner, 'ife', { hash: hashOfProof(next), hint: 'hint' }, OWNER_PROOF);
    expect(await decide(sent)).toEqual(refused('not valid'));
    expect(await decide({ code: await codeOf(sql, 'ngozi', subject, 'fail'), subject })).toEqual(proposedBy('ngozi'));
  });

  test('of a batch is valid for the retries of this batch, in every flow, and for nothing else', async () => {
    const code = await createBatchCode(sql, OPERATORS.ngozi, {
      batch: 'one',
      query: "FlowState = 'x'",
      reason: 'back',
    });
    const retry = { code, action: 'resolve:retry', about: 'batch:one' };
    for (const subject of [newSubject(), newSubject()]) expect(await decide({ ...retry, subject })).toEqual(ACCEPTED);
    for (const change of [{ action: 'resolve:dismiss' }, { about: 'batch:two' }, { about: 'a request' }]) {
      expect(await decide({ ...retry, subject: newSubject(), ...change })).toEqual(refused('not valid'));
    }
    const subject = newSubject();
    const other = await codeOf(sql, 'ngozi', subject, 'retry');
    expect(await decide({ ...retry, code: other, subject: newSubject(), about: subject })).toEqual(
      refused('not valid'),
    );
  });
});

const decision = (sent: Partial<SentDecision> & Pick<SentDecision, 'code' | 'subject'>): SentDecision => ({
  action: 'resolve:fail',
  about: 'one request',
  reason: 'the bank said so',
  ...sent,
});

test.each<[string, OperatorScope, 'one' | 'two']>([
  ['retry', 'support', 'one'],
  ['dismiss', 'finance', 'one'],
  ['set_aside', 'finance', 'one'],
  ['complete', 'finance', 'two'],
  ['fail', 'finance', 'two'],
  ['return', 'finance', 'two'],
])('%s needs the scope %s, and %s of them', async (action, scope, people) => {
  const others = (['view', 'support', 'finance', 'admin'] as const).filter((one) => one !== scope);
  const [able, unable] = [
    await createOperator(`${action.replace('_', '-')}-able`, [scope]),
    await createOperator(`${action.replace('_', '-')}-unable`, others),
  ];
  const subject = newSubject();
  const by = async (operator: { proof: Proof }) =>
    decide({
      code: (await createOperatorCodes(sql, operator, action, [subject])).codes.get(subject) as string,
      subject,
      action: `resolve:${action}`,
    });
  expect(await by(unable)).toEqual(refused('another scope'));
  const proposal = { outcome: 'proposed', operator: publicId('operator', able.id) };
  expect(await by(able)).toEqual(people === 'one' ? ACCEPTED : proposal);
});

describe('a decision by two', () => {
  const by = async (name: OperatorName, subject: string, change: Partial<SentDecision> = {}) => {
    const sent = { action: 'resolve:fail', ...change };
    const code = await codeOf(sql, name, subject, sent.action.slice('resolve:'.length));
    return await decide({ code, subject, ...sent });
  };

  test('takes effect when another operator sends the same', async () => {
    const subject = newSubject();
    expect(await by('ada', subject)).toEqual(proposedBy('ada'));
    expect(await by('ada', subject)).toEqual(proposedBy('ada'));
    expect(await by('ngozi', subject, { action: 'resolve:complete' })).toEqual(proposedBy('ngozi'));
    expect(await by('ada', subject)).toEqual(proposedBy('ada'));
    expect(await by('tunde', subject, { reason: 'I called them' })).toEqual(ACCEPTED);
    expect(await auditOf(subject)).toEqual([]); // the movement writes the entries
  });

  test('does not, where the proposal is about an earlier request, older than a day, or of a revoked operator', async () => {
    const subject = newSubject();
    await by('ada', subject, { about: 'an earlier request' });
    expect(await by('ngozi', subject)).toEqual(proposedBy('ngozi'));
    await owner`UPDATE operator_proposals SET created_at = now() - interval '25 hours' WHERE subject = ${subject}`;
    expect(await by('ada', subject)).toEqual(proposedBy('ada'));
    await owner`UPDATE operators SET revoked_at = now() WHERE id = ${OPERATORS.ada.id}`;
    expect(await by('ngozi', subject)).toEqual(proposedBy('ngozi'));
    await owner`UPDATE operators SET revoked_at = NULL WHERE id = ${OPERATORS.ada.id}`;
  });

  test('is not made by a code that was used, also when another client sends it', async () => {
    const subject = newSubject();
    const [first, second] = [await codeOf(sql, 'ada', subject, 'fail'), await codeOf(sql, 'ngozi', subject, 'fail')];
    await decide({ code: first, subject });
    expect(await decide({ code: second, subject })).toEqual(ACCEPTED);
    await owner`UPDATE operator_proposals SET posted = 'what it took effect with' WHERE subject = ${subject}`;
    for (const code of [first, second, first, second]) {
      expect(await decide({ code, subject })).toMatchObject({ outcome: 'proposed' });
    }
  });
});

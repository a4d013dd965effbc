// The operators of every test database: three persons with all scopes, whose keys and codes the tests use.

import { connect, type Sql } from '../../src/database/pool.ts';
import { publicId } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { hashApiKey } from '../../src/resources/keys.ts';
import { createOperatorCodes, type Operator, recordDecision } from '../../src/resources/operators.ts';
import { proofOfOperator } from '../../src/resources/proofs.ts';
import { OPERATOR_SCOPES, type SentDecision } from '../../src/workflows/operators/messages.ts';

export interface TestOperator extends Operator {
  id: string;
  publicId: string;
  key: string;
}

const keyOf = (name: string): string => `svc_operator_${name.repeat(43).slice(0, 43)}`;

/** The ids are in recorded histories, where a run of digits would look like an account number. */
const operator = (name: string, id: string): TestOperator => ({
  id,
  name,
  publicId: publicId('operator', id),
  scopes: [...OPERATOR_SCOPES],
  key: keyOf(name),
  proof: proofOfOperator(keyOf(name)),
});

export const OPERATORS = {
  ada: operator('ada', '019ae0f3-5c1e-7a52-9d3b-6f1c2e8b4a71'),
  ngozi: operator('ngozi', '019ae0f4-1b7d-7c38-8e6f-2a9d5c3e7f14'),
  tunde: operator('tunde', '019ae0f5-9e2a-7f61-ab4c-8d1e6b5f3c92'),
};

export type OperatorName = keyof typeof OPERATORS;

/** Creates them in a migrated database, without audit entries. */
export async function createTestOperators(databaseUrl: string): Promise<void> {
  const sql = connect(databaseUrl, { connectionsMax: 1, role: 'owner' });
  try {
    for (const { id, name, key } of Object.values(OPERATORS)) {
      await sql`
        INSERT INTO operators (id, name, scopes, key_hash, hint)
        VALUES (${id}, ${name}, ${[...OPERATOR_SCOPES]}, ${hashApiKey(key)}, ${key.slice(-4)})`;
    }
  } finally {
    await sql.end();
  }
}

/** A code with which this operator makes a decision in a workflow. */
export async function codeOf(sql: Sql, name: OperatorName, workflowId: string, action: string): Promise<string> {
  const { codes } = await createOperatorCodes(sql, OPERATORS[name], action, [workflowId]);
  return codes.get(workflowId) as string;
}

/** The message as it is sent to a workflow: with a code for its decision in place of the operator's name. */
export async function withCode<Message extends { operator: string; action?: string; walletId?: string }>(
  sql: Sql,
  workflowId: string,
  { operator: name, ...message }: Message,
): Promise<Omit<Message, 'operator'> & { code: string }> {
  const { action = 'retry', walletId }: { action?: string; walletId?: string } = message;
  const decision = walletId === undefined ? action : `${action} ${walletId}`;
  return { ...message, code: await codeOf(sql, name as OperatorName, workflowId, decision) };
}

/** What a workflow passes on of a decision that two operators have made: proposed by Ada, and sent by Ngozi. */
export async function agreed(sql: Sql, book: Book, subject: string, action: string): Promise<SentDecision> {
  const sent = async (name: OperatorName): Promise<SentDecision> => ({
    code: await codeOf(sql, name, subject, action),
    subject,
    action: `resolve:${action}`,
    about: 'a test',
    reason: 'the bank said so in writing',
  });
  await recordDecision(sql, book, await sent('ada'));
  return await sent('ngozi');
}

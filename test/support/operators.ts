// The operators of every test database: three persons with all scopes, whose keys and codes the tests use.
import { hashApiKey } from '../../src/api/admission/apiKeys.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { publicId } from '../../src/ids.ts';
import { createOperatorCodes, type Operator } from '../../src/resources/operators.ts';
import { OPERATOR_SCOPES } from '../../src/workflows/operators/messages.ts';

export interface TestOperator extends Operator {
  id: string;
  publicId: string;
  key: string;
}

const operator = (name: string, digit: string): TestOperator => {
  const id = `01900000-0000-7000-8000-00000000000${digit}`;
  return { id, name, publicId: publicId('operator', id), key: `svc_operator_${digit.repeat(43)}` };
};

export const OPERATORS = {
  ada: operator('ada', '1'),
  ngozi: operator('ngozi', '2'),
  tunde: operator('tunde', '3'),
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

/** A code with which this operator decides in a workflow. */
export async function codeOf(sql: Sql, name: OperatorName, workflowId: string): Promise<string> {
  const { codes } = await createOperatorCodes(sql, OPERATORS[name].id, [workflowId]);
  return codes.get(workflowId) as string;
}

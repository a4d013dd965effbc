// Who runs a command: the operator whose key is in MANILLA_OPERATOR_KEY, or in the quick start's file. A command that
// writes the audit log, or shows customers' data, signs in first.
import type { Sql } from '../database/pool.ts';
import { createOperatorCodes, findOperatorByKey, hasAdmin, type Operator } from '../resources/operators.ts';
import { OWNER_PROOF, type Proof } from '../resources/proofs.ts';
import type { OperatorScope } from '../workflows/operators/messages.ts';
import { withDatabase } from './command.ts';
import { CommandError } from './failure.ts';
import type { Settings } from './settings.ts';

/** The scope that each command needs. Every operator may `view`. The workflow checks what a code decides. */
export const COMMAND_SCOPES = {
  'organisations create': 'admin',
  'keys create': 'admin',
  'keys rotate': 'admin',
  'keys revoke': 'admin',
  'operators create': 'admin',
  'operators rotate': 'admin',
  'operators revoke': 'admin',
  'operators code': 'view',
  'flows import': 'finance',
  'fees set': 'admin',
  'fees show': 'view',
  'limits set': 'admin',
  'limits show': 'view',
  'limits tier': 'support',
  'wallets show': 'view',
  'wallets freeze': 'support',
  'wallets unfreeze': 'support',
  'wallets close': 'support',
  'rail pause': 'finance',
  'rail resume': 'finance',
  'rail connect': 'admin',
  'rail rotate': 'admin',
  'rail disconnect': 'admin',
  'rail check': 'finance',
  'attention retry': 'support',
  'attention resolve': 'support',
  'webhooks redeliver': 'support',
  'reviews list': 'view',
  'reviews show': 'view',
  'reviews resolve': 'finance',
  'ledger prove': 'finance',
  'ledger close-period': 'finance',
  'ledger sweep-fees': 'finance',
  'reconciliation import': 'finance',
  'wallets write-off': 'finance',
  'wallets debt-paid': 'finance',
  'adjustments request': 'finance',
  'adjustments reverse': 'finance',
  'adjustments approve': 'finance',
  'adjustments reject': 'finance',
  'adjustments list': 'view',
  'adjustments show': 'view',
} as const satisfies Record<string, OperatorScope>;

export type SignedCommand = keyof typeof COMMAND_SCOPES;

/** Returns the operator who runs the command. Throws a CommandError when there is none, or the scope is missing. */
export async function signIn(sql: Sql, { operatorKey }: Settings, command: SignedCommand): Promise<Operator> {
  if (operatorKey === undefined) {
    throw new CommandError(
      `${command} records who acts: set MANILLA_OPERATOR_KEY to your operator key. An admin makes one: npm run cli -- operators create NAME`,
    );
  }
  const operator = await findOperatorByKey(sql, operatorKey);
  if (operator === null) {
    throw new CommandError('This operator key is unknown or revoked. Set MANILLA_OPERATOR_KEY to a valid one.');
  }
  const scope = COMMAND_SCOPES[command];
  if (scope !== 'view' && !operator.scopes.includes(scope)) {
    throw new CommandError(
      `${command} needs the scope ${scope}; ${operator.name} has ${operator.scopes.join(', ') || 'none'}. Ask an operator who has it.`,
    );
  }
  return operator;
}

/** Signs in, and runs `work` with a database connection. */
export const signedIn = <Result>(
  command: SignedCommand,
  work: (sql: Sql, operator: Operator) => Promise<Result>,
): Promise<Result> =>
  withDatabase('application', async (sql, settings) => await work(sql, await signIn(sql, settings, command)));

/** Signs in and makes a code for this decision in this workflow. `decision`: an action, and its wallet if any. */
export const createCode = (
  command: SignedCommand,
  workflowId: string,
  decision: string,
): Promise<{ code: string; expiresAt: Date }> =>
  signedIn(command, async (sql, operator) => {
    const { codes, expiresAt } = await createOperatorCodes(sql, operator, decision, [workflowId]);
    return { code: codes.get(workflowId) as string, expiresAt };
  });

/** As `signedIn`, as the database owner, which is enough to make operators until there is an admin. */
export const signedInAsOwner = <Result>(
  command: SignedCommand,
  work: (sql: Sql, proof: Proof) => Promise<Result>,
): Promise<Result> =>
  withDatabase('owner', async (sql, settings) => {
    const isFirst = settings.operatorKey === undefined && !(await hasAdmin(sql));
    return await work(sql, isFirst ? OWNER_PROOF : (await signIn(sql, settings, command)).proof);
  });

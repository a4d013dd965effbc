// `operators …`: create, list, rotate and revoke operators, and make the code with which one decides in a workflow.
import { newUuid, publicId, type Uuid } from '../ids.ts';
import { newStoredKey } from '../resources/keys.ts';
import { insertOperator, listOperators, replaceOperatorKey, revokeOperator } from '../resources/operators.ts';
import { OPERATOR_SCOPES, type OperatorScope } from '../workflows/operators/messages.ts';
import { addCommand, type Command, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { scopeList } from './options.ts';
import { printResult, printRows, timeText } from './print.ts';
import { createCode, signedInAsOwner } from './signIn.ts';

export function addOperatorCommands(program: Command): void {
  const group = program.command('operators').description('create, list, rotate and revoke operators; make a code');

  addCommand(
    group,
    'create <name>',
    'create an operator and print the key; it is shown only this once. Needs the database owner, and an admin if there is one',
  )
    .example('operators create ngozi --scopes support,finance')
    .requiredOption('--scopes <list>', `separated by commas: ${OPERATOR_SCOPES.join(', ')}`, scopeList(OPERATOR_SCOPES))
    .action(async (name: string, options: { scopes: OperatorScope[]; json?: true }) => {
      if (!/^[a-z0-9][a-z0-9._@-]{0,99}$/.test(name)) {
        throw new CommandError(
          'A name has 1 to 100 of the characters a-z, 0-9, ., _, @ and -, and begins with a letter or digit.',
          EXIT.usage,
        );
      }
      const { key, stored } = newStoredKey('operator');
      const operator = { id: newUuid(), name, scopes: options.scopes, key: stored };
      const created = await signedInAsOwner('operators create', (sql, by) => insertOperator(sql, operator, by));
      if (!created) throw new CommandError(`There is or was an operator ${name}. Names are never given again.`);
      const id = publicId('operator', operator.id);
      const { scopes } = options;
      printResult(
        options,
        { id, name, key, scopes },
        `Operator  ${id}  ${name} (${scopes.join(', ')})`,
        ...keyLines(key),
      );
    });

  addCommand(group, 'list', 'list all operators; the keys are not shown')
    .example('operators list')
    .action(async (options: { json?: true }) => {
      const operators = (await withDatabase('application', listOperators)).map((operator) => ({
        ...operator,
        id: publicId('operator', operator.id),
      }));
      printRows(
        options,
        operators,
        ['id', 'name', 'scopes', { 'Key ends in': (row) => `…${row.hint}` }, 'createdAt', 'lastUsedAt', 'revokedAt'],
        'There is no operator yet. Create an admin: npm run cli -- operators create NAME --scopes admin',
      );
    });

  addCommand(group, 'rotate <name>', 'give an operator a new key; the old one ends at once')
    .example('operators rotate ngozi')
    .action(async (name: string, options: { json?: true }) => {
      const { key, stored } = newStoredKey('operator');
      const found = await signedInAsOwner('operators rotate', (sql, by) => replaceOperatorKey(sql, name, stored, by));
      printResult(options, { id: requireOperator(name, found), name, key }, ...keyLines(key));
    });

  addCommand(group, 'revoke <name>', 'revoke an operator permanently, with key and codes')
    .example('operators revoke ngozi --reason "left the company"')
    .option('--reason <text>', 'the reason, recorded in the audit log')
    .action(async (name: string, options: { reason?: string; json?: true }) => {
      const { reason = null } = options;
      const found = await signedInAsOwner('operators revoke', (sql, by) => revokeOperator(sql, name, reason, by));
      const id = requireOperator(name, found);
      printResult(options, { id, name, revoked: true }, `The operator ${name} is revoked.`);
    });

  addCommand(
    group,
    'code <workflowId> <action> [walletId]',
    'make a code with which you make this decision in this workflow, in the Temporal UI; valid for ten minutes',
  )
    .example('operators code svc_01k5…_wth fail')
    .action(async (workflowId: string, action: string, walletId: string | undefined, options: { json?: true }) => {
      const decision = walletId === undefined ? action : `${action} ${walletId}`;
      const { code, expiresAt } = await createCode('operators code', workflowId, decision);
      const line = `${code}  valid until ${timeText(expiresAt)} UTC, for ${decision} in ${workflowId}`;
      printResult(options, { workflowId, action: decision, code, expiresAt }, line);
    });
}

const keyLines = (key: string): string[] => [
  `Key       ${key}`,
  'Set it as MANILLA_OPERATOR_KEY. Save it now: only its hash is stored, and it cannot be shown again.',
];

function requireOperator(name: string, id: Uuid | null): string {
  if (id !== null) return publicId('operator', id);
  throw new CommandError(`There is no operator ${name} in use. See: npm run cli -- operators list`);
}

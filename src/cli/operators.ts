// `operators …`: create, list, rotate and revoke operators, and make the code with which one decides in a workflow.
import type { Command } from 'commander';
import { newUuid, publicId } from '../ids.ts';
import { hashApiKey, newApiKey } from '../resources/keys.ts';
import {
  createOperatorCodes,
  insertOperator,
  listOperators,
  replaceOperatorKey,
  revokeOperator,
} from '../resources/operators.ts';
import { OPERATOR_SCOPES, type OperatorScope } from '../workflows/operators/messages.ts';
import { addCommand, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { scopeList } from './options.ts';
import { printJson, printLine, printRows, timeText } from './print.ts';
import { signIn, signInAsOwner } from './signIn.ts';

const HINT_LENGTH = 4;

export function addOperatorCommands(program: Command): void {
  const group = program.command('operators').description('create, list, rotate and revoke operators; make a code');
  addCreate(group);
  addList(group);
  addRotate(group);
  addRevoke(group);
  addCode(group);
}

function addCreate(group: Command): void {
  addCommand(
    group,
    'create <name>',
    'create an operator and print the key; it is shown only this once. Needs the database owner, and an admin if there is one',
    'operators create ngozi --scopes support,finance',
  )
    .requiredOption('--scopes <list>', `separated by commas: ${OPERATOR_SCOPES.join(', ')}`, scopeList(OPERATOR_SCOPES))
    .action(async (name: string, options: { scopes: OperatorScope[]; json?: true }) => {
      if (!/^[a-z0-9][a-z0-9._@-]{0,99}$/.test(name)) {
        throw new CommandError(
          'A name has 1 to 100 of the characters a-z, 0-9, ., _, @ and -, and begins with a letter or digit.',
          EXIT.usage,
        );
      }
      const { key, stored } = makeKey();
      const operator = { id: newUuid(), name, scopes: options.scopes, key: stored };
      const created = await withDatabase('owner', async (sql, settings) =>
        insertOperator(sql, operator, await signInAsOwner(sql, settings, 'operators create')),
      );
      if (!created) throw new CommandError(`There is or was an operator ${name}. Names are never given again.`);
      const id = publicId('operator', operator.id);
      if (options.json) return printJson({ id, name, key, scopes: options.scopes });
      printLine(`Operator  ${id}  ${name} (${options.scopes.join(', ')})`);
      printKey(key);
    });
}

function addList(group: Command): void {
  addCommand(group, 'list', 'list all operators; the keys are not shown', 'operators list').action(
    async (options: { json?: true }) => {
      const operators = (await withDatabase('application', listOperators)).map((operator) => ({
        ...operator,
        id: publicId('operator', operator.id),
      }));
      printRows(
        options,
        operators,
        {
          Operator: (row) => row.id,
          Name: (row) => row.name,
          Scopes: (row) => row.scopes.join(', '),
          'Key ends in': (row) => `…${row.hint}`,
          'Created (UTC)': (row) => timeText(row.createdAt),
          'Last used': (row) => timeText(row.lastUsedAt),
          Revoked: (row) => timeText(row.revokedAt),
        },
        'There is no operator yet. Create an admin: npm run cli -- operators create NAME --scopes admin',
      );
    },
  );
}

function addRotate(group: Command): void {
  addCommand(
    group,
    'rotate <name>',
    'give an operator a new key; the old one ends at once',
    'operators rotate ngozi',
  ).action(async (name: string, options: { json?: true }) => {
    const { key, stored } = makeKey();
    const id = await withDatabase('owner', async (sql, settings) =>
      replaceOperatorKey(sql, name, stored, await signInAsOwner(sql, settings, 'operators rotate')),
    );
    if (id === null) throw noSuchOperator(name);
    if (options.json) return printJson({ id: publicId('operator', id), name, key });
    printKey(key);
  });
}

function addRevoke(group: Command): void {
  addCommand(
    group,
    'revoke <name>',
    'revoke an operator permanently, with key and codes',
    'operators revoke ngozi --reason "left the company"',
  )
    .option('--reason <text>', 'the reason, recorded in the audit log')
    .action(async (name: string, options: { reason?: string; json?: true }) => {
      const id = await withDatabase('owner', async (sql, settings) =>
        revokeOperator(sql, name, options.reason ?? null, await signInAsOwner(sql, settings, 'operators revoke')),
      );
      if (id === null) throw noSuchOperator(name);
      if (options.json) return printJson({ id: publicId('operator', id), name, revoked: true });
      printLine(`The operator ${name} is revoked.`);
    });
}

function addCode(group: Command): void {
  addCommand(
    group,
    'code <workflowId>',
    'make a code with which you make one decision in this workflow, in the Temporal UI; valid for ten minutes',
    'operators code svc_01k5…_wth',
  ).action(async (workflowId: string, options: { json?: true }) => {
    const { codes, expiresAt } = await withDatabase('application', async (sql, settings) => {
      const { id } = await signIn(sql, settings, 'operators code');
      return await createOperatorCodes(sql, id, [workflowId]);
    });
    const code = codes.get(workflowId);
    if (options.json) return printJson({ workflowId, code, expiresAt });
    printLine(`${code}  valid until ${timeText(expiresAt)} UTC, for ${workflowId}`);
  });
}

function makeKey(): { key: string; stored: { hash: Buffer; hint: string } } {
  const key = newApiKey('operator');
  return { key, stored: { hash: hashApiKey(key), hint: key.slice(-HINT_LENGTH) } };
}

function printKey(key: string): void {
  printLine(`Key       ${key}`);
  printLine('Set it as MANILLA_OPERATOR_KEY. Save it now: only its hash is stored, and it cannot be shown again.');
}

const noSuchOperator = (name: string): CommandError =>
  new CommandError(`There is no operator ${name} in use. See: npm run cli -- operators list`);

// `rail check`: tries a contract with the real provider, prints what each check found, and stores the report.
import type { Sql } from '../database/pool.ts';
import { newUuid } from '../ids.ts';
import { type Kobo, nairaText } from '../money.ts';
import type { VirtualAccount } from '../rail/port.ts';
import { createContractHarness, type HarnessOptions, MONEY_MAX } from '../rail/promises/harness.ts';
import type { PromiseResult } from '../rail/promises/promise.ts';
import { CHECKS } from '../rail/promises/promises.ts';
import { type CheckReport, runPromises } from '../rail/promises/run.ts';
import type { Credentials, ProviderContract, RailProvider } from '../rail/provider.ts';
import { findSealedCredentials, insertRailCheck, type StoredContract } from '../resources/rails/contracts.ts';
import { inOrganisation, type OrganisationOptions } from './books.ts';
import { addCommand, type Command } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { matching, organisationOption, wholeNumber } from './options.ts';
import { printLine, printResult } from './print.ts';
import { requireContract } from './railContracts.ts';
import { ask, CREDENTIALS, PROVIDER_NAMES, readCredentials, requireProvider } from './railCredentials.ts';
import { keyringOf, readSettings } from './settings.ts';

/** The environment variable with the BVN for an account number of a wallet. */
const BVN = 'RAIL_CHECK_BVN';
const SECONDS_MAX = 86_400;
const ACCOUNT_NUMBER = matching(/^[0-9]{10}$/, 'It must have 10 digits.');
const BANK_CODE = matching(/^[0-9]{3,6}$/, 'It must have 3 to 6 digits.');

interface Options extends OrganisationOptions {
  credentials?: string;
  live?: true;
  yesMoveMoney?: true;
  to?: string;
  bank?: string;
  bvn?: true;
  credit?: number;
}

export function addCheck(group: Command): void {
  addCommand(
    group,
    'check',
    'try what the service relies on with the real provider, print what to do about it, and store the report; exits 1 unless it passed: no check failed, and all that need neither money nor a person were tried',
  )
    .example('rail check PROVIDER --to 0123456789 --bank 058 --live --yes-move-money')
    .argument('<provider>', PROVIDER_NAMES)
    .addOption(organisationOption('the contract'))
    .option('--credentials <file>', `check these, of a sandbox for example, and store nothing; also in ${CREDENTIALS}`)
    .option('--to <account>', 'an account number of your own, for name enquiries and transfers', ACCOUNT_NUMBER)
    .option('--bank <code>', 'its bank', BANK_CODE)
    .option('--live', 'the contract is live: transfers are real')
    .option('--yes-move-money', `send transfers to the account, of ${MONEY_MAX / 100} naira together at most`)
    .option('--bvn', `open an account number of a wallet with a BVN, from ${BVN} or a prompt`)
    .option('--credit <seconds>', 'wait so long for you to pay into account numbers', wholeNumber(SECONDS_MAX))
    .action(async (name: string, options: Options) => {
      const provider = requireProvider(name);
      const isStored = options.credentials === undefined && !process.env[CREDENTIALS];
      const report = await inOrganisation('rail check', options, async (sql, organisationId, { proof }) => {
        const book = { organisationId, environment: 'live' as const };
        const stored = isStored ? await requireContract(sql, book) : null;
        const { credentials, version } = await credentialsOf(sql, provider, stored, options);
        checkMoney(provider, credentials, options);
        const contract: ProviderContract = { ...book, id: stored?.id ?? newUuid(), credentials };
        const done = await check(provider, contract, options);
        if (stored === null) return done;
        const reason = `${done.summary.PASS} of ${done.checks.length} checks passed`;
        await insertRailCheck(sql, stored, version, done, { proof, reason });
        return done;
      });
      if (!report.passed) process.exitCode = EXIT.failed;
      const { PASS, WARN, FAIL, SKIP } = report.summary;
      printResult(
        options,
        report,
        `${PASS} passed, ${WARN} with a warning, ${FAIL} failed, ${SKIP} skipped.`,
        meaningOf(report),
        isStored ? 'The report is stored; see: npm run cli -- rail show' : 'The report is not stored.',
      );
    });
}

async function credentialsOf(
  sql: Sql,
  provider: RailProvider,
  stored: StoredContract | null,
  options: Options,
): Promise<{ credentials: Credentials; version: number }> {
  if (stored === null) return { credentials: await readCredentials(provider, options.credentials), version: 0 };
  if (stored.rail !== provider.name)
    throw new CommandError(`The connected contract is with ${stored.rail}.`, EXIT.usage);
  const found = await findSealedCredentials(sql, stored);
  if (found === null) throw new CommandError('It was disconnected meanwhile.');
  const opened: unknown = JSON.parse(keyringOf(readSettings()).open('rail-credentials', stored.id, found.sealed));
  return { credentials: provider.credentials.parse(opened), version: found.version };
}

/** Throws unless the operator knows whether the money is real. */
function checkMoney(provider: RailProvider, credentials: Credentials, options: Options): void {
  const { live, yesMoveMoney, to, bank } = options;
  const usage = (message: string): CommandError => new CommandError(message, EXIT.usage);
  if ((to === undefined) !== (bank === undefined)) throw usage('Give --to and --bank together.');
  if (yesMoveMoney && to === undefined) throw usage('--yes-move-money needs --to and --bank: an account of your own.');
  const isSandbox = provider.isSandbox(credentials);
  if (live && isSandbox) throw usage("--live, but these are credentials of the provider's sandbox.");
  if (yesMoveMoney && !isSandbox && !live) throw usage('These credentials are live: add --live to move real money.');
}

async function check(provider: RailProvider, contract: ProviderContract, options: Options): Promise<CheckReport> {
  const { to, bank, yesMoveMoney, credit, json } = options;
  const bvn = options.bvn === true ? await readBvn() : null;
  const harnessOptions: HarnessOptions = {
    movesMoney: yesMoveMoney === true,
    to: to === undefined || bank === undefined ? null : { accountNumber: to, bankCode: bank },
    bvn,
    payer: credit === undefined ? null : { waitMs: credit * 1_000, ask: askToPay },
  };
  const harness = createContractHarness(provider, contract, harnessOptions);
  try {
    return await runPromises(CHECKS, harness, (result) => {
      if (json !== true) printCheck(result);
    });
  } finally {
    await harness.close();
  }
}

function askToPay(amount: Kobo, { accountNumber, bankName }: VirtualAccount): void {
  process.stderr.write(`Pay ${nairaText(amount)} to ${accountNumber}, ${bankName}.\n`);
}

/** What the run says of the contract. */
function meaningOf({ passed, untried, summary }: CheckReport): string {
  const names = untried.join(', ');
  if (summary.FAIL > 0) return 'The contract has not passed.';
  if (!passed) return `The contract has not passed: some of these must be tried: ${names}.`;
  return names === '' ? 'The contract has passed.' : `The contract has passed. Not tried, and so not proved: ${names}.`;
}

const NAME_WIDTH = 22;

function printCheck({ id, verdict, found, todo }: PromiseResult): void {
  printLine(`${verdict}  ${id.padEnd(NAME_WIDTH)}${found}`);
  if (todo !== null) printLine(`      ${''.padEnd(NAME_WIDTH)}${todo}`);
}

async function readBvn(): Promise<string> {
  const given = process.env[BVN] || (process.stdin.isTTY ? await ask('BVN: ', true) : '');
  if (/^[0-9]{11}$/.test(given)) return given;
  throw new CommandError(`--bvn needs a BVN of 11 digits, in ${BVN} or at the prompt.`, EXIT.usage);
}

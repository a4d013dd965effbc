// `pay`: money from a payer at another bank to an account number of the sandbox, and what became of it.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { dataOf, ManillaError, type Schemas } from '../../../typescript/src/index.ts';
import { nairaText, parseAmount } from '../arguments.ts';
import { addCommand } from '../command.ts';
import { CommandError, EXIT } from '../failure.ts';
import { openSession, type Session, type SessionOptions } from '../session.ts';

interface PayOptions extends SessionOptions {
  kobo?: true;
  senderName?: string;
  senderAccount?: string;
  senderBank?: string;
}

type Payment = Schemas['Payment'];

const POLL_MS = 200;
const WAIT_MS = 10_000;

export function addPayCommand(program: Command, signal: AbortSignal): void {
  addCommand(
    program,
    'pay',
    'send money to an account number, as a payer does; without an amount what its payment still waits for',
    'pay 6000000001 25,000.00',
  )
    .argument('<account>', 'the account number of a payment or wallet, ten digits')
    .argument('[amount]', 'in naira, such as 25000 or 25,000.00')
    .option('--kobo', 'the amount is in kobo, as in the API')
    .option('--sender-name <name>', 'who pays')
    .option('--sender-account <number>', 'from which account, ten digits')
    .option('--sender-bank <code>', 'at which bank, as in GET /banks')
    .action(async (account: string, text: string | undefined, options: PayOptions) => {
      if (!/^\d{10}$/.test(account)) throw new CommandError(`${account} is no account number: ten digits.`, EXIT.usage);
      const amount = text === undefined ? undefined : parseAmount(text, options.kobo === true);
      if (amount === null) {
        const allowed = options.kobo ? 'whole kobo, such as 2500000' : 'naira, such as 25000 or 25,000.00';
        throw new CommandError(`${text} is no amount. Give ${allowed}.`, EXIT.usage);
      }
      return pay(await openSession(options, signal), account, amount, options);
    });
}

async function pay(
  session: Session,
  accountNumber: string,
  given: number | undefined,
  { senderName, senderAccount, senderBank }: PayOptions,
): Promise<void> {
  const { client, output } = session;
  const payment = await paymentOf(session, accountNumber);
  const amount = given ?? (payment === undefined ? 0 : payment.payableAmount - payment.amountReceived);
  if (amount <= 0) {
    const reason =
      payment === undefined ? 'No payment has this account number' : `Payment ${payment.id} waits for nothing`;
    throw new CommandError(`${reason}. Give an amount: manilla pay ${accountNumber} AMOUNT`, EXIT.usage);
  }
  const body = {
    accountNumber,
    amount,
    sessionId: randomUUID(),
    ...(senderName !== undefined && { senderName }),
    ...(senderAccount !== undefined && { senderAccountNumber: senderAccount }),
    ...(senderBank !== undefined && { senderBankCode: senderBank }),
  };
  const credit = await dataOf(client.POST('/simulations/inbound-credits', { body }));
  const sent = `${nairaText(amount)} from ${credit.senderName} to ${accountNumber}, session ${credit.sessionId}`;
  if (payment === undefined) return output.result({ credit, payment: null }, sent);
  output.progress(sent);
  const paid = await afterCredit(session, payment.id, credit.sessionId);
  const status = paid === undefined ? 'has not placed the money yet' : `is ${paid.status}`;
  output.result({ credit, payment: paid ?? null }, `${sent}; payment ${payment.id} ${status}`);
}

/** The newest payment with this account number; none for that of a wallet, or a key that may not read payments. */
async function paymentOf({ client }: Session, accountNumber: string): Promise<Payment | undefined> {
  try {
    const query = { accountNumber, limit: 1 };
    return (await dataOf(client.GET('/payments', { params: { query } })))[0];
  } catch (error) {
    if (error instanceof ManillaError && error.code === 'API_KEY_SCOPE_FORBIDDEN') return undefined;
    throw error;
  }
}

/** The payment once the credit has its place; undefined when it has none within ten seconds. */
async function afterCredit({ client, signal }: Session, id: string, sessionId: string): Promise<Payment | undefined> {
  const params = { path: { id } };
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; ) {
    const credits = await dataOf(client.GET('/payments/{id}/credits', { params }));
    const placed = credits.some((credit) => credit.sessionId === sessionId && credit.status !== 'received');
    if (placed) return await dataOf(client.GET('/payments/{id}', { params }));
    await sleep(POLL_MS, undefined, { signal });
  }
  return undefined;
}

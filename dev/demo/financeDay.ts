// `npm run demo -- finance-day`: the day of a payment firm in the sandbox, in an organisation of its own: payments with
// fees, withdrawals, refunds, a payout, a credit that the bank takes back, a fee put right, the provider's charge and a
// sweep. It ends as its accountant does: income and costs, the proof of the day, a customer's statement, what each
// wallet owes.
import { nairaText } from '../../src/money.ts';
import { SCOPES } from '../../src/resources/keys.ts';
import { DAY_MS, dayOf } from '../../src/times.ts';
import type { Quickstart } from '../stateFolder.ts';
import { until } from '../until.ts';
import {
  type Call,
  createCaller,
  createTier1Wallet,
  operate,
  printCommand,
  printStep,
  untilStatus,
} from './integrator.ts';

const PAYMENTS = 30;
const WITHDRAWALS = 11;
const REFUNDS = 4;
const CHARGE = 20_000;
const PUT_RIGHT = 2_500;

interface Paid {
  paymentId: string;
  walletId: string;
  sessionId: string;
}

export async function runFinanceDay({ sandboxBaseUrl }: Quickstart): Promise<void> {
  const { organisationId } = await operate<{ organisationId: string }>([
    'organisations',
    'create',
    '--name',
    'Finance-day',
  ]);
  const book = ['--organisation', organisationId, '--environment', 'test'];
  const { key } = await operate<{ key: string }>(['keys', 'create', ...book, '--scopes', SCOPES.join(',')]);
  const call = createCaller(sandboxBaseUrl, key);
  printStep('A payment firm opens: an organisation, with a key for the sandbox', organisationId);

  const wallets: string[] = [];
  for (const name of ['Ada', 'Bola', 'Chidi'])
    wallets.push(await createTier1Wallet(call, `${name.toLowerCase()}@example.com`, `${name} Obi`));
  const paid = await collect(call, wallets);
  await payOut(call, wallets);
  await refund(call, paid);
  const [first] = paid;
  if (first === undefined) throw new Error('there is no payment');
  await recall(call, first);
  await putFeeRight(book, first.walletId);
  await charge(call);
  await reconcile();
  const { amount } = await operate<{ amount: number }>(['ledger', 'sweep-fees', ...book, '--key', 'finance-day']);
  printStep(`The fees that are earned, less what they cost, are swept: ${nairaText(amount)}`);

  const today = dayOf(new Date());
  await printCommand('Income, costs and taxes of the day', [
    'ledger',
    'income',
    ...book,
    '--from',
    today,
    '--to',
    today,
  ]);
  await printCommand('The proof of the day, so far', ['ledger', 'days', ...book, '--day', today, '--format', 'csv']);
  await printCommand('The book', ['ledger', 'trial-balance', ...book]);
  const { data: entries } = await call('GET', `/wallets/${first.walletId}/transactions?limit=10`);
  printStep("The statement of Ada's wallet", (entries as Entry[]).map(lineOf).join('\n    '));
  for (const walletId of wallets) {
    const { data } = await call('GET', `/wallets/${walletId}`);
    printStep(`${walletId} owes ${nairaText(data.amountOwed)}`);
  }
  const { findings } = await operate<{ findings: unknown[] }>(['ledger', 'verify']);
  if (findings.length > 0) throw new Error('the ledger has violations: npm run cli -- ledger verify');
  printStep('The day is over: the ledger is verified');
}

interface Entry {
  kind: string;
  direction: string;
  amount: number;
  balanceAfter: number;
}

const lineOf = ({ kind, direction, amount, balanceAfter }: Entry): string =>
  `${kind} ${direction} ${nairaText(amount)}, then ${nairaText(balanceAfter)}`;

/** Payments of three merchants, all paid by bank transfer. */
async function collect(call: Call, wallets: readonly string[]): Promise<Paid[]> {
  const paid = await Promise.all(
    Array.from({ length: PAYMENTS }, async (_, index): Promise<Paid> => {
      const walletId = wallets[index % wallets.length] ?? '';
      const body = { method: 'bank_transfer', baseAmount: 100_000 + 10_000 * index, targetWalletId: walletId };
      const { data } = await call('POST', '/payments', body);
      const { data: credit } = await call('POST', '/simulations/inbound-credits', {
        accountNumber: data.virtualAccount.accountNumber,
        amount: data.payableAmount,
        senderName: 'Emeka Eze',
        senderAccountNumber: '0123456789',
        senderBankCode: '058',
      });
      await untilStatus(call, `/payments/${data.id}`, 'settled');
      return { paymentId: data.id, walletId, sessionId: credit.sessionId };
    }),
  );
  printStep(`${PAYMENTS} payments are settled, each with its fee`);
  return paid;
}

async function payOut(call: Call, wallets: readonly string[]): Promise<void> {
  for (let index = 0; index < WITHDRAWALS; index += 1) {
    const body = { amount: 50_000 + 1_000 * index, accountNumber: '0123456789', bankCode: '058' };
    const { data } = await call('POST', `/wallets/${wallets[index % wallets.length]}/withdraw`, body);
    await untilStatus(call, `/withdrawals/${data.id}`, 'completed');
  }
  printStep(`${WITHDRAWALS} withdrawals are completed`);
  const bankAccount = { accountNumber: '0123456789', bankCode: '058' };
  const items = [15_000, 25_000, 35_000].map((amount) => ({ amount, bankAccount }));
  const { data } = await call('POST', '/payouts', { sourceWalletId: wallets[1], items });
  await untilStatus(call, `/payouts/${data.id}`, 'completed');
  printStep(`A payout of ${items.length} items is completed`, data.id);
}

async function refund(call: Call, paid: readonly Paid[]): Promise<void> {
  for (const { paymentId } of paid.slice(-REFUNDS)) {
    const { data } = await call('POST', `/payments/${paymentId}/refund`, { amount: 20_000, reason: 'Returned goods' });
    await untilStatus(call, `/refunds/${data.id}`, 'completed');
  }
  printStep(`${REFUNDS} refunds are completed`);
}

/** The bank takes a credit back that its wallet has spent. */
async function recall(call: Call, { walletId, sessionId }: Paid): Promise<void> {
  const { data } = await call('GET', `/wallets/${walletId}/balance`);
  const spent = data.balance - 100_000;
  const body = { amount: spent, accountNumber: '0123456789', bankCode: '058' };
  const withdrawal = await call('POST', `/wallets/${walletId}/withdraw`, body);
  await untilStatus(call, `/withdrawals/${withdrawal.data.id}`, 'completed');
  await call('POST', `/simulations/inbound-credits/${sessionId}/recall`);
  const owed = await until(
    'the recalled credit to be taken back',
    async () => ((await call('GET', `/wallets/${walletId}`)).data.amountOwed || undefined) as number | undefined,
    15_000,
  );
  printStep(`The bank takes a credit back that Ada has spent: her wallet owes ${nairaText(owed)}`, sessionId);
}

/** One operator requests it, another approves it. */
async function putFeeRight(book: readonly string[], walletId: string): Promise<void> {
  const posting = `income:fees wallet:${walletId} ${PUT_RIGHT}`;
  const grounds = ['--reason', 'charged twice', '--evidence', 'ticket 12'];
  const { id } = await operate<{ id: string }>(['adjustments', 'request', ...book, '--posting', posting, ...grounds]);
  const name = `finance-day-${Date.now()}`;
  const { key } = await operate<{ key: string }>(['operators', 'create', name, '--scopes', 'finance']);
  await operate(['adjustments', 'approve', id, '--reason', 'agrees with the ticket'], { MANILLA_OPERATOR_KEY: key });
  printStep(`A fee is put right by two operators: ${nairaText(PUT_RIGHT)}`, id);
}

async function charge(call: Call): Promise<void> {
  await call('POST', '/simulations/statement-lines', { kind: 'charge', amount: CHARGE });
  printStep(`The provider charges ${nairaText(CHARGE)}`);
}

async function reconcile(): Promise<void> {
  const from = new Date(Date.now() - DAY_MS).toISOString();
  const { failed } = await operate<{ failed: number }>(['reconciliation', 'run', '--from', from]);
  if (failed > 0) throw new Error('a book could not be reconciled; the log of the worker says why');
  printStep("The bank's statement is compared with the books");
}

// `npm run demo -- --rail monnify-fake`, or `nomba-fake`: a new organisation connects a contract with a provider,
// checks it, and moves money on live. The provider is a fake with books of its own; at the end both books must agree.
import { nairaText } from '../../src/money.ts';
import { SCOPES } from '../../src/resources/keys.ts';
import { type FakeBank, type FakeName, startFakeBank } from '../chaos/fakeBank.ts';
import type { Quickstart } from '../stateFolder.ts';
import { until } from '../until.ts';
import {
  type Call,
  createCaller,
  createTier1Wallet,
  printBalance,
  printStep,
  operate as run,
  untilStatus,
} from './integrator.ts';

const OWN_MONEY = 100_000;
const BVN = '22222222226';
/** A contract is disconnected ten seconds after it was closed. */
const DISCONNECTED_WITHIN_MS = 30_000;

const operate = <Output>(words: string, more?: NodeJS.ProcessEnv) => run<Output>(words.split(' '), more);

export async function runRailDemo(quickstart: Quickstart, rail: FakeName): Promise<void> {
  const bank = await startFakeBank(rail, Math.random);
  try {
    await moveMoney(quickstart, bank);
  } finally {
    await bank.close();
  }
}

async function moveMoney(quickstart: Quickstart, bank: FakeBank): Promise<void> {
  const startedAt = new Date();
  printStep(`A fake of ${bank.rail}, with books of its own`, bank.credentials.baseUrl);
  const { organisationId, liveSettlementWalletId } = await operate<{
    organisationId: string;
    liveSettlementWalletId: string;
  }>('organisations create --name Rail-demo');
  const of = `--organisation ${organisationId}`;
  const { key } = await operate<{ key: string }>(`keys create ${of} --environment live --scopes ${SCOPES.join(',')}`);
  printStep('A new organisation, with a key for live', organisationId);
  await connect(quickstart, bank, of);
  try {
    const call = createCaller(quickstart.liveBaseUrl, key);
    const ada = await createTier1Wallet(call, 'ada@example.com', 'Ada Obi');
    const bola = await createTier1Wallet(call, 'bola@example.com', 'Bola Ade');
    printStep('Wallets for Ada and Bola on live', `${ada}\n    ${bola}`);
    if (bank.fund === null) await payIn(call, bank, liveSettlementWalletId);
    await collect(call, bank, ada);
    await checkContract(bank.rail, of);
    const withdrawalId = await withdraw(call, ada);
    await payOut(call, ada, bola);
    await returnLate(call, bank, withdrawalId);
    await printBalance(call, "Ada's", ada);
    await reconcile(bank, organisationId, startedAt);
  } finally {
    await disconnect(of);
  }
}

async function connect({ liveBaseUrl }: Quickstart, { rail, credentials, setCallbackUrl }: FakeBank, of: string) {
  const { callbackPath } = await operate<{ callbackPath: string }>(
    `rail connect ${rail} ${of} --environment live --reason demo`,
    { RAIL_CREDENTIALS: JSON.stringify(credentials) },
  );
  setCallbackUrl(`${new URL(liveBaseUrl).origin}${callbackPath}`);
  printStep(`Its contract with ${rail} is connected`, callbackPath);
}

async function checkContract(rail: FakeName, of: string): Promise<void> {
  const { passed, summary, checks } = await operate<{
    passed: boolean;
    summary: Record<string, number>;
    checks: { id: string; verdict: string; found: string }[];
  }>(`rail check ${rail} ${of} --live --yes-move-money --bvn --to 1234567890 --bank 058`, { RAIL_CHECK_BVN: BVN });
  const lines = checks.map(({ id, verdict, found }) => `${verdict}  ${id}: ${found}`);
  printStep(`The contract is checked: ${summary.PASS} passed, ${summary.FAIL} failed`, lines.join('\n    '));
  if (!passed) throw new Error('the check of the contract failed');
}

/** Own money, which bears what the provider charges: without it that would be customers' money. */
async function payIn(call: Call, bank: FakeBank, settlementWalletId: string): Promise<void> {
  const { data } = await call('GET', `/wallets/${settlementWalletId}/deposit-account`);
  await bank.credit(data.accountNumber, OWN_MONEY, 'own-money');
  await untilPaid(call, settlementWalletId, 0);
  printStep(`The organisation pays in ${nairaText(OWN_MONEY)} of its own`, data.accountNumber);
}

/** A payment, and a transfer to the account number of the wallet. */
async function collect(call: Call, bank: FakeBank, walletId: string): Promise<void> {
  const { data: payment } = await call('POST', '/payments', {
    method: 'bank_transfer',
    baseAmount: 500_000,
    targetWalletId: walletId,
  });
  await bank.credit(payment.virtualAccount.accountNumber, payment.payableAmount, 'payment');
  const settled = await untilStatus(call, `/payments/${payment.id}`, 'settled');
  printStep(`A payment of ${nairaText(settled.amountReceived)} is ${settled.status}`, payment.id);
  const { data: account } = await call('GET', `/wallets/${walletId}/deposit-account`);
  const before = (await call('GET', `/wallets/${walletId}/balance`)).data.balance as number;
  await bank.credit(account.accountNumber, 100_000, 'deposit');
  await untilPaid(call, walletId, before);
  printStep(`${nairaText(100_000)} are paid to Ada's account number`, account.accountNumber);
}

const untilPaid = (call: Call, walletId: string, before: number) =>
  until(
    'the deposit to arrive',
    async () => {
      const { data } = await call('GET', `/wallets/${walletId}/balance`);
      return data.balance > before ? true : undefined;
    },
    15_000,
  );

async function withdraw(call: Call, walletId: string): Promise<string> {
  const body = { amount: 150_000, accountNumber: '1234500001', bankCode: '044' };
  const { data } = await call('POST', `/wallets/${walletId}/withdraw`, body);
  const done = await untilStatus(call, `/withdrawals/${data.id}`, 'completed');
  printStep(`Ada withdraws ${nairaText(body.amount)}: ${done.status}`, data.id);
  return data.id;
}

async function payOut(call: Call, ada: string, bola: string): Promise<void> {
  const { data } = await call('POST', '/payouts', {
    sourceWalletId: ada,
    items: [
      { amount: 20_000, reference: 'to-a-bank', bankAccount: { accountNumber: '1234500002', bankCode: '058' } },
      { amount: 30_037, reference: 'to-another', bankAccount: { accountNumber: '1234500003', bankCode: '057' } },
      { amount: 10_000, reference: 'to-bola', destinationWalletId: bola },
    ],
  });
  const done = await untilStatus(call, `/payouts/${data.id}`, 'completed', 'partially_completed', 'failed');
  printStep(`A payout of ${data.itemCount} items is ${done.status}: ${done.successCount} completed`, data.id);
  if (done.status !== 'completed') throw new Error('the payout did not complete');
}

async function returnLate(call: Call, bank: FakeBank, withdrawalId: string): Promise<void> {
  await bank.endTransfer(withdrawalId, 'return');
  const returned = await untilStatus(call, `/withdrawals/${withdrawalId}`, 'returned');
  printStep(`The bank sends the withdrawal back: ${returned.status}; amount and fee are in the wallet again`);
}

/** Compares our books of the organisation with the provider's. */
async function reconcile(bank: FakeBank, organisationId: string, from: Date): Promise<void> {
  await bank.settle();
  const { failed, lines: lineCount } = await operate<{ failed: number; lines: number }>(
    `reconciliation run --from ${from.toISOString()}`,
  );
  if (failed > 0) throw new Error('a book could not be reconciled; the log of the worker says why');
  const breaks = await operate<{ organisation: string }[]>('reconciliation show');
  if (breaks.some(({ organisation }) => organisation === organisationId)) throw new Error('there are breaks');
  printStep(`The statement is compared (${lineCount} lines), and nothing differs from the books`);
  const { accounts } = await operate<{ accounts: { account: string; debit: number; credit: number }[] }>(
    `ledger trial-balance --organisation ${organisationId} --environment live`,
  );
  const balanceOf = (code: string): number => {
    const found = accounts.find(({ account }) => account === code);
    return (found?.debit ?? 0) - (found?.credit ?? 0);
  };
  const booked = balanceOf(`float:${bank.rail}`) + balanceOf(`clearing:${bank.rail}`);
  printStep(
    `By our books the bank holds ${nairaText(booked)}`,
    accounts.map(({ account, debit, credit }) => `${account}  ${nairaText(debit - credit)}`).join('\n    '),
  );
  const { holds, lines } = bank.book();
  printStep(`By its own books it holds ${nairaText(holds)}`);
  if (booked !== holds) throw new Error('the two books differ');
  const sent = lines.filter(({ kind }) => kind === 'sent').map(({ reference }) => reference);
  const twice = sent.filter((reference, at) => sent.indexOf(reference) !== at);
  if (twice.length > 0) throw new Error(`paid twice: ${twice.join(', ')}`);
  if (bank.complaints.length > 0) throw new Error(`${bank.rail} would refuse: ${bank.complaints.join('; ')}`);
  const { findings } = await operate<{ findings: unknown[] }>('ledger verify');
  if (findings.length > 0) throw new Error('the ledger has violations: npm run cli -- ledger verify');
  printStep('The two books are equal, each transfer was paid once, and the ledger is verified');
}

async function disconnect(of: string): Promise<void> {
  await until(
    'the contract to be disconnected: npm run cli -- rail disconnect',
    async () => {
      const { outcome } = await operate<{ outcome: string }>(`rail disconnect ${of} --environment live --reason demo`);
      return outcome === 'disconnected' ? true : undefined;
    },
    DISCONNECTED_WITHIN_MS,
  );
  printStep('The contract is disconnected, and its credentials are removed');
}

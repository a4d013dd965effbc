// `npm run demo -- --rail monnify-fake`: a new organisation connects a contract with a provider, checks it, and moves
// money on live. The provider is the fake of Monnify, which keeps books of its own; at the end both books must
// agree.
import { nairaText } from '../../src/money.ts';
import { SCOPES } from '../../src/resources/keys.ts';
import { MonnifyFake } from '../monnify/fake.ts';
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

const RAIL = 'monnify';
/** A transfer of the fake takes its next step after this. */
const STEP_MS = 300;
const FUNDING = 5_000_000;
const BVN = '22222222226';
/** A contract is disconnected ten seconds after it was closed. */
const DISCONNECTED_WITHIN_MS = 30_000;

const operate = <Output>(words: string, more?: NodeJS.ProcessEnv) => run<Output>(words.split(' '), more);

export async function runRailDemo(quickstart: Quickstart): Promise<void> {
  const fake = await new MonnifyFake({ stepMs: STEP_MS, balance: 0n }).start();
  try {
    await moveMoney(quickstart, fake);
  } finally {
    await fake.close();
  }
}

async function moveMoney(quickstart: Quickstart, fake: MonnifyFake): Promise<void> {
  const startedAt = new Date();
  printStep('A fake of Monnify, with books of its own', fake.baseUrl);
  const { organisationId } = await operate<{ organisationId: string }>('organisations create --name Rail-demo');
  const of = `--organisation ${organisationId}`;
  const { key } = await operate<{ key: string }>(`keys create ${of} --environment live --scopes ${SCOPES.join(',')}`);
  printStep('A new organisation, with a key for live', organisationId);
  await connect(quickstart, fake, of);
  try {
    await checkContract(of);
    const call = createCaller(quickstart.liveBaseUrl, key);
    const ada = await createTier1Wallet(call, 'ada@example.com', 'Ada Obi');
    const bola = await createTier1Wallet(call, 'bola@example.com', 'Bola Ade');
    printStep('Wallets for Ada and Bola on live', `${ada}\n    ${bola}`);
    await collect(call, fake, ada);
    const withdrawalId = await withdraw(call, ada);
    await payOut(call, ada, bola);
    await returnLate(call, fake, withdrawalId);
    await printBalance(call, "Ada's", ada);
    await reconcile(fake, organisationId, startedAt);
  } finally {
    await disconnect(of);
  }
}

async function connect({ liveBaseUrl }: Quickstart, fake: MonnifyFake, of: string): Promise<void> {
  const { callbackPath } = await operate<{ callbackPath: string }>(
    `rail connect ${RAIL} ${of} --environment live --reason demo`,
    { RAIL_CREDENTIALS: JSON.stringify(fake.credentials) },
  );
  fake.callbackUrl = `${new URL(liveBaseUrl).origin}${callbackPath}`;
  fake.fund(BigInt(FUNDING));
  printStep(
    `Its contract with ${RAIL} is connected, and its wallet there funded with ${nairaText(FUNDING)}`,
    callbackPath,
  );
}

async function checkContract(of: string): Promise<void> {
  const { passed, summary, checks } = await operate<{
    passed: boolean;
    summary: Record<string, number>;
    checks: { id: string; verdict: string; found: string }[];
  }>(`rail check ${RAIL} ${of} --live --yes-move-money --bvn --to 1234567890 --bank 058`, { RAIL_CHECK_BVN: BVN });
  const lines = checks.map(({ id, verdict, found }) => `${verdict}  ${id}: ${found}`);
  printStep(`The contract is checked: ${summary.PASS} passed, ${summary.FAIL} failed`, lines.join('\n    '));
  if (!passed) throw new Error('the check of the contract failed');
}

/** A payment, and a transfer to the account number of the wallet. */
async function collect(call: Call, fake: MonnifyFake, walletId: string): Promise<void> {
  const { data: payment } = await call('POST', '/payments', {
    method: 'bank_transfer',
    baseAmount: 500_000,
    targetWalletId: walletId,
  });
  await fake.pay(payment.virtualAccount.accountNumber, BigInt(payment.payableAmount));
  const settled = await untilStatus(call, `/payments/${payment.id}`, 'settled');
  printStep(`A payment of ${nairaText(settled.amountReceived)} is ${settled.status}`, payment.id);
  const { data: account } = await call('GET', `/wallets/${walletId}/deposit-account`);
  const before = (await call('GET', `/wallets/${walletId}/balance`)).data.balance as number;
  await fake.pay(account.accountNumber, 100_000n);
  await until(
    'the deposit to arrive',
    async () => {
      const { data } = await call('GET', `/wallets/${walletId}/balance`);
      return data.balance > before ? true : undefined;
    },
    15_000,
  );
  printStep(`${nairaText(100_000)} are paid to Ada's account number`, account.accountNumber);
}

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

async function returnLate(call: Call, fake: MonnifyFake, withdrawalId: string): Promise<void> {
  await fake.end(withdrawalId, 'REVERSED');
  const returned = await untilStatus(call, `/withdrawals/${withdrawalId}`, 'returned');
  printStep(`The bank sends the withdrawal back: ${returned.status}; amount and fee are in the wallet again`);
}

/** Compares our books of the organisation with the provider's. */
async function reconcile(fake: MonnifyFake, organisationId: string, from: Date): Promise<void> {
  const settled = await fake.settle();
  printStep(`Monnify settles ${nairaText(Number(settled))} of what it collected to the wallet that pays out`);
  const { failed } = await operate<{ failed: number }>(`reconciliation run --from ${from.toISOString()}`);
  if (failed > 0) throw new Error('a book could not be reconciled; the log of the worker says why');
  const reports =
    await operate<{ organisation: string; lineCount: number; breakCount: number }[]>('reconciliation show');
  const report = reports.find(({ organisation }) => organisation === organisationId);
  if (report === undefined || report.breakCount > 0)
    throw new Error(`${report?.breakCount ?? 'no report of the'} breaks`);
  printStep(`The statement has ${report.lineCount} lines, and none differs from the books`);
  const { accounts } = await operate<{ accounts: { account: string; debit: number; credit: number }[] }>(
    `ledger trial-balance --organisation ${organisationId} --environment live`,
  );
  const balanceOf = (code: string): number => {
    const found = accounts.find(({ account }) => account === code);
    return (found?.debit ?? 0) - (found?.credit ?? 0);
  };
  const [float, clearing] = [balanceOf(`float:${RAIL}`), balanceOf(`clearing:${RAIL}`)];
  printStep(
    `In our books ${nairaText(float)} can be paid out, and ${nairaText(clearing)} are collected and not settled`,
    accounts.map(({ account, debit, credit }) => `${account}  ${nairaText(debit - credit)}`).join('\n    '),
  );
  printStep(`In Monnify's books ${nairaText(Number(fake.book.balance))} and ${nairaText(Number(fake.book.collected))}`);
  if (BigInt(float) !== fake.book.balance || BigInt(clearing) !== fake.book.collected || clearing !== 0)
    throw new Error('the two books differ');
  const twice = [...fake.book.transfers.values()].filter(({ timesPaid }) => timesPaid > 1);
  if (twice.length > 0) throw new Error(`paid twice: ${twice.map(({ reference }) => reference).join(', ')}`);
  if (fake.complaints.length > 0) throw new Error(`Monnify would refuse: ${fake.complaints.join('; ')}`);
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

// Outages of a provider, of one of its endpoints or of all, short ones and ones that are longer than flows wait before
// they ask for an operator: real flows over the adapters of both providers and their fakes, without callbacks.
// Afterwards every transfer ends by itself, with the effect at the bank that its status says, once. The limits of a
// rail and of its flows are seconds here instead of minutes, and its breakers run ten times as fast: so an hour is here
// what is longer than all of them.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MonnifyFake } from '../../dev/monnify/fake.ts';
import type { Fault } from '../../dev/monnify/faults.ts';
import { NombaFake } from '../../dev/nomba/fake.ts';
import { publicId, type Uuid } from '../../src/ids.ts';
import { type Breaker, createBreaker } from '../../src/rail/breaker.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { createMonnifyRail } from '../../src/rail/monnify/rail.ts';
import { createNombaRail } from '../../src/rail/nomba/rail.ts';
import type { BankRail } from '../../src/rail/port.ts';
import type { ClosableRail } from '../../src/rail/provider.ts';
import { type ContractDirectory, Rails } from '../../src/rail/rails.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import type { TestOrganisation } from '../support/api.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { untilAnswered } from '../support/untilAnswered.ts';
import { waitFor } from '../support/waitFor.ts';

const LIMIT_MS = 110_000;
const HELD = 103_000;
/** In place of minutes, and at least the limit of a call. */
const HIDDEN_MS = 3_000;
/** After this time without a response flows ask for an operator; then they query the rail every second. */
const UNREACHABLE_MS = 4_000;
const LENGTHS = { 'ten seconds': 1_000, 'a minute': UNREACHABLE_MS + 1_000, 'an hour': 15_000 } as const;
const BREAKERS_FASTER = 10;
const TRANSFERS = 2;
/** At once, so that the breaker opens in a short outage too. */
const BURST = 12;
const LOOK_MS = 100;

interface Bank {
  adapter: ClosableRail;
  /** The endpoints of sends and of statuses, and all that a send needs. */
  send: string;
  status: string;
  all: readonly string[];
  break: (route: string, fault: Fault, acts: boolean) => void;
  mend: (route: string) => void;
  /** Ends what it has accepted as paid. */
  pay: (reference: string) => void;
  timesPaid: (reference: string) => number;
  complaints: readonly string[];
  close: () => Promise<void>;
}

const ALWAYS = Number.POSITIVE_INFINITY;

async function openNomba(): Promise<Bank> {
  const fake = await new NombaFake().start();
  const [send, status] = ['POST /v2/transfers/bank', 'POST /v1/transactions/accounts'];
  return {
    adapter: createNombaRail(fake.credentials),
    send,
    status,
    all: [send, status, 'GET /v1/accounts/balance', 'POST /v1/transfers/bank/lookup'],
    break: (route, fault, acts) => fake.break(route, fault, acts, ALWAYS),
    mend: (route) => fake.mend(route),
    pay: (reference) => {
      if (fake.transferOf(reference)?.status === 'PENDING_BILLING') fake.end(reference, 'SUCCESS');
    },
    timesPaid: (reference) => fake.transferOf(reference)?.timesPaid ?? 0,
    complaints: fake.complaints,
    close: () => fake.close(),
  };
}

async function openMonnify(): Promise<Bank> {
  const fake = await new MonnifyFake().start();
  const [send, status] = ['POST /api/v2/disbursements/single', 'GET /api/v2/disbursements/single/summary'];
  return {
    adapter: createMonnifyRail(fake.credentials),
    send,
    status,
    all: [send, status, 'GET /api/v2/disbursements/wallet-balance', 'GET /api/v1/disbursements/account/validate'],
    break: (route, fault, acts) => fake.break(route, fault, { acts, times: ALWAYS }),
    mend: (route) => fake.mend(route),
    pay: (reference) => {
      const transfer = fake.book.transfers.get(reference);
      if (transfer !== undefined && transfer.timesPaid === 0) void fake.end(reference, 'SUCCESS');
    },
    timesPaid: (reference) => fake.book.transfers.get(reference)?.timesPaid ?? 0,
    complaints: fake.complaints,
    close: () => fake.close(),
  };
}

const PROVIDERS = { nomba: openNomba, monnify: openMonnify };

/** `acts`: what is asked for has its effect all the same. */
const OUTAGES: readonly { name: string; of: 'send' | 'status' | 'all'; fault: Fault; acts: boolean }[] = [
  { name: 'of statuses', of: 'status', fault: 'html_502', acts: false },
  { name: 'of statuses, by resets', of: 'status', fault: 'reset', acts: false },
  { name: 'of sends', of: 'send', fault: 'html_502', acts: false },
  { name: 'of sends, by resets before they arrive', of: 'send', fault: 'reset', acts: false },
  { name: 'of the responses to sends', of: 'send', fault: 'reset_in_body', acts: true },
  { name: 'of everything', of: 'all', fault: 'reset', acts: false },
  { name: 'of all responses', of: 'all', fault: 'reset', acts: true },
];

class FastBreakers extends Map<string, Breaker> {
  override get(key: string): Breaker {
    const known = super.get(key) ?? createBreaker(() => performance.now() * BREAKERS_FASTER);
    this.set(key, known);
    return known;
  }
}

/** Each case has a bank and an organisation of its own, so that all are tried at once. */
class Banks implements ContractDirectory {
  readonly #rails = new Map<Uuid, BankRail>();
  readonly opened: Bank[] = [];

  add({ organisationId }: TestOrganisation, bank: Bank): void {
    const { adapter } = bank;
    const { capabilities } = adapter;
    const shortened = {
      ...adapter,
      capabilities: {
        ...capabilities,
        calls: { limitMs: 2_500 },
        transfers: { ...capabilities.transfers, notVisibleForMs: HIDDEN_MS },
      },
    };
    this.#rails.set(organisationId, guardedRail(shortened, new FastBreakers()));
    this.opened.push(bank);
  }

  ofBook = ({ organisationId }: { organisationId: Uuid }) => Promise.resolve(this.#rails.get(organisationId) ?? null);
  accepts = ({ organisationId }: { organisationId: Uuid }) => Promise.resolve(this.#rails.has(organisationId));
  names = () => Promise.resolve(Object.keys(PROVIDERS));
  ofContract = () => Promise.resolve(null);
}

const banks = new Banks();
let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows({
    settings: { ATTENTION_RAIL_UNREACHABLE_SECONDS: String(UNREACHABLE_MS / 1_000), probeMs: 1_000 },
    rails: () => new Rails({}, banks),
  });
}, LIMIT_MS);

afterAll(async () => {
  const findings = await endFlows(flows);
  await Promise.all(banks.opened.map((bank) => Promise.all([bank.adapter.close(), bank.close()])));
  expect([findings, banks.opened.flatMap(({ complaints }) => complaints)]).toEqual([[], []]);
});

type Length = keyof typeof LENGTHS;
type Case = { provider: keyof typeof PROVIDERS; outage: (typeof OUTAGES)[number]; length: Length; transfers: number };

const CASES = (Object.keys(PROVIDERS) as (keyof typeof PROVIDERS)[]).flatMap((provider) => [
  ...OUTAGES.flatMap((outage) =>
    (Object.keys(LENGTHS) as Length[]).map((length): Case => ({ provider, outage, length, transfers: TRANSFERS })),
  ),
  ...OUTAGES.slice(0, 1).map((outage): Case => ({ provider, outage, length: 'ten seconds', transfers: BURST })),
]);

interface Suffered {
  name: string;
  bank: Bank;
  id: string;
  walletId: string;
}

const isParked = async (id: string): Promise<boolean> => {
  const described = await flows
    .flow(id)
    .describe()
    .catch(() => null);
  return described?.typedSearchAttributes.get(ATTENTION) !== undefined;
};

/** Withdrawals are made while the outage begins, and it ends after its time. Returns them. */
async function suffer({ provider, outage, length, transfers }: Case): Promise<Suffered[]> {
  const bank = await PROVIDERS[provider]();
  const organisation = await flows.createOrganisation();
  banks.add(organisation, bank);
  const { test: client } = organisation;
  const routes = outage.of === 'all' ? bank.all : [bank[outage.of]];
  const name = `${provider}: ${length} ${outage.name}`;
  const withdraw = async (index: number): Promise<Suffered> => {
    const walletId = await flows.createWallet(client, { balance: HELD });
    const body = { amount: 100_000, accountNumber: String(1_800_000_001 + index), bankCode: '058' };
    const { status, data, text } = await untilAnswered(client, `/wallets/${walletId}/withdraw`, body);
    if (status !== 201) throw new Error(text);
    return { name, bank, id: data.id, walletId };
  };
  // The request itself asks for the name of the account; from then on the outage begins with the first request.
  for (const route of [bank.send, bank.status])
    if (routes.includes(route)) bank.break(route, outage.fault, outage.acts);
  const made = await Promise.all(Array.from({ length: transfers }, (_, index) => withdraw(index)));
  for (const route of routes) bank.break(route, outage.fault, outage.acts);
  await delay(LENGTHS[length]);
  for (const route of routes) bank.mend(route);
  return made;
}

/** What is wrong with one that has ended. */
async function judge({ name, bank, id, walletId }: Suffered, status: string): Promise<string[]> {
  await flows.flow(id).result();
  const found = [status, bank.timesPaid(id), await flows.balanceOf(walletId), await isParked(id)];
  const right = status === 'completed' ? ['completed', 1, 0, false] : ['failed', 0, HELD, false];
  return JSON.stringify(found) === JSON.stringify(right) ? [] : [`${name}: ${id} ${JSON.stringify(found)}`];
}

test(
  'after an outage of ten seconds, a minute or an hour every transfer ends by itself, with one effect at the bank',
  async () => {
    const made = (await Promise.all(CASES.map(suffer))).flat();
    const ended = new Map<string, string>();
    const isEnded = async (): Promise<boolean> => {
      for (const { id, bank } of made) if (!ended.has(id)) bank.pay(id);
      const rows = await flows.sql<{ id: Uuid; status: string }[]>`
        SELECT id, status FROM withdrawals WHERE status <> 'processing'`;
      for (const { id, status } of rows) ended.set(publicId('withdrawal', id), status);
      return ended.size === made.length;
    };
    const late = await waitFor('every transfer to end', isEnded, LIMIT_MS, LOOK_MS).catch(() => 'late');
    const waiting = made.filter(({ id }) => !ended.has(id)).map(({ name, id }) => `${name}: ${id} has not ended`);
    expect([late, waiting]).toEqual([true, []]);
    const wrong = await Promise.all(made.map((one) => judge(one, ended.get(one.id) ?? '')));
    expect(wrong.flat()).toEqual([]);
  },
  2 * LIMIT_MS,
);

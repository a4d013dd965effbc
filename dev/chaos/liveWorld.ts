// An organisation of a chaos run whose bank is the fake of a provider: its contract, its traffic on live, and what is
// known of it after the run.
import type { Sql } from '../../src/database/pool.ts';
import { publicId, type Uuid } from '../../src/ids.ts';
import type { Finding } from '../../src/verification/verify.ts';
import { randomOf } from '../random.ts';
import { type CallbackRelay, startCallbackRelay } from './callbackRelay.ts';
import { Callers } from './callers.ts';
import { collectFacts } from './collect.ts';
import { type FakeBank, type FakeName, startFakeBank } from './fakeBank.ts';
import { OUTGOING } from './invariants.ts';
import { judge } from './judge.ts';
import { onTime } from './onTime.ts';
import { runCommand } from './operators.ts';
import { createParticipants } from './participants.ts';
import { makeTraffic, ofCustomers, type PlanOptions } from './plan.ts';
import type { ChaosStack } from './stack.ts';
import { Traffic } from './traffic.ts';

const MISBEHAVES_EVERY_MS = 700;
const SETTLES_EVERY_MS = 10_000;
/** The least that the API allows on live. */
const EXPIRES_SOON_SECONDS = 60;

export class LiveWorld {
  readonly organisationId: Uuid;
  readonly callers: Callers;
  readonly traffic: Traffic;
  readonly bank: FakeBank;
  readonly #relay: CallbackRelay;
  readonly #sql: Sql;
  readonly #acts: ReturnType<typeof makeTraffic>;
  readonly #timers: NodeJS.Timeout[] = [];

  private constructor(given: {
    organisationId: Uuid;
    callers: Callers;
    traffic: Traffic;
    bank: FakeBank;
    relay: CallbackRelay;
    sql: Sql;
    acts: ReturnType<typeof makeTraffic>;
  }) {
    this.organisationId = given.organisationId;
    this.callers = given.callers;
    this.traffic = given.traffic;
    this.bank = given.bank;
    this.#relay = given.relay;
    this.#sql = given.sql;
    this.#acts = given.acts;
  }

  /**
   * An organisation with a contract, wallets and their first money. `expireUntilMs`: see `Traffic`. `ofOwnMoney`:
   * whether the traffic is not of customers only.
   */
  static async enter(
    stack: ChaosStack,
    rail: FakeName,
    {
      seed,
      ofOwnMoney,
      ...options
    }: PlanOptions & { expireUntilMs: number; clocksAgree: boolean; ofOwnMoney: boolean },
  ): Promise<LiveWorld> {
    const ownSeed = seed + rail.length;
    const random = randomOf(ownSeed);
    const bank = await startFakeBank(rail, random);
    const names = { name: `Chaos ${rail}`, operators: [`chaos-${rail}`], environment: 'live' as const };
    const { organisationId, apiKey, operatorKeys } = await createParticipants(stack.sql, names);
    const words = `rail connect ${rail} --organisation ${publicId('organisation', organisationId)} --environment live`;
    const { output, failure } = await runCommand([...words.split(' '), '--reason', 'a chaos run'], {
      ...stack.settings,
      MANILLA_OPERATOR_KEY: operatorKeys[0],
      RAIL_CREDENTIALS: JSON.stringify(bank.credentials),
    });
    if (failure !== null) throw new Error(`the contract with ${rail} is not connected: ${failure}`);
    const { callbackPath } = output as { callbackPath: string };
    const addressesOf = (urls: readonly string[]): string[] =>
      urls.map((url) => `${new URL(url).origin}${callbackPath}`);
    const relay = await startCallbackRelay({
      addresses: addressesOf(stack.live.callbackUrls),
      direct: addressesOf(stack.live.directUrls),
      random,
      change: bank.changed,
    });
    bank.setCallbackUrl(relay.url);
    const callers = new Callers(stack.live.apiUrls, apiKey);
    const { expireUntilMs, clocksAgree, ...plan } = options;
    const run = `seed-${seed}-${rail}`;
    const traffic = new Traffic(callers, {
      run,
      expireUntilMs,
      clocksAgree,
      expiresSoonSeconds: EXPIRES_SOON_SECONDS,
      bank,
    });
    const all = makeTraffic({ seed: ownSeed, ...plan });
    const acts = ofOwnMoney ? all : ofCustomers(all);
    const world = new LiveWorld({ organisationId, callers, traffic, bank, relay, sql: stack.sql, acts });
    await traffic.open();
    return world;
  }

  /** Carries out its traffic. */
  async play(startedAt: number, bank: 'behaves' | 'misbehaves'): Promise<void> {
    this.#timers.push(setInterval(() => void this.bank.settle(), SETTLES_EVERY_MS));
    if (bank === 'misbehaves') {
      this.#relay.setCalm(false);
      this.#timers.push(setInterval(() => this.bank.misbehave(), MISBEHAVES_EVERY_MS));
    }
    await onTime(startedAt, this.#acts, (what, index, atMs) => this.traffic.do(what, String(index), atMs));
  }

  /** The bank behaves, and its callbacks arrive. */
  calm(): void {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    this.bank.calm();
    this.#relay.setCalm(true);
  }

  /** The bank reports again whatever is under way, so that nothing waits for the pauses between two queries. */
  async remind(): Promise<void> {
    const book = new Map(this.bank.book().transfers.map(({ reference, status }) => [reference, status]));
    const outgoing = await this.#sql.unsafe<{ reference: string; ownStatus: string }[]>(
      `SELECT reference, own_status FROM (${OUTGOING}) o`,
      [this.organisationId],
    );
    const stale = outgoing.filter(
      ({ reference, ownStatus }) =>
        ownStatus === 'pending' ||
        ownStatus === 'processing' ||
        (ownStatus === 'completed' && book.get(reference) === 'returned'),
    );
    await Promise.all(stale.map(({ reference }) => this.#relay.deliver(this.bank.newsOf(reference))));
  }

  /** What is wrong, each with the name of its bank. What is not of one organisation is judged once for all. */
  async judge(shortfalls: readonly Finding[]): Promise<string[]> {
    const { organisationId, callers, bank } = this;
    const shared = { unfinished: [], findings: [], shortfalls };
    const book = { organisationId, environment: 'live' } as const;
    const facts = await collectFacts({ sql: this.#sql, callers, ...book, received: null, book: bank.book(), shared });
    const wrong = [...judge(facts), ...bank.complaints.map((complaint) => `the bank would refuse: ${complaint}`)];
    return wrong.map((line) => `${bank.rail}: ${line}`);
  }

  /** One line on what happened at the bank. */
  summary(): string {
    const { credits, transfers } = this.bank.book();
    const { lost, changed } = this.#relay.counts;
    return `${this.bank.rail}: ${this.callers.operations.length} operations, ${credits.length} credits, ${transfers.length} transfers; ${lost} callbacks lost, ${changed} changed`;
  }

  async close(): Promise<void> {
    this.calm();
    await this.bank.close();
    await this.#relay.close();
  }
}

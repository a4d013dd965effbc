// The promises about account numbers, credits and callbacks.
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { AMOUNT_MAX } from '../../money.ts';
import type { RailCapabilities } from '../capabilities.ts';
import { RailCallbackInvalidError } from '../errors.ts';
import type { AccountRequest, InboundCreditReport, OpenedAccount, RailCallback, VirtualAccount } from '../port.ts';
import { accountRequest, fails, kindsOf, type PromisesOf, type RailBench, type RailPromise, until } from './bench.ts';

const opened = (request: AccountRequest, account: VirtualAccount): OpenedAccount => ({
  organisationId: request.organisationId,
  kind: request.kind,
  reference: request.reference,
  railReference: account.railReference,
  accountNumber: account.accountNumber,
});

export const accountPromises: PromisesOf = (capabilities) => [
  ...kindsOf(capabilities).flatMap((kind) => openingPromises(kind)),
  ...kindsOf(capabilities).flatMap((kind) => creditPromises(kind, capabilities)),
  ...(capabilities.oneOff === null ? [] : oneOffPromises(capabilities.oneOff)),
  {
    title: 'a credit that never arrived is not confirmed',
    check: async (bench) => {
      const { organisationId, rail } = bench;
      const sessionId = 'conformance-0000000000';
      assert.equal(await rail.findInboundCredit({ organisationId, sessionId, accountReference: null }), null);
    },
  },
];

const openingPromises = (kind: AccountRequest['kind']): RailPromise[] => [
  {
    title: `opening an account number (${kind}) twice with one reference opens one`,
    check: async (bench) => {
      const request = accountRequest(bench, kind);
      const account = await bench.rail.openVirtualAccount(request);
      assert.match(account.accountNumber, /^[0-9]{10}$/);
      assert.equal(account.expiresAt === null, kind === 'permanent');
      const again = await bench.rail.openVirtualAccount(request);
      assert.equal(again.accountNumber, account.accountNumber);
      const other = await bench.rail.openVirtualAccount(accountRequest(bench, kind));
      assert.notEqual(other.accountNumber, account.accountNumber);
    },
  },
  {
    title: `an account number (${kind}) whose response was lost is found again`,
    check: async (bench) => {
      const request = accountRequest(bench, kind);
      await bench.openLosing(request).catch(() => {}); // it may find the account by itself
      const account = await bench.rail.openVirtualAccount(request);
      assert.equal((await bench.rail.openVirtualAccount(request)).accountNumber, account.accountNumber);
      const credit = await pay(bench, request, account);
      assert.equal(credit.amount, amountOf(request));
    },
  },
  {
    title: `closing an account number (${kind}) twice is no error`,
    check: async (bench) => {
      const request = accountRequest(bench, kind);
      const account = await bench.rail.openVirtualAccount(request);
      await bench.rail.closeVirtualAccount(opened(request, account));
      await bench.rail.closeVirtualAccount(opened(request, account));
    },
  },
];

const amountOf = (request: AccountRequest): number => (request.kind === 'one_off' ? request.amount : 202_037);

/** Pays into an account number, and returns what the callback told. */
async function pay(bench: RailBench, request: AccountRequest, account: VirtualAccount): Promise<InboundCreditReport> {
  const sessionId = await bench.payIn(account.accountNumber, amountOf(request));
  assert.ok(sessionId !== null, 'the account number takes the amount that it was opened for');
  const credit = await until('the callback of a credit', () => Promise.resolve(told(bench, sessionId)));
  assert.equal(credit.amount, amountOf(request));
  assertOf(credit, request, account);
  return credit;
}

/** A credit names its account by our reference or by its number. */
function assertOf(credit: InboundCreditReport, request: AccountRequest, account: VirtualAccount): void {
  const { accountReference, accountNumber } = credit;
  assert.ok(accountReference !== null || accountNumber !== null, 'a credit names its account');
  if (accountReference !== null) assert.equal(accountReference, request.reference);
  if (accountNumber !== null) assert.equal(accountNumber, account.accountNumber);
}

const translated = (bench: RailBench): RailCallback[] =>
  bench.callbacks().flatMap((sent) => bench.rail.parseCallback({ organisationId: bench.organisationId, ...sent }));

function told(bench: RailBench, sessionId: string): InboundCreditReport | null {
  const credits = translated(bench).flatMap((one) => (one.kind === 'inbound_credit' ? [one.credit] : []));
  return credits.find((credit) => credit.sessionId === sessionId) ?? null;
}

const creditPromises = (kind: AccountRequest['kind'], capabilities: RailCapabilities): RailPromise[] => [
  {
    title: `a credit (${kind}) is reported by a callback, which the rail's books confirm to the kobo`,
    check: async (bench) => {
      const request = accountRequest(bench, kind);
      const account = await bench.rail.openVirtualAccount(request);
      const { sessionId, amount } = await pay(bench, request, account);
      const { organisationId, rail } = bench;
      const at = { organisationId, sessionId, accountReference: request.reference };
      const found = await rail.findInboundCredit(at);
      assert.ok(found !== null && typeof found === 'object', `the credit must be confirmed, but is ${inspect(found)}`);
      assert.equal(found.sessionId, sessionId);
      assert.equal(found.amount, amount);
      assert.equal(found.recalledAt, null);
      assertOf(found, request, account);
      assert.ok(Math.abs(found.receivedAt.getTime() - bench.now().getTime()) < 60_000, 'the time is off');
    },
  },
  {
    title: `the callback of a credit (${kind}) is the same credit however often it comes`,
    check: async (bench) => {
      const request = accountRequest(bench, kind);
      const account = await bench.rail.openVirtualAccount(request);
      const { sessionId } = await pay(bench, request, account);
      const repeated = Array.from({ length: 26 }, () => told(bench, sessionId)?.sessionId);
      assert.deepEqual(new Set(repeated), new Set([sessionId]));
    },
  },
  ...(capabilities.callbacks.signed === 'none' ? [] : [forgeryPromise(kind, capabilities.callbacks.signed)]),
  ...(capabilities.callbacks.signed === 'fields' ? [fieldsPromise(kind)] : []),
  ...(capabilities.callbacks.signed === 'none' ? [] : [otherContractPromise(kind)]),
  ...(capabilities.credits.listable ? [listPromise(kind)] : []),
];

const forgeryPromise = (kind: AccountRequest['kind'], signed: 'body' | 'fields'): RailPromise => ({
  title: `a callback (${kind}) that was altered, cut or is not signed is refused`,
  check: async (bench) => {
    const request = accountRequest(bench, kind);
    await pay(bench, request, await bench.rail.openVirtualAccount(request));
    const sent = bench.callbacks().at(-1);
    assert.ok(sent !== undefined);
    const { headers, body } = sent;
    const refused = (change: Partial<typeof sent>, what: string): void =>
      assert.throws(
        () => bench.rail.parseCallback({ organisationId: bench.organisationId, headers, body, ...change }),
        RailCallbackInvalidError,
        what,
      );
    refused({ headers: {} }, 'no header');
    refused({ body: Buffer.alloc(0) }, 'no body');
    if (signed === 'fields') return;
    refused({ body: body.subarray(0, -1) }, 'a byte less');
    refused({ body: Buffer.concat([body, Buffer.from(' ')]) }, 'a byte more');
    for (let index = 0; index < body.length; index += 7) {
      const altered = Buffer.from(body);
      altered[index] = (altered[index] ?? 0) ^ 1;
      refused({ body: altered }, `another byte ${index}`);
    }
  },
});

const fieldsPromise = (kind: AccountRequest['kind']): RailPromise => ({
  title: `a callback (${kind}) with another signed field is refused, and with any other field the rail's books decide`,
  check: async (bench) => {
    const request = accountRequest(bench, kind);
    const account = await bench.rail.openVirtualAccount(request);
    const { sessionId } = await pay(bench, request, account);
    const sent = bench.callbacks().findLast((one) => one.body.includes(sessionId));
    assert.ok(sent !== undefined && bench.signedFields !== undefined, 'the bench lists the signed fields');
    const { organisationId, rail } = bench;
    const tree: unknown = JSON.parse(sent.body.toString('utf8'));
    const paths = leavesOf(tree);
    for (const path of bench.signedFields) assert.ok(paths.includes(path), `the callback has the field ${path}`);
    for (const path of paths) {
      const body = Buffer.from(JSON.stringify(altered(tree, path.split('.'))));
      const parse = (): RailCallback[] => rail.parseCallback({ organisationId, headers: sent.headers, body });
      if (bench.signedFields.includes(path)) {
        assert.throws(parse, RailCallbackInvalidError, `another ${path} must be refused`);
        continue;
      }
      for (const { sessionId: told, accountReference } of creditsOf(parse)) {
        const found = await rail.findInboundCredit({ organisationId, sessionId: told, accountReference });
        if (found === null || typeof found === 'string') continue;
        if (told === sessionId) {
          assert.equal(found.amount, amountOf(request), `the amount after another ${path}`);
          assertOf(found, request, account);
        } else {
          assert.notEqual(found.accountNumber, account.accountNumber, `the account after another ${path}`);
        }
      }
    }
  },
});

/** The credits of a callback; none: it is refused. */
function creditsOf(parse: () => RailCallback[]): InboundCreditReport[] {
  try {
    return parse().flatMap((one) => (one.kind === 'inbound_credit' ? [one.credit] : []));
  } catch (error) {
    assert.ok(error instanceof RailCallbackInvalidError, `a callback is refused, and not ${inspect(error)}`);
    return [];
  }
}

/** The paths of all texts, numbers, truth values and nulls of a JSON value. */
const leavesOf = (tree: unknown, path: readonly string[] = []): string[] =>
  typeof tree === 'object' && tree !== null
    ? Object.entries(tree).flatMap(([key, value]) => leavesOf(value, [...path, key]))
    : [path.join('.')];

function altered(tree: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key !== undefined) {
    const copy = Array.isArray(tree) ? [...(tree as unknown[])] : { ...(tree as Record<string, unknown>) };
    return Object.assign(copy, { [key]: altered((tree as Record<string, unknown>)[key], rest) });
  }
  if (typeof tree === 'number') return tree + 1;
  return typeof tree === 'string' ? tree.replace(/.$/, (last) => (last === '1' ? '2' : '1')) || '1' : '1';
}

const otherContractPromise = (kind: AccountRequest['kind']): RailPromise => ({
  title: `a callback (${kind}) of another contract is refused, and with our secret it is no credit of our account`,
  check: async (bench) => {
    const request = accountRequest(bench, kind);
    const account = await bench.rail.openVirtualAccount(request);
    const { organisationId, rail } = bench;
    const of = { reference: request.reference, accountNumber: account.accountNumber };
    const its = await bench.callbackOfAnother('its_own', of);
    assert.throws(() => rail.parseCallback({ organisationId, ...its }), RailCallbackInvalidError);
    const ours = await bench.callbackOfAnother('ours', of);
    if (bench.namesContract) {
      assert.throws(() => rail.parseCallback({ organisationId, ...ours }), RailCallbackInvalidError);
      return;
    }
    for (const { sessionId, accountReference } of creditsOf(() => rail.parseCallback({ organisationId, ...ours }))) {
      const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference });
      if (found === null || typeof found === 'string') continue;
      assert.notEqual(found.accountReference, request.reference);
      assert.notEqual(found.accountNumber, account.accountNumber);
    }
  },
});

const listPromise = (kind: AccountRequest['kind']): RailPromise => ({
  title: `the list of credits has a credit (${kind}) once, within its time and not outside`,
  check: async (bench) => {
    const request = accountRequest(bench, kind);
    const account = await bench.rail.openVirtualAccount(request);
    const { sessionId, amount } = await pay(bench, request, account);
    const now = bench.now().getTime();
    const count = async (from: number, to: number): Promise<number> => {
      let found = 0;
      for (let cursor: string | null = null; ; ) {
        const period = { from: new Date(from), to: new Date(to) };
        const page = await bench.rail.listInboundCredits({ organisationId: bench.organisationId, ...period, cursor });
        for (const credit of page.credits.filter((one) => one.sessionId === sessionId)) {
          found += 1;
          assert.equal(credit.amount, amount);
          assertOf(credit, request, account);
        }
        cursor = page.nextCursor;
        if (cursor === null) return found;
      }
    };
    assert.equal(await count(now - 3_600_000, now + 60_000), 1);
    assert.equal(await count(now + 60_000, now + 120_000), 0);
  },
});

const oneOffPromises = ({ amount, minAmount, lateMoney }: NonNullable<RailCapabilities['oneOff']>): RailPromise[] => [
  {
    title: `an account number for one payment accepts ${amount === 'exact' ? 'its amount only' : 'any amount'}`,
    check: async (bench) => {
      const request = accountRequest(bench, 'one_off');
      const account = await bench.rail.openVirtualAccount(request);
      const sessionId = await bench.payIn(account.accountNumber, amountOf(request) - 1);
      assert.equal(sessionId === null, amount === 'exact');
    },
  },
  {
    title: `amounts from ${minAmount} kobo to the largest of the API arrive exactly`,
    check: async (bench) => {
      for (const exact of [
        minAmount,
        minAmount + 1,
        minAmount + 99,
        100_010,
        99_999_999_999,
        AMOUNT_MAX - 1,
        AMOUNT_MAX,
      ]) {
        const request = accountRequest(bench, 'one_off', { amount: exact });
        const { organisationId, rail } = bench;
        const { sessionId } = await pay(bench, request, await rail.openVirtualAccount(request));
        const at = { organisationId, sessionId, accountReference: request.reference };
        const found = await rail.findInboundCredit(at);
        assert.ok(found !== null && typeof found === 'object' && found.amount === exact, `${exact}: ${inspect(found)}`);
      }
    },
  },
  {
    title: `money to a closed account number is ${lateMoney}`,
    check: async (bench) => {
      const request = accountRequest(bench, 'one_off');
      const account = await bench.rail.openVirtualAccount(request);
      await bench.rail.closeVirtualAccount(opened(request, account));
      const sessionId = await bench.payIn(account.accountNumber, amountOf(request));
      assert.equal(sessionId === null, lateMoney === 'bounced');
    },
  },
  {
    title: 'an aborted call does not open an account number, and says why',
    check: async (bench) => {
      const reason = new Error('the attempt is over');
      const call = bench.rail.openVirtualAccount(accountRequest(bench, 'one_off'), AbortSignal.abort(reason));
      await assert.rejects(call, (error) => error === reason);
    },
  },
  ...(minAmount > 1
    ? [
        {
          title: 'an amount below the least is refused',
          check: async (bench: RailBench) => {
            const request = accountRequest(bench, 'one_off', { amount: minAmount - 1 });
            await fails(bench, 'RailRefusedError', bench.rail.openVirtualAccount(request));
          },
        },
      ]
    : []),
];

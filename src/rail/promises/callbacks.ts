// Promises about callbacks: they arrive, are signed, and no one else can make one.
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { RailCallbackInvalidError } from '../errors.ts';
import type { RailCallback } from '../port.ts';
import { until } from './control.ts';
import { assertOf, payIn } from './credits.ts';
import { poll, type RailHarness, type SentCallback } from './harness.ts';
import { type ControlledHarness, type Finding, fail, pass, type RailPromise, underControl, warn } from './promise.ts';
import { amountOf, instruct, KINDS, type Kind } from './requests.ts';

const POLL_EVERY_MS = 5_000;
const DUE_AFTER_MS = 60_000;

/** Null: it is not valid. */
function read({ rail, organisationId }: RailHarness, sent: SentCallback): RailCallback[] | null {
  try {
    return rail.parseCallback({ organisationId, ...sent });
  } catch (error) {
    if (error instanceof RailCallbackInvalidError) return null;
    throw error;
  }
}

async function signature(harness: RailHarness): Promise<Finding> {
  const { callbacks, facts, isLive } = harness;
  const references = new Set([
    ...facts.credits.map(({ accountReference }) => accountReference),
    ...facts.paid.map(({ reference }) => reference),
  ]);
  const isOurs = (event: RailCallback): boolean =>
    (event.kind === 'transfer_update' && references.has(event.reference)) ||
    (event.kind === 'inbound_credit' && references.has(event.hint.accountReference));
  const events = () => (callbacks?.() ?? []).map((sent) => read(harness, sent));
  if (await poll(harness, POLL_EVERY_MS, DUE_AFTER_MS, () => events().some((one) => one?.some(isOurs) === true)))
    return pass('a callback arrived, is signed, and reports what this check did');
  const arrived = events();
  const invalid = arrived.filter((one) => one === null).length;
  if (invalid === 0)
    return fail(
      'no callback reported this check',
      'Enter the address of --listen at the provider, as seen from outside.',
    );
  const text = `${invalid} of ${arrived.length} callbacks are not signed as documented`;
  return isLive
    ? fail(text, 'Compare the signature key (`rail rotate`); ask the provider to sign callbacks.')
    : warn(text, 'Some sandboxes do not sign. Credits arrive when they are polled for.');
}

/** The callback that reported a credit. */
async function callbackOf(harness: ControlledHarness, sessionId: string): Promise<SentCallback> {
  return await until(
    harness,
    'the callback',
    () => harness.callbacks?.().findLast((one) => one.body.includes(sessionId)) ?? null,
  );
}

const forged = (kind: Kind): RailPromise =>
  underControl(
    `callback.forged.${kind}`,
    'a callback that was altered, cut or is not signed is refused',
    async (harness) => {
      const { credit } = await payIn(harness, kind);
      const { headers, body } = await callbackOf(harness, credit.sessionId);
      const refused = (change: Partial<SentCallback>, what: string): void =>
        assert.equal(read(harness, { headers, body, ...change }), null, what);
      refused({ headers: {} }, 'no header');
      refused({ body: Buffer.alloc(0) }, 'no body');
      if (harness.rail.capabilities.callbacks.signed === 'fields') return;
      refused({ body: body.subarray(0, -1) }, 'a byte less');
      refused({ body: Buffer.concat([body, Buffer.from(' ')]) }, 'a byte more');
      for (let index = 0; index < body.length; index += 7) {
        const altered = Buffer.from(body);
        altered[index] = (altered[index] ?? 0) ^ 1;
        refused({ body: altered }, `another byte ${index}`);
      }
    },
  );

const signedFields = (kind: Kind): RailPromise =>
  underControl(
    `callback.fields.${kind}`,
    "a callback with another signed field is refused, and with any other field the rail's books decide",
    async (harness) => {
      const { rail, organisationId, control } = harness;
      if (rail.capabilities.callbacks.signed !== 'fields') return;
      const { request, account, credit } = await payIn(harness, kind);
      const { headers, body } = await callbackOf(harness, credit.sessionId);
      const { signedFields: signed } = control;
      assert.ok(signed !== undefined, 'the harness lists the signed fields');
      const tree: unknown = JSON.parse(body.toString('utf8'));
      const paths = leavesOf(tree);
      for (const path of signed) assert.ok(paths.includes(path), `the callback has the field ${path}`);
      for (const path of paths) {
        const callback = { headers, body: Buffer.from(JSON.stringify(altered(tree, path.split('.')))) };
        if (signed.includes(path)) {
          assert.equal(read(harness, callback), null, `another ${path} must be refused`);
          continue;
        }
        for (const { sessionId, hint, sender } of creditsOf(harness, callback)) {
          assert.equal(sender, null, 'a sender that is not signed');
          const { accountReference } = hint;
          const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference });
          if (found === null || typeof found === 'string') continue;
          if (sessionId === credit.sessionId) {
            assert.equal(found.amount, amountOf(request), `the amount after another ${path}`);
            assertOf(found, { request, account });
          } else {
            assert.notEqual(found.accountNumber, account.accountNumber, `the account after another ${path}`);
          }
        }
      }
    },
  );

/** The credits of a callback; none: it is refused. */
const creditsOf = (harness: RailHarness, sent: SentCallback) =>
  (read(harness, sent) ?? []).filter((one) => one.kind === 'inbound_credit');

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

const ofAnother = (kind: Kind): RailPromise =>
  underControl(
    `callback.another_contract.${kind}`,
    'a callback of another contract is refused, and with our secret it is no credit of our account',
    async (harness) => {
      const { rail, organisationId, control } = harness;
      const { request, account } = await payIn(harness, kind);
      const of = { reference: request.reference, accountNumber: account.accountNumber };
      assert.equal(read(harness, await control.callbackOfAnother('its_own', of)), null);
      const ours = await control.callbackOfAnother('ours', of);
      if (control.namesContract) return assert.equal(read(harness, ours), null);
      for (const { sessionId, hint } of creditsOf(harness, ours)) {
        const { accountReference } = hint;
        const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference });
        assert.ok(
          found === null || typeof found === 'string' || found.accountReference !== request.reference,
          inspect(found),
        );
        assert.ok(found === null || typeof found === 'string' || found.accountNumber !== account.accountNumber);
      }
    },
  );

/** After the transfers, of which it may report too. */
export const callbackPromises: readonly RailPromise[] = [
  { id: 'callback.signature', needs: ['callbacks', 'trace'], after: ['auth.login'], run: signature },
  underControl(
    'callback.transfer',
    'the end of a transfer is reported by a callback with its reference',
    async (harness) => {
      const { rail, control, callbacks } = harness;
      const instruction = await instruct(harness);
      await rail.sendTransfer(instruction);
      await control.end(instruction.reference, 'complete');
      const isOfIt = (one: RailCallback): boolean =>
        one.kind === 'transfer_update' && one.reference === instruction.reference;
      await until(harness, 'the callback of a transfer', () =>
        (callbacks?.() ?? []).some((sent) => read(harness, sent)?.some(isOfIt)),
      );
    },
  ),
  ...KINDS.map(forged),
  ...KINDS.map(signedFields),
  ...KINDS.map(ofAnother),
];

// Promises about callbacks, with a fake of the provider: no one else can make one.
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { RailCallbackInvalidError } from '../../../src/rail/errors.ts';
import type { RailCallback } from '../../../src/rail/port.ts';
import type { RailHarness } from '../../../src/rail/promises/harness.ts';
import type { Kind } from '../../../src/rail/promises/requests.ts';
import {
  amountOf,
  type ControlledHarness,
  instruct,
  KINDS,
  type SentCallback,
  type TriedPromise,
  underControl,
  until,
} from './control.ts';
import { assertOf, payIn } from './credits.ts';

/** Null: it is not valid. */
function readCallback({ rail, organisationId }: RailHarness, sent: SentCallback): RailCallback[] | null {
  try {
    return rail.parseCallback({ organisationId, ...sent });
  } catch (error) {
    if (error instanceof RailCallbackInvalidError) return null;
    throw error;
  }
}

/** The callback that reported a credit. */
async function callbackOf(harness: ControlledHarness, sessionId: string): Promise<SentCallback> {
  return await until(
    harness,
    'the callback',
    () => harness.callbacks().findLast((one) => one.body.includes(sessionId)) ?? null,
  );
}

const forged = (kind: Kind): TriedPromise =>
  underControl(
    `callback.forged.${kind}`,
    'a callback that was altered, cut or is not signed is refused',
    async (harness) => {
      const { credit } = await payIn(harness, kind);
      const { headers, body } = await callbackOf(harness, credit.sessionId);
      const refused = (change: Partial<SentCallback>, what: string): void =>
        assert.equal(readCallback(harness, { headers, body, ...change }), null, what);
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

const signedFields = (kind: Kind): TriedPromise =>
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
          assert.equal(readCallback(harness, callback), null, `another ${path} must be refused`);
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
  (readCallback(harness, sent) ?? []).filter((one) => one.kind === 'inbound_credit');

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

const ofAnother = (kind: Kind): TriedPromise =>
  underControl(
    `callback.another_contract.${kind}`,
    'a callback of another contract is refused, and with our secret it is no credit of our account',
    async (harness) => {
      const { rail, organisationId, control } = harness;
      const { request, account } = await payIn(harness, kind);
      const of = { reference: request.reference, accountNumber: account.accountNumber };
      assert.equal(readCallback(harness, await control.callbackOfAnother('its_own', of)), null);
      const ours = await control.callbackOfAnother('ours', of);
      if (control.namesContract) return assert.equal(readCallback(harness, ours), null);
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

export const callbacksUnderControl: readonly TriedPromise[] = [
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
        callbacks().some((sent) => readCallback(harness, sent)?.some(isOfIt)),
      );
    },
  ),
  ...KINDS.map(forged),
  ...KINDS.map(signedFields),
  ...KINDS.map(ofAnother),
];

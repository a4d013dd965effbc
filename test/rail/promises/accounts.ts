// Promises about account numbers, with a fake of the provider.
import assert from 'node:assert/strict';
import { accountRequest, type Kind, ODD_AMOUNT, openedAs } from '../../../src/rail/promises/requests.ts';
import { fails, KINDS, type TriedPromise, underControl } from './control.ts';

const lost = (kind: Kind): TriedPromise =>
  underControl(
    `account.lost.${kind}`,
    'a number whose response was lost is found again, and accepts money; another reference gets another number',
    async (harness) => {
      const { rail, control } = harness;
      const request = accountRequest(harness, kind);
      await control.openLosing(request).catch(() => {}); // it may find the account by itself
      const { accountNumber } = await rail.openVirtualAccount(request);
      assert.equal((await rail.openVirtualAccount(request)).accountNumber, accountNumber);
      assert.notEqual((await rail.openVirtualAccount(accountRequest(harness, kind))).accountNumber, accountNumber);
      assert.ok((await control.payIn(accountNumber, ODD_AMOUNT)) !== null);
    },
  );

export const accountsUnderControl: readonly TriedPromise[] = [
  ...KINDS.map(lost),
  underControl(
    'account.late_money',
    'money to a closed number is accepted or sent back as the adapter declares',
    async (harness) => {
      const { rail, control } = harness;
      const request = accountRequest(harness, 'one_off');
      const account = await rail.openVirtualAccount(request);
      await rail.closeVirtualAccount(openedAs(request, account));
      const sessionId = await control.payIn(account.accountNumber, ODD_AMOUNT);
      assert.equal(sessionId === null, rail.capabilities.oneOff.lateMoney === 'bounced');
    },
  ),
  underControl('account.aborted', 'an aborted call opens nothing, and throws the reason', async (harness) => {
    const reason = new Error('the attempt is over');
    const request = accountRequest(harness, 'one_off');
    const call = harness.rail.openVirtualAccount(request, AbortSignal.abort(reason));
    await assert.rejects(call, (error) => error === reason);
  }),
  underControl('account.least', 'an amount below the least is refused', async (harness) => {
    const { minAmount } = harness.rail.capabilities.oneOff;
    if (minAmount === 1) return;
    const request = { ...accountRequest(harness, 'one_off'), amount: minAmount - 1 };
    await fails(harness, 'RailRefusedError', harness.rail.openVirtualAccount(request));
  }),
];

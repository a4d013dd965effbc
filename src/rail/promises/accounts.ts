// Promises about account numbers. Each closes what it opened.
import assert from 'node:assert/strict';
import { fails } from './control.ts';
import { type Finding, fault, pass, type RailPromise, underControl } from './promise.ts';
import { accountRequest, KINDS, type Kind, ODD_AMOUNT, openedAs } from './requests.ts';

const EXPIRY_APART_MAX_MS = 60_000;

/** Opens an account number twice, and closes it twice. */
const opens = (kind: Kind): RailPromise => ({
  id: `account.${kind}`,
  needs: kind === 'permanent' ? ['bvn'] : [],
  after: ['auth.login'],
  run: async (harness) => {
    const { rail, limit } = harness;
    const request = accountRequest(harness, kind);
    const account = await rail.openVirtualAccount(request, limit());
    const again = await rail.openVirtualAccount(request, limit());
    const closes = kind === 'permanent' || rail.capabilities.oneOff.closes;
    if (closes)
      for (let time = 0; time < 2; time += 1) await rail.closeVirtualAccount(openedAs(request, account), limit());
    if (!/^[0-9]{10}$/.test(account.accountNumber)) return fault('the account number does not have ten digits');
    if (again.accountNumber !== account.accountNumber)
      return fault('the same reference was given another number', 'a lost response would leave an unwatched number');
    if (request.kind === 'permanent')
      return account.expiresAt === null
        ? pass('opened, the same number for the same reference, closes')
        : fault('the number of a wallet expires');
    return (
      wrongExpiry(request.expiresAt, account.expiresAt) ??
      pass('opened with kobo, the same number for the same reference, expires as asked for, closes')
    );
  },
});

/** Null: it is as asked for. */
function wrongExpiry(asked: Date, expiresAt: Date | null): Finding | null {
  if (expiresAt === null) return fault('the number never expires');
  const apart = Math.abs(expiresAt.getTime() - asked.getTime());
  if (apart <= EXPIRY_APART_MAX_MS) return null;
  return fault(
    `the number expires ${Math.round(apart / 60_000)} minutes from what was asked for`,
    'the provider uses another time zone than the adapter',
  );
}

const lost = (kind: Kind): RailPromise =>
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

export const accountPromises: readonly RailPromise[] = [
  ...KINDS.map(opens),
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

// Promises about account numbers. Each closes what it opened.
import { type Finding, fault, pass, type RailPromise } from './promise.ts';
import { accountRequest, type Kind, openedAs } from './requests.ts';

const EXPIRY_APART_MAX_MS = 60_000;

/** Opens an account number twice, and closes it twice. */
export const opens =
  (kind: Kind): RailPromise['run'] =>
  async (harness) => {
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
  };

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

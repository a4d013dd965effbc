// Account numbers. Our reference is Nomba's. No amount is set, so that an account number accepts any, and that of a
// payment stays open for late money.
import type { z } from 'zod';
import { closeAccount, openAccount } from '../adapterCalls.ts';
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { unclear } from '../errors.ts';
import type { HttpRequest } from '../http.ts';
import type { AccountRequest, BankRail, VirtualAccount } from '../port.ts';
import { lagosText, narrationOf } from '../texts.ts';
import { accountData } from './wire.ts';

const NAME_MIN = 8;
const NAME_MAX = 64;
/** Without an expiry an account number lives five minutes. */
const NEVER = '2099-12-31 23:59:59';

/**
 * The number of a payment accepts money for a week after the payment has ended: what comes late goes to suspense and to
 * an operator, instead of back to the payer or nowhere. A transfer that is delayed between banks comes within days.
 */
const LATE_MONEY_MS = 7 * 86_400_000;

/**
 * The zone of an expiry is not documented. It is written for Lagos: if Nomba reads it as UTC, the number closes an hour
 * later, which costs nothing.
 */
function expiryOf(request: AccountRequest): string {
  if (request.kind === 'permanent') return NEVER;
  return lagosText(new Date(request.expiresAt.getTime() + LATE_MONEY_MS));
}

/** Nomba demands 8 to 64 characters. */
function nameOf(name: string): string {
  const plain = narrationOf(name, 'Customer');
  return (plain.length < NAME_MIN ? `${plain} Account` : plain).slice(0, NAME_MAX).trimEnd();
}

export function createAccounts(
  client: ProviderClient,
  banks: BankList,
): Pick<BankRail, 'openVirtualAccount' | 'closeVirtualAccount'> {
  const at = (method: 'GET' | 'DELETE', reference: string): HttpRequest => ({
    method,
    route: '/v1/accounts/virtual/{accountRef}',
    params: { accountRef: reference },
  });

  async function accountOf(request: AccountRequest, account: z.infer<typeof accountData>): Promise<VirtualAccount> {
    if (account.accountRef !== request.reference) throw unclear('nomba', 'the response is about another account');
    const { bankAccountNumber: accountNumber, bankAccountName: accountName, bankName } = account;
    const list = await banks.load().catch(() => []);
    const bankCode = list.find(({ name }) => name.toLowerCase() === bankName.toLowerCase())?.code ?? null;
    const expiresAt = request.kind === 'one_off' ? request.expiresAt : null;
    return { accountNumber, accountName, bankName, bankCode, expiresAt };
  }

  return {
    openVirtualAccount(request, signal) {
      const creation: HttpRequest = {
        method: 'POST',
        route: '/v1/accounts/virtual',
        body: JSON.stringify({
          accountRef: request.reference,
          accountName: nameOf(request.holder.name),
          currency: 'NGN',
          expiryDate: expiryOf(request),
        }),
      };
      return openAccount(
        client,
        creation,
        (response) => accountOf(request, response.read(accountData)),
        async () => {
          const found = await client.find(at('GET', request.reference), accountData, signal);
          return found && (await accountOf(request, found));
        },
        signal,
      );
    },

    /** The number of a payment closes by itself, once no more late money is expected. */
    async closeVirtualAccount({ kind, reference }, signal) {
      if (kind === 'one_off') return;
      const isClosed = async (): Promise<boolean> =>
        (await client.read(at('GET', reference), accountData, signal)).expired === true;
      await closeAccount(client, at('DELETE', reference), isClosed, signal);
    },
  };
}

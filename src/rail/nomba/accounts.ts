// Account numbers. Our reference is Nomba's, so what was opened by a request whose response was lost is found again. No
// amount is set, so that an account number takes any, and that of a payment stays open for late money.
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { RailUnavailableError } from '../errors.ts';
import type { HttpRequest } from '../http.ts';
import type { AccountRequest, OpenedAccount, VirtualAccount } from '../port.ts';
import { narrationOf } from '../texts.ts';
import { outcomeOf } from './outcomes.ts';
import { accountData } from './wire.ts';

const LAGOS_OFFSET_MS = 3_600_000;
const NAME_MIN = 8;
const NAME_MAX = 64;
/** Without an expiry an account number lives five minutes. */
const NEVER = '2099-12-31 23:59:59';

/**
 * The number of a payment takes money for a week longer than the payment does: what comes late goes to suspense and to
 * an operator, instead of back to the payer or nowhere. A transfer that is delayed between banks comes within days.
 */
const LATE_MONEY_MS = 7 * 86_400_000;

/**
 * The zone of an expiry is not documented. It is written for Lagos: if Nomba reads it as UTC, the number closes an hour
 * later, which costs nothing.
 */
function expiryOf(request: AccountRequest): string {
  if (request.kind === 'permanent') return NEVER;
  const closesAt = request.expiresAt.getTime() + LATE_MONEY_MS;
  return new Date(Math.ceil(closesAt / 1_000) * 1_000 + LAGOS_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** Nomba demands 8 to 64 characters. */
function nameOf(name: string): string {
  const plain = narrationOf(name, 'Customer');
  return (plain.length < NAME_MIN ? `${plain} Account` : plain).slice(0, NAME_MAX).trimEnd();
}

export function createAccounts(client: ProviderClient, banks: BankList) {
  const query = (reference: string): HttpRequest => ({
    method: 'GET',
    route: '/v1/accounts/virtual/{accountRef}',
    params: { accountRef: reference },
  });

  async function accountOf(
    request: AccountRequest,
    made: HttpRequest,
    response: Awaited<ReturnType<ProviderClient['call']>>,
  ): Promise<VirtualAccount> {
    const account = client.parse(made, response, accountData);
    if (account.accountRef !== request.reference) {
      throw new RailUnavailableError('nomba: the response is about another account');
    }
    const { bankAccountNumber: accountNumber, bankAccountName: accountName, bankName } = account;
    const list = await banks.load().catch(() => []);
    const bankCode = list.find(({ name }) => name.toLowerCase() === bankName.toLowerCase())?.code ?? null;
    const expiresAt = request.kind === 'one_off' ? request.expiresAt : null;
    return { accountNumber, accountName, bankName, bankCode, railReference: null, expiresAt };
  }

  return {
    async open(request: AccountRequest, signal?: AbortSignal): Promise<VirtualAccount> {
      const made: HttpRequest = {
        method: 'POST',
        route: '/v1/accounts/virtual',
        body: JSON.stringify({
          accountRef: request.reference,
          accountName: nameOf(request.accountName),
          currency: 'NGN',
          expiryDate: expiryOf(request),
        }),
      };
      let lost: Error;
      try {
        const response = await client.call(made, signal);
        const outcome = outcomeOf(response);
        if (outcome.kind === 'ok') return await accountOf(request, made, response);
        lost = outcome.kind === 'refused' ? client.refusal(response) : client.failure(made, response, outcome);
        if (outcome.kind === 'not_ready') throw lost;
      } catch (error) {
        if (!(error instanceof RailUnavailableError)) throw error;
        lost = error;
      }
      // It may be open all the same, by this request or by an earlier one.
      const at = query(request.reference);
      const response = await client.call(at, signal);
      const outcome = outcomeOf(response);
      if (outcome.kind === 'ok') return await accountOf(request, at, response);
      if (outcome.kind === 'absent') throw lost;
      throw client.failure(at, response, outcome);
    },

    /** The number of a payment closes by itself, once no more late money is expected. */
    async close({ kind, reference }: OpenedAccount, signal?: AbortSignal): Promise<void> {
      if (kind === 'one_off') return;
      const removal: HttpRequest = {
        method: 'DELETE',
        route: '/v1/accounts/virtual/{accountRef}',
        params: { accountRef: reference },
      };
      const response = await client.call(removal, signal);
      const outcome = outcomeOf(response);
      if (outcome.kind === 'ok' || outcome.kind === 'absent') return;
      if (outcome.kind === 'not_ready') throw client.failure(removal, response, outcome);
      const at = query(reference);
      const { expired } = await client.read(at, accountData, signal);
      if (expired !== true) throw client.failure(removal, response, outcome);
    },
  };
}

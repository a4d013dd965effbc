// Opening and closing an account number at a provider that keeps our reference of it, so that what was opened by a
// request whose response was lost is found again.
import type { ProviderClient, ProviderResponse } from './client.ts';
import { RailUnavailableError } from './errors.ts';
import type { HttpRequest } from './http.ts';
import type { VirtualAccount } from './port.ts';

/** `read`: the account of a response. `find`: the account under our reference; null: there is none. */
export async function openAccount(
  client: ProviderClient,
  creation: HttpRequest,
  read: (response: ProviderResponse) => VirtualAccount | Promise<VirtualAccount>,
  find: () => Promise<VirtualAccount | null>,
  signal?: AbortSignal,
): Promise<VirtualAccount> {
  let lost: Error;
  try {
    const response = await client.call(creation, signal);
    const { kind } = response.outcome;
    if (kind === 'ok') return await read(response);
    lost = kind === 'refused' ? response.refusal() : response.failure();
    if (kind === 'not_ready') throw lost;
  } catch (error) {
    if (!(error instanceof RailUnavailableError)) throw error;
    lost = error;
  }
  // It may be open all the same, by this request or by an earlier one.
  const account = await find();
  if (account === null) throw lost;
  return account;
}

/** `isClosed`: what the provider reports of an account that it did not close now, whatever the refusal says. */
export async function closeAccount(
  client: ProviderClient,
  removal: HttpRequest,
  isClosed: () => Promise<boolean>,
  signal?: AbortSignal,
): Promise<void> {
  const response = await client.call(removal, signal);
  const { kind } = response.outcome;
  if (kind === 'ok' || kind === 'absent') return;
  if (kind === 'not_ready' || !(await isClosed())) throw response.failure();
}

// Callbacks of the sandbox bank, sent by a test.
import { publicId } from '../../src/ids.ts';
import { SIGNATURE_HEADER, signCallback } from '../../src/rail/sandbox/callbacks.ts';
import type { TestApi } from './api.ts';

/** Tells the API that the bank has news of a transfer, as the bank does. */
export const callBack = (api: TestApi, reference: string): Promise<void> =>
  sendCallback(api, { type: 'transfer_update', reference });

/** Sends a signed callback about the default organisation. */
export async function sendCallback(api: TestApi, content: object): Promise<void> {
  const { organisationId } = api.organisation;
  const body = JSON.stringify({ contract: organisationId, ...content });
  const headers = { [SIGNATURE_HEADER]: signCallback(api.dependencies.config.keyring, body, new Date()) };
  const address = `/rails/sandbox/callbacks/${publicId('organisation', organisationId)}`;
  const { status, text } = await api.client(null).call('POST', address, { body, headers });
  if (status !== 200) throw new Error(`the callback was not received: ${text}`);
}

// The flow of one refund to a bank; a refund to a wallet is posted by the request. The money was moved from the wallet
// to transit when the request was accepted.
//
//   1. Drive the bank transfer to its end.   Compensation of the hold: if the transfer fails or is returned, the money
//      goes back.
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import type { BankTransferInput } from '../bankTransfer/messages.ts';
import type { FlowResult } from '../flows.ts';

export async function refund(input: BankTransferInput): Promise<FlowResult<'completed' | 'failed'>> {
  const status = await driveBankTransfer(input);
  return { status: status === 'completed' ? 'completed' : 'failed' };
}

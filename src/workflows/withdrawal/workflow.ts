// The flow of one withdrawal. The money was moved from the wallet to transit when the request was accepted.
//
//   1. Drive the bank transfer to its end.   Compensation of the hold: if the transfer fails or is returned, amount and
//      fee go back.
import type { TransferState } from '../bankTransfer/decide.ts';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import type { BankTransferInput } from '../bankTransfer/messages.ts';
import type { FlowResult } from '../flows.ts';

export async function withdrawal(input: BankTransferInput): Promise<FlowResult<TransferState>> {
  return { status: await driveBankTransfer(input) };
}

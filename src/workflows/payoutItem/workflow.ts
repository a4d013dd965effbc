// The flow of one payout item. Its money is in the payout's reserve from the moment when the request was accepted.
//
// It drives the bank transfer to its end. The first send makes the name enquiry and moves the money from the reserve to
// transit.   Compensation of both moves: amount and fee go back if the item cannot be sent, fails or is returned.
// The step that ends the item also rolls up its payout, so the flow of the payout need not be running by then.
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import type { BankTransferInput } from '../bankTransfer/messages.ts';
import type { FlowResult } from '../flows.ts';

export async function payoutItem(input: BankTransferInput): Promise<FlowResult<'completed' | 'failed'>> {
  const status = await driveBankTransfer(input);
  return { status: status === 'completed' ? 'completed' : 'failed' };
}

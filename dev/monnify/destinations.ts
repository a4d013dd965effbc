// How the Monnify fake treats transfers, by the destination account. Any other account completes them.
import type { TransferStep } from './book.ts';

const pending = { status: 'PENDING' };
const running = { status: 'IN_PROGRESS' };
const success = { status: 'SUCCESS', comment: 'Transaction successful' };

export const DESTINATIONS: Record<string, readonly TransferStep[]> = {
  // Refused by the receiving bank, for good.
  '8000000001': [pending, running, { status: 'FAILED', comment: 'Dormant beneficiary account' }],
  // Failed with words that mean nothing yet, and paid after all.
  '8000000002': [pending, { status: 'FAILED', comment: 'Delayed processing from NIP' }, success],
  // Paid, and back after days.
  '8000000003': [pending, success, { status: 'REVERSED', comment: 'Reversed by the receiving bank' }],
  // Waits for a one-time password that nobody enters.
  '8000000004': [{ status: 'PENDING_AUTHORIZATION' }, { status: 'EXPIRED' }],
  // A status that no documentation has.
  '8000000005': [{ status: 'QUEUED_FOR_CLEARING' }, success],
  // Stays in progress.
  '8000000007': [pending],
  // Completed at once, with the other word for it.
  '8000000008': [{ status: 'COMPLETED' }],
  // Refused for the balance, although it was accepted.
  '8000000009': [
    pending,
    {
      status: 'FAILED',
      comment: 'You do not have sufficient balance to process this request. Please fund your account and try again.',
    },
  ],
};

const COMPLETES: readonly TransferStep[] = [pending, running, success];

/** This account does not exist: name enquiry finds nothing. */
export const UNKNOWN_ACCOUNT = '8000000006';

export const stepsTo = (accountNumber: string): TransferStep[] => [...(DESTINATIONS[accountNumber] ?? COMPLETES)];

/** No bank issues this number. */
const NO_ACCOUNT = '0000000000';

/** The name of the holder, as name enquiry has it; null: there is no such account. */
export const holderOf = (accountNumber: string): string | null =>
  accountNumber === UNKNOWN_ACCOUNT || accountNumber === NO_ACCOUNT ? null : `ADA ${accountNumber.slice(-4)} OBI`;

export const BANKS = [
  ['Access bank', '044', '000014'],
  ['Citibank', '023', '000009'],
  ['Ecobank', '050', '000010'],
  ['Fidelity bank', '070', '000007'],
  ['First bank', '011', '000016'],
  ['First City Monument Bank', '214', '000003'],
  ['Globus bank', '00103', '000027'],
  ['GTBank', '058', '000013'],
  ['Heritage bank', '030', '000020'],
  ['Jaiz bank', '301', '000006'],
  ['Keystone bank', '082', '000002'],
  ['Kuda bank', '50211', '090267'],
  ['Moniepoint Microfinance Bank', '50515', '090405'],
  ['Palmpay', '100033', '100033'],
  ['Paycom (Opay)', '305', '100004'],
  ['Polaris bank', '076', '000008'],
  ['Stanbic IBTC bank', '221', '000012'],
  ['Standard Chartered bank', '068', '000021'],
  ['Sterling bank', '232', '000001'],
  ['Union bank', '032', '000018'],
  ['United Bank For Africa', '033', '000004'],
  ['Unity bank', '215', '000011'],
  ['Wema bank', '035', '000017'],
  ['Zenith bank', '057', '000015'],
].map(([name = '', code = '', nipBankCode = '']) => ({ name, code, nipBankCode }));

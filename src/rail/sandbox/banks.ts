// The banks that the sandbox bank can send to: itself, and the real banks with the codes of the Central Bank of
// Nigeria, so that an integrator's bank list works in the sandbox as in live.
import type { Bank } from '../port.ts';

/** The sandbox bank itself. No real bank has this code. */
export const SANDBOX_BANK: Bank = { code: '999', name: 'Sandbox Bank', nipCode: null };

/** Sorted by name. A code has three digits for a deposit money bank and five or six for most others. */
export const BANKS: readonly Bank[] = [
  { code: '044', name: 'Access Bank', nipCode: '000014' },
  { code: '023', name: 'Citibank Nigeria', nipCode: '000009' },
  { code: '050', name: 'Ecobank Nigeria', nipCode: '000010' },
  { code: '070', name: 'Fidelity Bank', nipCode: '000007' },
  { code: '011', name: 'First Bank of Nigeria', nipCode: '000016' },
  { code: '214', name: 'First City Monument Bank', nipCode: '000003' },
  { code: '103', name: 'Globus Bank', nipCode: '000027' },
  { code: '058', name: 'Guaranty Trust Bank', nipCode: '000013' },
  { code: '301', name: 'Jaiz Bank', nipCode: '000006' },
  { code: '082', name: 'Keystone Bank', nipCode: '000002' },
  { code: '50211', name: 'Kuda Microfinance Bank', nipCode: '090267' },
  { code: '303', name: 'Lotus Bank', nipCode: '000029' },
  { code: '50515', name: 'Moniepoint Microfinance Bank', nipCode: '090405' },
  { code: '999992', name: 'OPay', nipCode: '100004' },
  { code: '999991', name: 'PalmPay', nipCode: '100033' },
  { code: '104', name: 'Parallex Bank', nipCode: '000030' },
  { code: '076', name: 'Polaris Bank', nipCode: '000008' },
  { code: '101', name: 'Providus Bank', nipCode: '000023' },
  SANDBOX_BANK,
  { code: '221', name: 'Stanbic IBTC Bank', nipCode: '000012' },
  { code: '068', name: 'Standard Chartered Bank Nigeria', nipCode: '000021' },
  { code: '232', name: 'Sterling Bank', nipCode: '000001' },
  { code: '100', name: 'SunTrust Bank', nipCode: '000022' },
  { code: '302', name: 'TAJBank', nipCode: '000026' },
  { code: '032', name: 'Union Bank of Nigeria', nipCode: '000018' },
  { code: '033', name: 'United Bank for Africa', nipCode: '000004' },
  { code: '215', name: 'Unity Bank', nipCode: '000011' },
  { code: '035', name: 'Wema Bank', nipCode: '000017' },
  { code: '057', name: 'Zenith Bank', nipCode: '000015' },
];

export const isBankCode = (code: string): boolean => BANKS.some((bank) => bank.code === code);

// The ledger accounts of the money at a rail: two where it settles later, one for collections and one for payouts.
import { type AccountCode, clearingAccount, floatAccount } from '../../ledger/chart.ts';
import { providerNamed } from '../../rail/providers.ts';

/** Whether transfers are paid from another balance than the one that collects. */
const hasFloat = (rail: string): boolean => providerNamed(rail)?.capabilities.credits.settles === 'later';

/** The money that transfers are paid from, and come back to. */
export const payoutAccount = (rail: string): AccountCode =>
  hasFloat(rail) ? floatAccount(rail) : clearingAccount(rail);

/** Every account of the money at a rail. */
export const railAccounts = (rail: string): AccountCode[] => [...new Set([clearingAccount(rail), payoutAccount(rail)])];

export const chargeReference = ({ kind, reference }: { kind: string; reference: string }): string =>
  `${kind}:${reference}`;

/** The balance of a charge: that of a credit, recalled or not, is of what is collected, any other of what pays out. */
export const chargedAccount = ({ rail, reference }: { rail: string; reference: string }): AccountCode =>
  /^(credit|recalled):/.test(reference) ? clearingAccount(rail) : payoutAccount(rail);

// The holder of an account number at any bank, and how a transfer to it ends: the presets of docs/sandbox.md, and names
// generated from the number. Both can be overridden per account (`SandboxTransfers.setDestination`).
import { createHash } from 'node:crypto';

/** How a transfer that the bank accepted ends. */
export const OUTCOMES = ['complete', 'reject', 'return'] as const;
export type Outcome = (typeof OUTCOMES)[number];

const OTHER_BEHAVIOURS = ['hold', 'timeout_delivered', 'timeout_lost', 'unavailable', 'underfunded'] as const;
export const BEHAVIOURS = [...OUTCOMES, ...OTHER_BEHAVIOURS] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

/** What happens to a transfer to an account: whether it reaches the bank and is accepted, and how it ends then. */
export const TREATMENTS: Record<Behaviour, { isAccepted: boolean; outcome: Outcome | null }> = {
  complete: { isAccepted: true, outcome: 'complete' },
  reject: { isAccepted: true, outcome: 'reject' },
  return: { isAccepted: true, outcome: 'return' },
  /** It stays `processing` until it is resolved. */
  hold: { isAccepted: true, outcome: null },
  /** The response is lost. */
  timeout_delivered: { isAccepted: true, outcome: 'complete' },
  /** The request is lost. */
  timeout_lost: { isAccepted: false, outcome: null },
  /** The bank does not respond. */
  unavailable: { isAccepted: false, outcome: null },
  /** The balance that the bank pays from is too low for now. */
  underfunded: { isAccepted: false, outcome: null },
};

/** An account at some bank, or the override of one. */
export interface Destination {
  /** The name that name enquiry returns. Null: it finds no account; in an override: the account keeps its name. */
  name: string | null;
  behaviour: Behaviour;
}

/** The accounts with preset behaviour. One without a `name` has the name generated from its number. */
const PRESETS: Readonly<Record<string, { behaviour: Behaviour; name?: string | null }>> = {
  '9999999001': { behaviour: 'reject' },
  '9999999002': { behaviour: 'return' },
  '9999999003': { behaviour: 'hold' },
  '9999999004': { behaviour: 'timeout_delivered' },
  '9999999005': { behaviour: 'timeout_lost' },
  '9999999006': { behaviour: 'reject', name: null },
  '9999999007': { behaviour: 'complete', name: 'SOMEBODY ELSE' },
  '9999999008': { behaviour: 'unavailable' },
};

/** Its override, else its preset, else one that accepts money. `ownName`: of a holder at the sandbox bank. */
export function destinationOf(
  accountNumber: string,
  override: Destination | null,
  ownName: string | null,
): Destination {
  const preset = PRESETS[accountNumber];
  const defaultName = preset?.name ?? ownName ?? nameOf(accountNumber);
  if (override !== null) return { behaviour: override.behaviour, name: override.name ?? defaultName };
  if (preset === undefined) return { behaviour: 'complete', name: defaultName };
  return { behaviour: preset.behaviour, name: preset.name === null ? null : defaultName };
}

const FAMILY_NAMES = words(`
  ABUBAKAR ADEBAYO ADEYEMI AKPAN ALIYU BALOGUN BELLO DANJUMA EDET EKWUEME EZE GARBA IGWE LAWAL NWOSU OBI OKAFOR OKONKWO
  OKORO OLADIPO ONYEKA OSUNDE SULEIMAN WILLIAMS`);
const GIVEN_NAMES = words(`
  ABIMBOLA ADAEZE AISHA AMINU BABATUNDE BLESSING CHIDI CHIOMA EFOSA EMEKA FATIMA FOLAKE HALIMA IBRAHIM IFEOMA KEHINDE
  MUSA NGOZI NKECHI OLUMIDE OSAGIE SADE TARI YUSUF`);

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** Generates a name from a number, deterministically: capitals, family name first, as name enquiry returns it. */
function nameOf(accountNumber: string): string {
  const digest = createHash('sha256').update(accountNumber).digest();
  const pick = (names: readonly string[], position: number): string =>
    names[digest.readUInt32BE(position) % names.length] as string;
  return `${pick(FAMILY_NAMES, 0)} ${pick(GIVEN_NAMES, 4)}`;
}

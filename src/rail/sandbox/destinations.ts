// Who is behind an account number at any bank, and how a transfer there ends: the presets of docs/sandbox.md, and names
// made from the number. A customer may choose otherwise for each account (`SandboxTransfers.setDestination`).
import { createHash } from 'node:crypto';

/** How a transfer that the bank took ends. */
export const OUTCOMES = ['complete', 'reject', 'return'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * What happens to a transfer. `hold`: it stays under way until somebody ends it. `timeout_delivered`: the bank takes it,
 * but its answer is lost. `timeout_lost`: it gets lost before the bank sees it. `unavailable`: the bank does not answer.
 */
export const BEHAVIOURS = [...OUTCOMES, 'hold', 'timeout_delivered', 'timeout_lost', 'unavailable'] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

/** An account at some bank. */
export interface Destination {
  /** The name that name enquiry finds; null when it finds no account. */
  name: string | null;
  behaviour: Behaviour;
}

/** What a customer chose for an account. A name of null leaves the one that it would have. */
export interface DestinationChoice {
  name: string | null;
  behaviour: Behaviour;
}

/** The accounts that behave in a way of their own. One without a name gets the one made from its number. */
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

/**
 * The account behind a number: what its customer chose for it, else its preset, else an account that takes money.
 * `ownName` is the holder's name where the number is one that the sandbox bank gave out itself.
 */
export function destinationOf(
  accountNumber: string,
  choice: DestinationChoice | null,
  ownName: string | null,
): Destination {
  const preset = PRESETS[accountNumber];
  const usualName = preset?.name ?? ownName ?? nameOf(accountNumber);
  if (choice !== null) return { behaviour: choice.behaviour, name: choice.name ?? usualName };
  if (preset === undefined) return { behaviour: 'complete', name: usualName };
  return { behaviour: preset.behaviour, name: preset.name === null ? null : usualName };
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

/** The name made from a number: always the same one, in capitals and family name first, as name enquiry gives it. */
function nameOf(accountNumber: string): string {
  const digest = createHash('sha256').update(accountNumber).digest();
  const pick = (names: readonly string[], position: number): string =>
    names[digest.readUInt32BE(position) % names.length] as string;
  return `${pick(FAMILY_NAMES, 0)} ${pick(GIVEN_NAMES, 4)}`;
}

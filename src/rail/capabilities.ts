// What a rail can do, as data: declared by its adapter, read by the API and the flows.
import type { Kobo } from '../money.ts';

export interface RailCapabilities {
  /** Account numbers for one payment. */
  oneOff: {
    /** `exact`: it accepts only the amount that the account was opened for, and rejects any other. */
    amount: 'exact' | 'any';
    /** The longest time that it keeps a number open, in seconds. */
    maxSeconds: number;
    minAmount: Kobo;
    /** Whether a number is closed as soon as its payment has ended. If not, the rail closes it by itself. */
    closes: boolean;
    /** Money sent to a number whose payment has ended. `bounced`: it goes back. `accepted`: for some days at least. */
    lateMoney: 'bounced' | 'accepted';
  };
  /** Account numbers of wallets: what it must know about the holder. `bvn`: a Bank Verification Number. */
  permanent: { needs: readonly ('bvn' | 'name' | 'email')[] };
  credits: {
    /** `at_once`: collections and payouts have one balance. `later`: money is first settled to a second one. */
    settles: 'at_once' | 'later';
  };
  transfers: {
    /**
     * For how long the rail's queries may not know a transfer that it has accepted. Until then nothing follows from
     * their silence, nor from a refusal of the send. After it the same reference may be sent again.
     */
    notVisibleForMs: number;
    /** Whether a reference that is unknown after that, and after several sends, was certainly never received. */
    unknownIsFinal: boolean;
    /** Two equal transfers to one account must be this far apart; 0: no limit. */
    sameRecipientGapMs: number;
    minAmount: Kobo;
    /** Whether `balance` reports what is left to pay out. */
    balance: boolean;
  };
  lists: {
    /** How long after its time the rail may list a row late, or change the status of a row. */
    changeForMs: number;
  };
  /** What the signature of a callback covers. */
  callbacks: { signed: 'body' | 'fields' };
  calls: {
    /** A call that takes longer is aborted and fails with RailUnavailableError. At most `RAIL_CALL_MAX_MS`. */
    limitMs: number;
  };
  /** Its list prices; null: unknown, or it charges nothing. */
  charges: RailCharges | null;
}

/** List prices. Contracts may have others: they are never used for postings. */
export interface RailCharges {
  /** Of each credit: a share in hundredths of a per cent, at most `max`. Null: free. */
  collection: { basisPoints: number; max: Kobo } | null;
  /** Of each transfer, by its amount: the first entry whose `below` is greater counts. */
  transfer: readonly { below: Kobo | null; charge: Kobo }[];
}

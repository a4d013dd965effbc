// The columns that bank transfers have in common, and how a final report of the rail changes them.
import type { Uuid } from '../../ids.ts';
import type { Kobo } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import type { Versioned } from '../bookTable.ts';
import type { FailureCode, TransferFailure } from '../failureCodes.ts';

/** A wallet that pays a part of a transfer. */
export interface TransferSource {
  walletId: Uuid;
  amount: Kobo;
  /** What of it was taken from what is held beside the wallet, and did not go back there; left out: nothing. */
  held?: Kobo;
  /** What a clawback took from it; null: there was none. */
  clawedBack: Kobo | null;
}

export interface BankTransferRow extends Versioned {
  amount: Kobo;
  failureCode: FailureCode | null;
  failureReason: string | null;
  failureDetail: string | null;
  /** The interbank session id of the transfer, once the rail has reported it. */
  sessionId: string | null;
  /** What was taken back from the wallet, if the bank paid it after reporting it as failed. */
  clawedBack: Kobo | null;
}

const NOT_FAILED = { failureCode: null, failureReason: null, failureDetail: null } as const;

/** What a transfer has before it is sent. */
export const NEW_TRANSFER = { ...NOT_FAILED, version: 1, sessionId: null, clawedBack: null } as const;

/** A row that the rail has paid. `clawedBack`: null, unless it had reported the transfer as failed. */
export const paidRow = <Row extends BankTransferRow>(
  row: Row,
  report: TransferReport,
  clawedBack: Kobo | null = null,
) => ({
  ...row,
  version: row.version + 1,
  status: 'completed' as const,
  ...NOT_FAILED,
  sessionId: report.sessionId ?? row.sessionId,
  clawedBack,
});

export const unpaidRow = <Row extends BankTransferRow>(
  row: Row,
  { code, reason, detail = null, sessionId }: TransferFailure,
) => ({
  ...row,
  version: row.version + 1,
  failureCode: code,
  failureReason: reason,
  failureDetail: detail,
  sessionId: sessionId ?? row.sessionId,
});

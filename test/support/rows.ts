// Complete rows of resources, as movements take them.
import { newUuid } from '../../src/ids.ts';
import type { ConfirmedCredit } from '../../src/resources/inboundCredits/confirm.ts';
import type { InboundCredit } from '../../src/resources/inboundCredits/queries.ts';

/** A credit of an unnamed sender that the rail has just reported, to a number that belongs to nothing. */
export function newCredit(change: Partial<InboundCredit> & Pick<InboundCredit, 'amount'>): ConfirmedCredit {
  const id = newUuid();
  const credit: InboundCredit = {
    id,
    version: 1,
    rail: 'sandbox',
    sessionId: `test-${id}`,
    accountNumber: '0000000000',
    accountReference: null,
    senderName: null,
    senderAccountNumber: null,
    senderBankCode: null,
    senderSessionId: null,
    ownerKind: null,
    ownerId: null,
    status: 'received',
    receivedAt: new Date(),
    createdAt: new Date(),
    recall: null,
    recalledFrom: null,
    recalledTaken: null,
    recalledHeld: 0,
    ...change,
  };
  return credit as ConfirmedCredit;
}

// The search attributes that operations find flows by. They are registered when the stack starts (docs/operating.md);
// they hold ids, codes and amounts, never a person.
import { defineSearchAttributeKey, type SearchAttributePair, SearchAttributeType } from '@temporalio/common';
import type { FlowMessage } from './flows.ts';

export const ORGANISATION_ID = defineSearchAttributeKey('OrganisationId', SearchAttributeType.KEYWORD);
export const ENVIRONMENT = defineSearchAttributeKey('Environment', SearchAttributeType.KEYWORD);
export const WALLET_ID = defineSearchAttributeKey('WalletId', SearchAttributeType.KEYWORD);
export const FLOW_STATE = defineSearchAttributeKey('FlowState', SearchAttributeType.KEYWORD);
export const ATTENTION = defineSearchAttributeKey('Attention', SearchAttributeType.KEYWORD);
export const ATTENTION_SINCE = defineSearchAttributeKey('AttentionSince', SearchAttributeType.DATETIME);
export const AMOUNT_KOBO = defineSearchAttributeKey('AmountKobo', SearchAttributeType.INT);

/** What a flow is found by from its start. */
export function flowAttributes({ input, state }: FlowMessage, organisationId: string): SearchAttributePair[] {
  return [
    { key: ORGANISATION_ID, value: organisationId },
    { key: ENVIRONMENT, value: input.environment },
    { key: FLOW_STATE, value: state },
    ...(input.walletId === undefined ? [] : [{ key: WALLET_ID, value: input.walletId }]),
    ...(input.amount === undefined ? [] : [{ key: AMOUNT_KOBO, value: input.amount }]),
  ];
}

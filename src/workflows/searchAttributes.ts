// The search attributes by which operators find flows. They are registered when the stack starts (docs/operating.md).
// They hold ids, codes and amounts, never personal data.
import { defineSearchAttributeKey, type SearchAttributePair, SearchAttributeType } from '@temporalio/common';
import type { FlowMessage } from './flows.ts';

export const ORGANISATION_ID = defineSearchAttributeKey('OrganisationId', SearchAttributeType.KEYWORD);
export const ENVIRONMENT = defineSearchAttributeKey('Environment', SearchAttributeType.KEYWORD);
export const WALLET_ID = defineSearchAttributeKey('WalletId', SearchAttributeType.KEYWORD);
export const FLOW_STATE = defineSearchAttributeKey('FlowState', SearchAttributeType.KEYWORD);
export const ATTENTION = defineSearchAttributeKey('Attention', SearchAttributeType.KEYWORD);
export const ATTENTION_SINCE = defineSearchAttributeKey('AttentionSince', SearchAttributeType.DATETIME);
export const AMOUNT_KOBO = defineSearchAttributeKey('AmountKobo', SearchAttributeType.INT);

/** All of them, as the server must have them registered. */
export const SEARCH_ATTRIBUTES = [
  ORGANISATION_ID,
  ENVIRONMENT,
  WALLET_ID,
  FLOW_STATE,
  ATTENTION,
  ATTENTION_SINCE,
  AMOUNT_KOBO,
];

export function flowAttributes({ input, state }: FlowMessage, organisationId: string | null): SearchAttributePair[] {
  return [
    ...(organisationId === null ? [] : [{ key: ORGANISATION_ID, value: organisationId }]),
    { key: ENVIRONMENT, value: input.environment },
    { key: FLOW_STATE, value: state },
    ...(input.walletId === undefined ? [] : [{ key: WALLET_ID, value: input.walletId }]),
    ...(input.amount === undefined ? [] : [{ key: AMOUNT_KOBO, value: input.amount }]),
  ];
}

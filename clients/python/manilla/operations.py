"""Generated from the OpenAPI document by `npm run generate -- clients`. Do not edit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict
from urllib.parse import quote

if TYPE_CHECKING:
    from typing_extensions import NotRequired  # of Python 3.11


class ApiKey(TypedDict):
    id: str
    name: str | None
    hint: str
    scopes: list[str]
    allowedIps: list[str] | None
    rateLimit: int | None
    status: Literal["active", "expired", "revoked"]
    createdBy: str | None
    expiresAt: str | None
    lastUsedAt: str | None
    createdAt: str


class AuthenticationErrorErrorDetails(TypedDict):
    pass


class AuthenticationErrorError(TypedDict):
    type: Literal["authentication_error"]
    code: str
    message: str
    details: AuthenticationErrorErrorDetails


class AuthenticationError(TypedDict):
    success: Literal[False]
    statusCode: int
    error: AuthenticationErrorError
    meta: Meta


class AuthorizationErrorErrorDetails(TypedDict):
    requiredScopes: NotRequired[list[str]]
    providedScopes: NotRequired[list[str]]
    address: NotRequired[str]


class AuthorizationErrorError(TypedDict):
    type: Literal["authorization_error"]
    code: str
    message: str
    details: AuthorizationErrorErrorDetails


class AuthorizationError(TypedDict):
    success: Literal[False]
    statusCode: int
    error: AuthorizationErrorError
    meta: Meta


class Bank(TypedDict):
    code: str
    name: str


class ConflictErrorError(TypedDict):
    type: Literal["conflict_error"]
    code: str
    message: str
    details: dict[str, Any]


class ConflictError(TypedDict):
    success: Literal[False]
    statusCode: int
    error: ConflictErrorError
    meta: Meta


class DeletedWebhookEndpoint(TypedDict):
    id: str
    deleted: Literal[True]


class DeliveryAttemptsItem(TypedDict):
    attemptedAt: str
    durationMs: float
    responseStatus: int | None
    responseBody: str | None
    error: Literal["timeout", "url_forbidden", "address_forbidden", "name_not_resolved", "connection_failed", "connection_lost", "tls_failed", "answer_unreadable", None]


class Delivery(TypedDict):
    eventId: str
    endpointId: str
    status: Literal["pending", "delivered", "failed"]
    failureReason: Literal["retries_exhausted", "endpoint_disabled", "endpoint_deleted", None]
    nextAttemptAt: str | None
    deliveredAt: str | None
    createdAt: str
    attempts: list[DeliveryAttemptsItem]


class EndpointRedelivery(TypedDict):
    endpointId: str
    deliveries: int
    continueFrom: str | None


class ExpandableCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class ExpandableCredit(TypedDict):
    id: str
    amount: int
    currency: Literal["NGN"]
    sessionId: str
    sender: ExpandableCreditSender
    status: Literal["received", "posted", "in_review", "credited", "returned_to_sender", "unclaimed", "closed", "recalled"]
    reviewCaseId: str | None
    reviewReason: Literal["late_credit", "credit_after_settlement", "unknown_account", "partial_expired", "surplus_over_limit", "split_refused", "over_limit", "wallet_frozen", "wallet_closed", "wallet_unverified", "reconciliation_break", "credit_unconfirmed", "paid_after_failure", "credit_recalled", None]
    receivedAt: str
    createdAt: str
    reviewCase: NotRequired[dict[str, Any]]


class ExpandableHold(TypedDict):
    id: str
    status: Literal["held", "released", "cancelled"]
    walletId: str
    sourceWalletId: str | None
    transferId: str | None
    paymentId: str | None
    amount: int
    amountHeld: int
    amountReleased: int
    amountCancelled: int
    currency: Literal["NGN"]
    releaseAt: str | None
    createdAt: str
    endedAt: str | None
    wallet: NotRequired[dict[str, Any]]
    sourceWallet: NotRequired[dict[str, Any]]
    transfer: NotRequired[dict[str, Any]]
    payment: NotRequired[dict[str, Any]]


class ExpandablePaymentSplitsItemHold(TypedDict):
    releaseAt: str | None


class ExpandablePaymentSplitsItem(TypedDict):
    walletId: str
    amount: int
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[ExpandablePaymentSplitsItemHold]
    feeBorne: NotRequired[int]
    amountCredited: int
    amountRefunded: int


class ExpandablePaymentHold(TypedDict):
    releaseAt: str | None


class ExpandablePayment(TypedDict):
    id: str
    method: Literal["bank_transfer", "virtual_wallet"]
    status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"]
    baseAmount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    payableAmount: int
    amountReceived: int
    amountInReview: int
    amountRecalled: int
    currency: Literal["NGN"]
    targetWalletId: str
    splits: NotRequired[list[ExpandablePaymentSplitsItem]]
    hold: NotRequired[ExpandablePaymentHold]
    description: str | None
    onMismatch: Literal["hold", "refund"]
    reference: str | None
    metadata: dict[str, Any]
    expiresAt: str | None
    settledAt: str | None
    createdAt: str
    virtualAccount: dict[str, Any]
    returnUrl: str | None
    acceptsAmount: Literal["exact", "any"]
    checkoutUrl: str | None
    targetWallet: NotRequired[dict[str, Any]]


class ExpandablePayout(TypedDict):
    id: str
    sourceWalletId: str
    totalAmount: int
    totalFee: int
    itemCount: int
    successCount: int
    failureCount: int
    status: Literal["processing", "completed", "partially_completed", "failed"]
    reference: str | None
    metadata: dict[str, Any]
    items: list[PayoutItem]
    currency: Literal["NGN"]
    createdAt: str
    sourceWallet: NotRequired[dict[str, Any]]


class ExpandablePayoutItemCounterparty(TypedDict):
    accountNumber: str
    accountName: str | None
    bankCode: str


class ExpandablePayoutItem(TypedDict):
    id: str
    amount: int
    fee: int
    status: Literal["pending", "processing", "completed", "failed"]
    reference: str | None
    destinationWalletId: str | None
    counterparty: ExpandablePayoutItemCounterparty
    failureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    failureReason: str | None
    failureDetail: str | None
    sessionId: str | None
    destinationWallet: NotRequired[dict[str, Any]]


class ExpandableRefundFromItem(TypedDict):
    walletId: str
    amount: int


ExpandableRefund = TypedDict("ExpandableRefund", {
    "id": "str",
    "paymentId": "str",
    "amount": "int",
    "destination": "Literal[\"bank\", \"wallet\"]",
    "from": "NotRequired[list[ExpandableRefundFromItem]]",
    "fundedBy": "NotRequired[str]",
    "status": "Literal[\"processing\", \"completed\", \"failed\"]",
    "reference": "str | None",
    "metadata": "dict[str, Any]",
    "failureCode": "Literal[\"account_not_resolved\", \"name_mismatch\", \"account_dormant\", \"account_closed\", \"account_restricted\", \"account_limit_exceeded\", \"bank_unavailable\", \"suspected_fraud\", \"bank_refused\", \"bank_returned\", \"never_received\", \"wallet_refused\", \"operator_decision\", None]",
    "failureReason": "str | None",
    "failureDetail": "str | None",
    "sessionId": "str | None",
    "currency": "Literal[\"NGN\"]",
    "createdAt": "str",
    "completedAt": "str | None",
    "payment": "NotRequired[dict[str, Any]]",
})


class ExpandableReviewCase(TypedDict):
    id: str
    reason: Literal["late_credit", "credit_after_settlement", "unknown_account", "partial_expired", "surplus_over_limit", "split_refused", "over_limit", "wallet_frozen", "wallet_closed", "wallet_unverified", "reconciliation_break", "credit_unconfirmed", "paid_after_failure", "credit_recalled"]
    status: Literal["open", "returning", "credited", "returned_to_sender", "unclaimed", "closed", "recalled", "repaid"]
    amount: int
    fee: int
    currency: Literal["NGN"]
    paymentId: str | None
    reference: str | None
    walletId: str | None
    inboundCreditId: str | None
    lateBySeconds: int | None
    actions: list[Literal["credit", "return_to_sender", "move_to_unclaimed"]]
    returnFailure: Literal["refused", "returned", "never_received", "decided", None]
    returnFailureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    returnFailureReason: str | None
    createdAt: str
    resolvedAt: str | None
    payment: NotRequired[dict[str, Any]]
    wallet: NotRequired[dict[str, Any]]


class ExpandableTransfer(TypedDict):
    id: str
    sourceWalletId: str
    destinationWalletId: str
    amount: int
    fee: int
    status: Literal["completed", "failed"]
    holdId: str | None
    description: str | None
    reference: str | None
    metadata: dict[str, Any]
    currency: Literal["NGN"]
    createdAt: str
    sourceWallet: NotRequired[dict[str, Any]]
    destinationWallet: NotRequired[dict[str, Any]]
    hold: NotRequired[dict[str, Any]]


class ExpandableWithdrawalCounterparty(TypedDict):
    accountNumber: str
    accountName: str | None
    bankCode: str
    bankName: str | None


class ExpandableWithdrawal(TypedDict):
    id: str
    sourceWalletId: str
    amount: int
    fee: int
    totalAmount: int
    status: Literal["processing", "completed", "failed", "returned"]
    counterparty: ExpandableWithdrawalCounterparty
    reference: str | None
    metadata: dict[str, Any]
    failureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    failureReason: str | None
    failureDetail: str | None
    sessionId: str | None
    currency: Literal["NGN"]
    createdAt: str
    completedAt: str | None
    sourceWallet: NotRequired[dict[str, Any]]


class FeeQuote(TypedDict):
    type: Literal["withdrawal", "payout_item", "bank_transfer_payment", "virtual_wallet_payment", "transfer"]
    amount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    totalAmount: int
    currency: Literal["NGN"]


class FieldError(TypedDict):
    field: str
    code: str
    message: str
    constraint: NotRequired[dict[str, Any]]
    line: NotRequired[int]
    column: NotRequired[str]


class HealthChecks(TypedDict):
    database: Literal["ok"]
    temporal: Literal["ok", "unreachable", "refused", "misconfigured"]
    flows: Literal["ok", "delayed"]
    rail: str


class Health(TypedDict):
    status: Literal["ok", "degraded"]
    version: str
    environment: Literal["test", "live"]
    checks: HealthChecks


class Hold(TypedDict):
    id: str
    status: Literal["held", "released", "cancelled"]
    walletId: str
    sourceWalletId: str | None
    transferId: str | None
    paymentId: str | None
    amount: int
    amountHeld: int
    amountReleased: int
    amountCancelled: int
    currency: Literal["NGN"]
    releaseAt: str | None
    createdAt: str
    endedAt: str | None


class HoldCancelledEvent(TypedDict):
    id: str
    type: Literal["hold.cancelled"]
    createdAt: str
    resourceId: str
    sequence: int
    data: Hold


class HoldCreatedEvent(TypedDict):
    id: str
    type: Literal["hold.created"]
    createdAt: str
    resourceId: str
    sequence: int
    data: Hold


class HoldReleasedEvent(TypedDict):
    id: str
    type: Literal["hold.released"]
    createdAt: str
    resourceId: str
    sequence: int
    data: Hold


class InternalErrorErrorDetails(TypedDict):
    retryable: bool
    service: NotRequired[str]
    retryAfterSeconds: NotRequired[int]


class InternalErrorError(TypedDict):
    type: Literal["internal_error"]
    code: str
    message: str
    details: InternalErrorErrorDetails


class InternalError(TypedDict):
    success: Literal[False]
    statusCode: int
    error: InternalErrorError
    meta: Meta


class Meta(TypedDict):
    requestId: str


class NewApiKey(TypedDict):
    id: str
    name: str | None
    hint: str
    scopes: list[str]
    allowedIps: list[str] | None
    rateLimit: int | None
    status: Literal["active", "expired", "revoked"]
    createdBy: str | None
    expiresAt: str | None
    lastUsedAt: str | None
    createdAt: str
    key: str


class NotFoundErrorErrorDetails(TypedDict):
    resource: str
    id: str
    allowedMethods: NotRequired[list[str]]


class NotFoundErrorError(TypedDict):
    type: Literal["not_found_error"]
    code: str
    message: str
    details: NotFoundErrorErrorDetails


class NotFoundError(TypedDict):
    success: Literal[False]
    statusCode: int
    error: NotFoundErrorError
    meta: Meta


class Pagination(TypedDict):
    limit: int
    hasMore: bool
    nextCursor: str | None


class PaymentSplitsItemHold(TypedDict):
    releaseAt: str | None


class PaymentSplitsItem(TypedDict):
    walletId: str
    amount: int
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[PaymentSplitsItemHold]
    feeBorne: NotRequired[int]
    amountCredited: int
    amountRefunded: int


class PaymentHold(TypedDict):
    releaseAt: str | None


class Payment(TypedDict):
    id: str
    method: Literal["bank_transfer", "virtual_wallet"]
    status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"]
    baseAmount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    payableAmount: int
    amountReceived: int
    amountInReview: int
    amountRecalled: int
    currency: Literal["NGN"]
    targetWalletId: str
    splits: NotRequired[list[PaymentSplitsItem]]
    hold: NotRequired[PaymentHold]
    description: str | None
    onMismatch: Literal["hold", "refund"]
    reference: str | None
    metadata: dict[str, Any]
    expiresAt: str | None
    settledAt: str | None
    createdAt: str
    virtualAccount: dict[str, Any]
    returnUrl: str | None
    acceptsAmount: Literal["exact", "any"]
    checkoutUrl: str | None


class PaymentCancelledEventDataSplitsItemHold(TypedDict):
    releaseAt: str | None


class PaymentCancelledEventDataSplitsItem(TypedDict):
    walletId: str
    amount: int
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[PaymentCancelledEventDataSplitsItemHold]
    feeBorne: NotRequired[int]
    amountCredited: int
    amountRefunded: int


class PaymentCancelledEventDataHold(TypedDict):
    releaseAt: str | None


class PaymentCancelledEventDataCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class PaymentCancelledEventDataCredit(TypedDict):
    id: str
    amount: int
    sessionId: str
    sender: PaymentCancelledEventDataCreditSender
    receivedAt: str


class PaymentCancelledEventData(TypedDict):
    id: str
    method: Literal["bank_transfer", "virtual_wallet"]
    status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"]
    baseAmount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    payableAmount: int
    amountReceived: int
    amountInReview: int
    amountRecalled: int
    currency: Literal["NGN"]
    targetWalletId: str
    splits: NotRequired[list[PaymentCancelledEventDataSplitsItem]]
    hold: NotRequired[PaymentCancelledEventDataHold]
    description: str | None
    onMismatch: Literal["hold", "refund"]
    reference: str | None
    metadata: dict[str, Any]
    expiresAt: str | None
    settledAt: str | None
    createdAt: str
    virtualAccount: dict[str, Any]
    returnUrl: str | None
    acceptsAmount: Literal["exact", "any"]
    credit: NotRequired[PaymentCancelledEventDataCredit]


class PaymentCancelledEvent(TypedDict):
    id: str
    type: Literal["payment.cancelled"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PaymentCancelledEventData


class PaymentCompletedEventDataSplitsItemHold(TypedDict):
    releaseAt: str | None


class PaymentCompletedEventDataSplitsItem(TypedDict):
    walletId: str
    amount: int
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[PaymentCompletedEventDataSplitsItemHold]
    feeBorne: NotRequired[int]
    amountCredited: int
    amountRefunded: int


class PaymentCompletedEventDataHold(TypedDict):
    releaseAt: str | None


class PaymentCompletedEventDataCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class PaymentCompletedEventDataCredit(TypedDict):
    id: str
    amount: int
    sessionId: str
    sender: PaymentCompletedEventDataCreditSender
    receivedAt: str


class PaymentCompletedEventData(TypedDict):
    id: str
    method: Literal["bank_transfer", "virtual_wallet"]
    status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"]
    baseAmount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    payableAmount: int
    amountReceived: int
    amountInReview: int
    amountRecalled: int
    currency: Literal["NGN"]
    targetWalletId: str
    splits: NotRequired[list[PaymentCompletedEventDataSplitsItem]]
    hold: NotRequired[PaymentCompletedEventDataHold]
    description: str | None
    onMismatch: Literal["hold", "refund"]
    reference: str | None
    metadata: dict[str, Any]
    expiresAt: str | None
    settledAt: str | None
    createdAt: str
    virtualAccount: dict[str, Any]
    returnUrl: str | None
    acceptsAmount: Literal["exact", "any"]
    credit: NotRequired[PaymentCompletedEventDataCredit]


class PaymentCompletedEvent(TypedDict):
    id: str
    type: Literal["payment.completed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PaymentCompletedEventData


class PaymentExpiredEventDataSplitsItemHold(TypedDict):
    releaseAt: str | None


class PaymentExpiredEventDataSplitsItem(TypedDict):
    walletId: str
    amount: int
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[PaymentExpiredEventDataSplitsItemHold]
    feeBorne: NotRequired[int]
    amountCredited: int
    amountRefunded: int


class PaymentExpiredEventDataHold(TypedDict):
    releaseAt: str | None


class PaymentExpiredEventDataCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class PaymentExpiredEventDataCredit(TypedDict):
    id: str
    amount: int
    sessionId: str
    sender: PaymentExpiredEventDataCreditSender
    receivedAt: str


class PaymentExpiredEventData(TypedDict):
    id: str
    method: Literal["bank_transfer", "virtual_wallet"]
    status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"]
    baseAmount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    payableAmount: int
    amountReceived: int
    amountInReview: int
    amountRecalled: int
    currency: Literal["NGN"]
    targetWalletId: str
    splits: NotRequired[list[PaymentExpiredEventDataSplitsItem]]
    hold: NotRequired[PaymentExpiredEventDataHold]
    description: str | None
    onMismatch: Literal["hold", "refund"]
    reference: str | None
    metadata: dict[str, Any]
    expiresAt: str | None
    settledAt: str | None
    createdAt: str
    virtualAccount: dict[str, Any]
    returnUrl: str | None
    acceptsAmount: Literal["exact", "any"]
    credit: NotRequired[PaymentExpiredEventDataCredit]


class PaymentExpiredEvent(TypedDict):
    id: str
    type: Literal["payment.expired"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PaymentExpiredEventData


class PaymentInReviewEventDataSplitsItemHold(TypedDict):
    releaseAt: str | None


class PaymentInReviewEventDataSplitsItem(TypedDict):
    walletId: str
    amount: int
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[PaymentInReviewEventDataSplitsItemHold]
    feeBorne: NotRequired[int]
    amountCredited: int
    amountRefunded: int


class PaymentInReviewEventDataHold(TypedDict):
    releaseAt: str | None


class PaymentInReviewEventDataCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class PaymentInReviewEventDataCredit(TypedDict):
    id: str
    amount: int
    sessionId: str
    sender: PaymentInReviewEventDataCreditSender
    receivedAt: str


class PaymentInReviewEventData(TypedDict):
    id: str
    method: Literal["bank_transfer", "virtual_wallet"]
    status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"]
    baseAmount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    payableAmount: int
    amountReceived: int
    amountInReview: int
    amountRecalled: int
    currency: Literal["NGN"]
    targetWalletId: str
    splits: NotRequired[list[PaymentInReviewEventDataSplitsItem]]
    hold: NotRequired[PaymentInReviewEventDataHold]
    description: str | None
    onMismatch: Literal["hold", "refund"]
    reference: str | None
    metadata: dict[str, Any]
    expiresAt: str | None
    settledAt: str | None
    createdAt: str
    virtualAccount: dict[str, Any]
    returnUrl: str | None
    acceptsAmount: Literal["exact", "any"]
    credit: NotRequired[PaymentInReviewEventDataCredit]


class PaymentInReviewEvent(TypedDict):
    id: str
    type: Literal["payment.in_review"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PaymentInReviewEventData


class PaymentRecalledEventDataSplitsItemHold(TypedDict):
    releaseAt: str | None


class PaymentRecalledEventDataSplitsItem(TypedDict):
    walletId: str
    amount: int
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[PaymentRecalledEventDataSplitsItemHold]
    feeBorne: NotRequired[int]
    amountCredited: int
    amountRefunded: int


class PaymentRecalledEventDataHold(TypedDict):
    releaseAt: str | None


class PaymentRecalledEventDataCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class PaymentRecalledEventDataCredit(TypedDict):
    id: str
    amount: int
    sessionId: str
    sender: PaymentRecalledEventDataCreditSender
    receivedAt: str


class PaymentRecalledEventData(TypedDict):
    id: str
    method: Literal["bank_transfer", "virtual_wallet"]
    status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"]
    baseAmount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    payableAmount: int
    amountReceived: int
    amountInReview: int
    amountRecalled: int
    currency: Literal["NGN"]
    targetWalletId: str
    splits: NotRequired[list[PaymentRecalledEventDataSplitsItem]]
    hold: NotRequired[PaymentRecalledEventDataHold]
    description: str | None
    onMismatch: Literal["hold", "refund"]
    reference: str | None
    metadata: dict[str, Any]
    expiresAt: str | None
    settledAt: str | None
    createdAt: str
    virtualAccount: dict[str, Any]
    returnUrl: str | None
    acceptsAmount: Literal["exact", "any"]
    credit: NotRequired[PaymentRecalledEventDataCredit]


class PaymentRecalledEvent(TypedDict):
    id: str
    type: Literal["payment.recalled"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PaymentRecalledEventData


class PaymentReviewedEventDataSplitsItemHold(TypedDict):
    releaseAt: str | None


class PaymentReviewedEventDataSplitsItem(TypedDict):
    walletId: str
    amount: int
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[PaymentReviewedEventDataSplitsItemHold]
    feeBorne: NotRequired[int]
    amountCredited: int
    amountRefunded: int


class PaymentReviewedEventDataHold(TypedDict):
    releaseAt: str | None


class PaymentReviewedEventDataCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class PaymentReviewedEventDataCredit(TypedDict):
    id: str
    amount: int
    sessionId: str
    sender: PaymentReviewedEventDataCreditSender
    receivedAt: str


class PaymentReviewedEventData(TypedDict):
    id: str
    method: Literal["bank_transfer", "virtual_wallet"]
    status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"]
    baseAmount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    payableAmount: int
    amountReceived: int
    amountInReview: int
    amountRecalled: int
    currency: Literal["NGN"]
    targetWalletId: str
    splits: NotRequired[list[PaymentReviewedEventDataSplitsItem]]
    hold: NotRequired[PaymentReviewedEventDataHold]
    description: str | None
    onMismatch: Literal["hold", "refund"]
    reference: str | None
    metadata: dict[str, Any]
    expiresAt: str | None
    settledAt: str | None
    createdAt: str
    virtualAccount: dict[str, Any]
    returnUrl: str | None
    acceptsAmount: Literal["exact", "any"]
    credit: NotRequired[PaymentReviewedEventDataCredit]


class PaymentReviewedEvent(TypedDict):
    id: str
    type: Literal["payment.reviewed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PaymentReviewedEventData


class PaymentSettledEventDataSplitsItemHold(TypedDict):
    releaseAt: str | None


class PaymentSettledEventDataSplitsItem(TypedDict):
    walletId: str
    amount: int
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[PaymentSettledEventDataSplitsItemHold]
    feeBorne: NotRequired[int]
    amountCredited: int
    amountRefunded: int


class PaymentSettledEventDataHold(TypedDict):
    releaseAt: str | None


class PaymentSettledEventDataCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class PaymentSettledEventDataCredit(TypedDict):
    id: str
    amount: int
    sessionId: str
    sender: PaymentSettledEventDataCreditSender
    receivedAt: str


class PaymentSettledEventData(TypedDict):
    id: str
    method: Literal["bank_transfer", "virtual_wallet"]
    status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"]
    baseAmount: int
    fee: int
    feeBearer: Literal["payer", "merchant", "split"]
    payableAmount: int
    amountReceived: int
    amountInReview: int
    amountRecalled: int
    currency: Literal["NGN"]
    targetWalletId: str
    splits: NotRequired[list[PaymentSettledEventDataSplitsItem]]
    hold: NotRequired[PaymentSettledEventDataHold]
    description: str | None
    onMismatch: Literal["hold", "refund"]
    reference: str | None
    metadata: dict[str, Any]
    expiresAt: str | None
    settledAt: str | None
    createdAt: str
    virtualAccount: dict[str, Any]
    returnUrl: str | None
    acceptsAmount: Literal["exact", "any"]
    credit: NotRequired[PaymentSettledEventDataCredit]


class PaymentSettledEvent(TypedDict):
    id: str
    type: Literal["payment.settled"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PaymentSettledEventData


class Payout(TypedDict):
    id: str
    sourceWalletId: str
    totalAmount: int
    totalFee: int
    itemCount: int
    successCount: int
    failureCount: int
    status: Literal["processing", "completed", "partially_completed", "failed"]
    reference: str | None
    metadata: dict[str, Any]
    items: list[PayoutItem]
    currency: Literal["NGN"]
    createdAt: str


class PayoutCompletedEventData(TypedDict):
    id: str
    sourceWalletId: str
    totalAmount: int
    totalFee: int
    itemCount: int
    successCount: int
    failureCount: int
    status: Literal["processing", "completed", "partially_completed", "failed"]
    reference: str | None
    metadata: dict[str, Any]
    currency: Literal["NGN"]
    createdAt: str


class PayoutCompletedEvent(TypedDict):
    id: str
    type: Literal["payout.completed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PayoutCompletedEventData


class PayoutFailedEventData(TypedDict):
    id: str
    sourceWalletId: str
    totalAmount: int
    totalFee: int
    itemCount: int
    successCount: int
    failureCount: int
    status: Literal["processing", "completed", "partially_completed", "failed"]
    reference: str | None
    metadata: dict[str, Any]
    currency: Literal["NGN"]
    createdAt: str


class PayoutFailedEvent(TypedDict):
    id: str
    type: Literal["payout.failed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PayoutFailedEventData


class PayoutItemCounterparty(TypedDict):
    accountNumber: str
    accountName: str | None
    bankCode: str


class PayoutItem(TypedDict):
    id: str
    amount: int
    fee: int
    status: Literal["pending", "processing", "completed", "failed"]
    reference: str | None
    destinationWalletId: str | None
    counterparty: PayoutItemCounterparty
    failureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    failureReason: str | None
    failureDetail: str | None
    sessionId: str | None


class PayoutItemCompletedEventDataCounterparty(TypedDict):
    accountNumber: str
    accountName: str | None
    bankCode: str


class PayoutItemCompletedEventData(TypedDict):
    id: str
    amount: int
    fee: int
    status: Literal["pending", "processing", "completed", "failed"]
    reference: str | None
    destinationWalletId: str | None
    counterparty: PayoutItemCompletedEventDataCounterparty
    failureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    failureReason: str | None
    failureDetail: str | None
    sessionId: str | None
    payoutId: str
    currency: Literal["NGN"]


class PayoutItemCompletedEvent(TypedDict):
    id: str
    type: Literal["payout.item_completed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PayoutItemCompletedEventData


class PayoutItemFailedEventDataCounterparty(TypedDict):
    accountNumber: str
    accountName: str | None
    bankCode: str


class PayoutItemFailedEventData(TypedDict):
    id: str
    amount: int
    fee: int
    status: Literal["pending", "processing", "completed", "failed"]
    reference: str | None
    destinationWalletId: str | None
    counterparty: PayoutItemFailedEventDataCounterparty
    failureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    failureReason: str | None
    failureDetail: str | None
    sessionId: str | None
    payoutId: str
    currency: Literal["NGN"]


class PayoutItemFailedEvent(TypedDict):
    id: str
    type: Literal["payout.item_failed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PayoutItemFailedEventData


class PayoutItemReturnedEventDataCounterparty(TypedDict):
    accountNumber: str
    accountName: str | None
    bankCode: str


class PayoutItemReturnedEventData(TypedDict):
    id: str
    amount: int
    fee: int
    status: Literal["pending", "processing", "completed", "failed"]
    reference: str | None
    destinationWalletId: str | None
    counterparty: PayoutItemReturnedEventDataCounterparty
    failureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    failureReason: str | None
    failureDetail: str | None
    sessionId: str | None
    payoutId: str
    currency: Literal["NGN"]


class PayoutItemReturnedEvent(TypedDict):
    id: str
    type: Literal["payout.item_returned"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PayoutItemReturnedEventData


class PayoutPartiallyCompletedEventData(TypedDict):
    id: str
    sourceWalletId: str
    totalAmount: int
    totalFee: int
    itemCount: int
    successCount: int
    failureCount: int
    status: Literal["processing", "completed", "partially_completed", "failed"]
    reference: str | None
    metadata: dict[str, Any]
    currency: Literal["NGN"]
    createdAt: str


class PayoutPartiallyCompletedEvent(TypedDict):
    id: str
    type: Literal["payout.partially_completed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: PayoutPartiallyCompletedEventData


class PayoutValidationProblemsItemDetails(TypedDict):
    limit: Literal["transaction", "balance", "daily_amount", "daily_count", "monthly_amount", "monthly_count"]
    maximum: int
    remaining: int
    resetsAt: str | None
    walletId: str
    attempted: int


class PayoutValidationProblemsItem(TypedDict):
    field: str
    code: str
    message: str
    details: PayoutValidationProblemsItemDetails


class PayoutValidationItemsItemProblemsItem(TypedDict):
    field: str
    code: str
    message: str


class PayoutValidationItemsItem(TypedDict):
    reference: str | None
    amount: int
    fee: int
    totalAmount: int
    accountName: str | None
    problems: list[PayoutValidationItemsItemProblemsItem]


class PayoutValidation(TypedDict):
    sourceWalletId: str
    isValid: bool
    totalAmount: int
    totalFee: int
    missingAmount: int
    itemCount: int
    problems: list[PayoutValidationProblemsItem]
    items: list[PayoutValidationItemsItem]
    currency: Literal["NGN"]


class RateLimitErrorErrorDetails(TypedDict):
    limit: int
    remaining: int
    resetAt: str
    retryAfterSeconds: int


class RateLimitErrorError(TypedDict):
    type: Literal["rate_limit_error"]
    code: str
    message: str
    details: RateLimitErrorErrorDetails


class RateLimitError(TypedDict):
    success: Literal[False]
    statusCode: int
    error: RateLimitErrorError
    meta: Meta


class Receipt(TypedDict):
    received: Literal[True]


class Redelivery(TypedDict):
    eventId: str
    endpointIds: list[str]


class RefundFromItem(TypedDict):
    walletId: str
    amount: int


Refund = TypedDict("Refund", {
    "id": "str",
    "paymentId": "str",
    "amount": "int",
    "destination": "Literal[\"bank\", \"wallet\"]",
    "from": "NotRequired[list[RefundFromItem]]",
    "fundedBy": "NotRequired[str]",
    "status": "Literal[\"processing\", \"completed\", \"failed\"]",
    "reference": "str | None",
    "metadata": "dict[str, Any]",
    "failureCode": "Literal[\"account_not_resolved\", \"name_mismatch\", \"account_dormant\", \"account_closed\", \"account_restricted\", \"account_limit_exceeded\", \"bank_unavailable\", \"suspected_fraud\", \"bank_refused\", \"bank_returned\", \"never_received\", \"wallet_refused\", \"operator_decision\", None]",
    "failureReason": "str | None",
    "failureDetail": "str | None",
    "sessionId": "str | None",
    "currency": "Literal[\"NGN\"]",
    "createdAt": "str",
    "completedAt": "str | None",
})


class RefundCompletedEvent(TypedDict):
    id: str
    type: Literal["refund.completed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: Refund


class RefundFailedEvent(TypedDict):
    id: str
    type: Literal["refund.failed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: Refund


class RequestLog(TypedDict):
    requestId: str
    keyId: str
    method: str
    path: str
    resourceId: str | None
    status: int
    errorCode: str | None
    errorDetails: dict[str, Any] | None
    idempotencyKey: str | None
    durationMs: int
    createdAt: str


class ResolvedBankAccount(TypedDict):
    accountNumber: str
    accountName: str
    bankCode: str
    bankName: str


class ReviewCase(TypedDict):
    id: str
    reason: Literal["late_credit", "credit_after_settlement", "unknown_account", "partial_expired", "surplus_over_limit", "split_refused", "over_limit", "wallet_frozen", "wallet_closed", "wallet_unverified", "reconciliation_break", "credit_unconfirmed", "paid_after_failure", "credit_recalled"]
    status: Literal["open", "returning", "credited", "returned_to_sender", "unclaimed", "closed", "recalled", "repaid"]
    amount: int
    fee: int
    currency: Literal["NGN"]
    paymentId: str | None
    reference: str | None
    walletId: str | None
    inboundCreditId: str | None
    lateBySeconds: int | None
    actions: list[Literal["credit", "return_to_sender", "move_to_unclaimed"]]
    returnFailure: Literal["refused", "returned", "never_received", "decided", None]
    returnFailureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    returnFailureReason: str | None
    createdAt: str
    resolvedAt: str | None


class ReviewCaseOpenedEventDataCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class ReviewCaseOpenedEventDataCredit(TypedDict):
    id: str
    amount: int
    sessionId: str
    sender: ReviewCaseOpenedEventDataCreditSender
    receivedAt: str


class ReviewCaseOpenedEventData(TypedDict):
    id: str
    reason: Literal["late_credit", "credit_after_settlement", "unknown_account", "partial_expired", "surplus_over_limit", "split_refused", "over_limit", "wallet_frozen", "wallet_closed", "wallet_unverified", "reconciliation_break", "credit_unconfirmed", "paid_after_failure", "credit_recalled"]
    status: Literal["open", "returning", "credited", "returned_to_sender", "unclaimed", "closed", "recalled", "repaid"]
    amount: int
    fee: int
    currency: Literal["NGN"]
    paymentId: str | None
    reference: str | None
    walletId: str | None
    inboundCreditId: str | None
    lateBySeconds: int | None
    actions: list[Literal["credit", "return_to_sender", "move_to_unclaimed"]]
    returnFailure: Literal["refused", "returned", "never_received", "decided", None]
    returnFailureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    returnFailureReason: str | None
    createdAt: str
    resolvedAt: str | None
    credit: NotRequired[ReviewCaseOpenedEventDataCredit]


class ReviewCaseOpenedEvent(TypedDict):
    id: str
    type: Literal["review_case.opened"]
    createdAt: str
    resourceId: str
    sequence: int
    data: ReviewCaseOpenedEventData


class ReviewCaseResolvedEventDataCreditSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class ReviewCaseResolvedEventDataCredit(TypedDict):
    id: str
    amount: int
    sessionId: str
    sender: ReviewCaseResolvedEventDataCreditSender
    receivedAt: str


class ReviewCaseResolvedEventData(TypedDict):
    id: str
    reason: Literal["late_credit", "credit_after_settlement", "unknown_account", "partial_expired", "surplus_over_limit", "split_refused", "over_limit", "wallet_frozen", "wallet_closed", "wallet_unverified", "reconciliation_break", "credit_unconfirmed", "paid_after_failure", "credit_recalled"]
    status: Literal["open", "returning", "credited", "returned_to_sender", "unclaimed", "closed", "recalled", "repaid"]
    amount: int
    fee: int
    currency: Literal["NGN"]
    paymentId: str | None
    reference: str | None
    walletId: str | None
    inboundCreditId: str | None
    lateBySeconds: int | None
    actions: list[Literal["credit", "return_to_sender", "move_to_unclaimed"]]
    returnFailure: Literal["refused", "returned", "never_received", "decided", None]
    returnFailureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    returnFailureReason: str | None
    createdAt: str
    resolvedAt: str | None
    credit: NotRequired[ReviewCaseResolvedEventDataCredit]


class ReviewCaseResolvedEvent(TypedDict):
    id: str
    type: Literal["review_case.resolved"]
    createdAt: str
    resourceId: str
    sequence: int
    data: ReviewCaseResolvedEventData


class SearchResult(TypedDict):
    kind: Literal["wallet", "payment", "transfer", "hold", "withdrawal", "refund", "payout", "reviewCase"]
    resource: dict[str, Any]


class SimulatedBankAccount(TypedDict):
    accountNumber: str
    bankCode: str | None
    name: str | None
    behaviour: Literal["complete", "reject", "return", "hold", "timeout_delivered", "timeout_lost", "unavailable", "underfunded"]


class SimulatedCredit(TypedDict):
    sessionId: str
    accountNumber: str
    amount: int
    currency: Literal["NGN"]
    senderName: str | None
    senderAccountNumber: str | None
    senderBankCode: str | None
    receivedAt: str


class SimulatedRecall(TypedDict):
    sessionId: str
    accountNumber: str
    amount: int
    currency: Literal["NGN"]
    recalledAt: str | None


class SimulatedStatementLine(TypedDict):
    kind: Literal["charge", "settlement", "interest"]
    reference: str
    amount: int
    currency: Literal["NGN"]
    at: str


class SimulatedTransfer(TypedDict):
    reference: str
    status: Literal["processing", "completed", "failed", "returned"]
    accountNumber: str
    amount: int
    currency: Literal["NGN"]
    bankCode: str
    sessionId: str
    reason: str | None
    timesSent: int
    timesPaid: int
    timesReturned: int


class SplitTemplateSplitsItemHold(TypedDict):
    releaseAt: str | None


class SplitTemplateSplitsItem(TypedDict):
    walletId: str
    basisPoints: int | None
    reference: str | None
    description: str | None
    hold: NotRequired[SplitTemplateSplitsItemHold]
    amount: int | None
    bearsFee: NotRequired[bool]


class SplitTemplate(TypedDict):
    id: str
    name: str
    splits: list[SplitTemplateSplitsItem]
    createdAt: str


class StatementLineCounterparty(TypedDict):
    walletId: str | None
    name: str | None
    accountNumber: str | None
    bankCode: str | None


class StatementLine(TypedDict):
    id: str
    transactionId: str
    kind: Literal["payment_settlement", "deposit", "review_credit", "fee_sweep", "withdrawal_failure", "withdrawal_return", "refund_return", "payout_item_refusal", "payout_item_failure", "payout_item_return", "payout_item_completion", "refund_clawback_return", "hold_release", "hold_cancellation", "withdrawal_hold", "refund_hold", "payout_reserve", "payout_reserve_free", "withdrawal_clawback", "refund_clawback", "payout_item_clawback", "credit_recall", "debt_recovery", "transfer", "payment_from_wallet", "refund_completion", "adjustment", "adjustment_reversal"]
    resourceId: str
    payoutItemId: str | None
    direction: Literal["credit", "debit"]
    component: Literal["principal", "fee", "total"]
    amount: int
    counterparty: StatementLineCounterparty | None
    description: str | None
    reference: str | None
    balanceAfter: int
    currency: Literal["NGN"]
    effectiveAt: str
    createdAt: str


class TransactionPostingsItem(TypedDict):
    id: str
    debitAccount: str
    creditAccount: str
    amount: int
    component: Literal["principal", "fee", "total"]


class Transaction(TypedDict):
    id: str
    kind: str
    resourceId: str
    reversesTransactionId: str | None
    postings: list[TransactionPostingsItem]
    currency: Literal["NGN"]
    effectiveAt: str
    createdAt: str


class Transfer(TypedDict):
    id: str
    sourceWalletId: str
    destinationWalletId: str
    amount: int
    fee: int
    status: Literal["completed", "failed"]
    holdId: str | None
    description: str | None
    reference: str | None
    metadata: dict[str, Any]
    currency: Literal["NGN"]
    createdAt: str


class TransferCompletedEvent(TypedDict):
    id: str
    type: Literal["transfer.completed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: Transfer


class UnprocessableErrorError(TypedDict):
    type: Literal["unprocessable_error"]
    code: str
    message: str
    details: dict[str, Any]


class UnprocessableError(TypedDict):
    success: Literal[False]
    statusCode: int
    error: UnprocessableErrorError
    meta: Meta


class ValidationErrorErrorDetails(TypedDict):
    fields: list[FieldError]


class ValidationErrorError(TypedDict):
    type: Literal["validation_error"]
    code: str
    message: str
    details: ValidationErrorErrorDetails


class ValidationError(TypedDict):
    success: Literal[False]
    statusCode: int
    error: ValidationErrorError
    meta: Meta


class VirtualAccount(TypedDict):
    accountNumber: str
    bankName: str
    accountName: str
    expiresAt: str | None


class Wallet(TypedDict):
    id: str
    kind: Literal["settlement", "end_user"]
    email: str
    fullName: str | None
    phone: str | None
    externalReference: str | None
    kycStatus: Literal["none", "tier1", "tier2", "tier3", "business"]
    status: Literal["active", "frozen", "closed"]
    heldBalance: int
    amountOwed: int
    metadata: dict[str, Any]
    currency: Literal["NGN"]
    createdAt: str


class WalletAdjustedEventData(TypedDict):
    walletId: str
    status: Literal["active", "frozen", "closed"]
    adjustmentId: str
    reversesAdjustmentId: str | None
    correctsResourceId: str | None
    description: str | None
    direction: Literal["credit", "debit"]
    amount: int
    currency: Literal["NGN"]


class WalletAdjustedEvent(TypedDict):
    id: str
    type: Literal["wallet.adjusted"]
    createdAt: str
    resourceId: str
    sequence: int
    data: WalletAdjustedEventData


class WalletBalance(TypedDict):
    walletId: str
    balance: int
    currency: Literal["NGN"]


class WalletClosedEventData(TypedDict):
    walletId: str
    status: Literal["active", "frozen", "closed"]


class WalletClosedEvent(TypedDict):
    id: str
    type: Literal["wallet.closed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: WalletClosedEventData


class WalletCreditedEventDataSender(TypedDict):
    name: str | None
    accountNumber: str | None
    bankCode: str | None
    sessionId: str | None


class WalletCreditedEventData(TypedDict):
    walletId: str
    status: Literal["active", "frozen", "closed"]
    inboundCreditId: str | None
    feeSweepId: NotRequired[str]
    payoutItemId: NotRequired[str]
    paymentId: NotRequired[str]
    reference: NotRequired[str | None]
    amount: int
    currency: Literal["NGN"]
    sessionId: str | None
    sender: NotRequired[WalletCreditedEventDataSender]
    receivedAt: NotRequired[str]


class WalletCreditedEvent(TypedDict):
    id: str
    type: Literal["wallet.credited"]
    createdAt: str
    resourceId: str
    sequence: int
    data: WalletCreditedEventData


class WalletDebitedEventData(TypedDict):
    walletId: str
    status: Literal["active", "frozen", "closed"]
    transferId: NotRequired[str]
    inboundCreditId: NotRequired[str]
    debtRecoveryId: NotRequired[str]
    reason: Literal["paid_after_failure", "credit_recalled", "refund_funded", "debt_recovery"]
    amount: int
    missing: int
    currency: Literal["NGN"]


class WalletDebitedEvent(TypedDict):
    id: str
    type: Literal["wallet.debited"]
    createdAt: str
    resourceId: str
    sequence: int
    data: WalletDebitedEventData


class WalletFrozenEventData(TypedDict):
    walletId: str
    status: Literal["active", "frozen", "closed"]


class WalletFrozenEvent(TypedDict):
    id: str
    type: Literal["wallet.frozen"]
    createdAt: str
    resourceId: str
    sequence: int
    data: WalletFrozenEventData


class WalletLimitsLimitsItem(TypedDict):
    limit: Literal["transaction", "balance", "daily_amount", "daily_count", "monthly_amount", "monthly_count"]
    maximum: int
    used: int | None
    remaining: int
    resetsAt: str | None


class WalletLimits(TypedDict):
    walletId: str
    tier: Literal["tier1", "tier2", "tier3", "business", None]
    limits: list[WalletLimitsLimitsItem]


class WalletStatement(TypedDict):
    walletId: str
    month: str
    openingBalance: int
    closingBalance: int
    isComplete: bool
    currency: Literal["NGN"]


class WalletUnfrozenEventData(TypedDict):
    walletId: str
    status: Literal["active", "frozen", "closed"]


class WalletUnfrozenEvent(TypedDict):
    id: str
    type: Literal["wallet.unfrozen"]
    createdAt: str
    resourceId: str
    sequence: int
    data: WalletUnfrozenEventData


class WebhookEndpoint(TypedDict):
    id: str
    url: str
    description: str | None
    eventTypes: list[Literal["payment.settled", "payment.completed", "payment.expired", "payment.cancelled", "payment.in_review", "payment.reviewed", "payment.recalled", "withdrawal.completed", "withdrawal.failed", "withdrawal.returned", "transfer.completed", "hold.created", "hold.released", "hold.cancelled", "refund.completed", "refund.failed", "payout.completed", "payout.partially_completed", "payout.failed", "payout.item_completed", "payout.item_failed", "payout.item_returned", "wallet.credited", "wallet.debited", "wallet.adjusted", "wallet.frozen", "wallet.unfrozen", "wallet.closed", "review_case.opened", "review_case.resolved", "webhook_endpoint.failing", "webhook_endpoint.disabled"]] | None
    status: Literal["enabled", "disabled"]
    failingSince: str | None
    previousSecretExpiresAt: str | None
    createdAt: str


class WebhookEndpointDisabledEvent(TypedDict):
    id: str
    type: Literal["webhook_endpoint.disabled"]
    createdAt: str
    resourceId: str
    sequence: int
    data: WebhookEndpoint


class WebhookEndpointFailingEvent(TypedDict):
    id: str
    type: Literal["webhook_endpoint.failing"]
    createdAt: str
    resourceId: str
    sequence: int
    data: WebhookEndpoint


class WebhookEndpointWithSecret(TypedDict):
    id: str
    url: str
    description: str | None
    eventTypes: list[Literal["payment.settled", "payment.completed", "payment.expired", "payment.cancelled", "payment.in_review", "payment.reviewed", "payment.recalled", "withdrawal.completed", "withdrawal.failed", "withdrawal.returned", "transfer.completed", "hold.created", "hold.released", "hold.cancelled", "refund.completed", "refund.failed", "payout.completed", "payout.partially_completed", "payout.failed", "payout.item_completed", "payout.item_failed", "payout.item_returned", "wallet.credited", "wallet.debited", "wallet.adjusted", "wallet.frozen", "wallet.unfrozen", "wallet.closed", "review_case.opened", "review_case.resolved", "webhook_endpoint.failing", "webhook_endpoint.disabled"]] | None
    status: Literal["enabled", "disabled"]
    failingSince: str | None
    previousSecretExpiresAt: str | None
    createdAt: str
    secret: str


class WebhookTestEvent(TypedDict):
    id: str
    type: Literal["webhook.test"]
    createdAt: str
    resourceId: str
    sequence: int
    data: WebhookEndpoint


class WithdrawalCounterparty(TypedDict):
    accountNumber: str
    accountName: str | None
    bankCode: str
    bankName: str | None


class Withdrawal(TypedDict):
    id: str
    sourceWalletId: str
    amount: int
    fee: int
    totalAmount: int
    status: Literal["processing", "completed", "failed", "returned"]
    counterparty: WithdrawalCounterparty
    reference: str | None
    metadata: dict[str, Any]
    failureCode: Literal["account_not_resolved", "name_mismatch", "account_dormant", "account_closed", "account_restricted", "account_limit_exceeded", "bank_unavailable", "suspected_fraud", "bank_refused", "bank_returned", "never_received", "wallet_refused", "operator_decision", None]
    failureReason: str | None
    failureDetail: str | None
    sessionId: str | None
    currency: Literal["NGN"]
    createdAt: str
    completedAt: str | None


class WithdrawalCompletedEvent(TypedDict):
    id: str
    type: Literal["withdrawal.completed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: Withdrawal


class WithdrawalFailedEvent(TypedDict):
    id: str
    type: Literal["withdrawal.failed"]
    createdAt: str
    resourceId: str
    sequence: int
    data: Withdrawal


class WithdrawalReturnedEvent(TypedDict):
    id: str
    type: Literal["withdrawal.returned"]
    createdAt: str
    resourceId: str
    sequence: int
    data: Withdrawal


class CreateWalletBody(TypedDict):
    email: str
    fullName: NotRequired[str | None]
    phone: NotRequired[str | None]
    externalReference: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class UpdateWalletBody(TypedDict):
    email: NotRequired[str | None]
    fullName: NotRequired[str | None]
    phone: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class SubmitKycBody(TypedDict):
    tier: NotRequired[Literal["tier1", "tier2", "tier3", "business", None]]
    bvn: str
    dateOfBirth: str
    gender: Literal["male", "female", "other"]
    phone: str
    addressLine1: str
    addressLine2: NotRequired[str | None]
    city: str
    state: str
    country: NotRequired[str | None]
    postalCode: NotRequired[str | None]
    nin: NotRequired[str | None]
    proofOfAddress: NotRequired[str | None]
    businessName: NotRequired[str | None]
    registrationNumber: NotRequired[str | None]


class CreateTransferBodyHold(TypedDict):
    releaseAt: NotRequired[str | None]
    release: NotRequired[Literal["manual"]]


class CreateTransferBody(TypedDict):
    destinationWalletId: str
    amount: int
    description: NotRequired[str | None]
    hold: NotRequired[CreateTransferBodyHold | None]
    reference: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class UpdateTransferBody(TypedDict):
    description: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class ReleaseHoldBody(TypedDict):
    amount: NotRequired[int | None]


class CancelHoldBody(TypedDict):
    pass


class PayFromWalletBody(TypedDict):
    paymentId: str


class CreateWithdrawalBody(TypedDict):
    amount: int
    accountNumber: str
    bankCode: str
    accountName: NotRequired[str | None]
    narration: NotRequired[str | None]
    reference: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class UpdateWithdrawalBody(TypedDict):
    metadata: NotRequired[dict[str, Any] | None]


class CreatePaymentBodySplitsItemHold(TypedDict):
    releaseAt: NotRequired[str | None]
    release: NotRequired[Literal["manual"]]


class CreatePaymentBodySplitsItem(TypedDict):
    walletId: str
    amount: NotRequired[int | None]
    basisPoints: NotRequired[int | None]
    reference: NotRequired[str | None]
    description: NotRequired[str | None]
    hold: NotRequired[CreatePaymentBodySplitsItemHold | None]
    bearsFee: NotRequired[bool | None]


class CreatePaymentBodyHold(TypedDict):
    releaseAt: NotRequired[str | None]
    release: NotRequired[Literal["manual"]]


class CreatePaymentBody(TypedDict):
    method: Literal["bank_transfer", "virtual_wallet"]
    baseAmount: int
    targetWalletId: str
    feeBearer: NotRequired[Literal["payer", "merchant", "split", None]]
    splits: NotRequired[list[CreatePaymentBodySplitsItem] | None]
    splitTemplateId: NotRequired[str | None]
    hold: NotRequired[CreatePaymentBodyHold | None]
    description: NotRequired[str | None]
    onMismatch: NotRequired[Literal["hold", "refund", None]]
    returnUrl: NotRequired[str | None]
    reference: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    expiresIn: NotRequired[int | None]


class UpdatePaymentBody(TypedDict):
    description: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class CancelPaymentBody(TypedDict):
    pass


class RefundPaymentBodyFromItem(TypedDict):
    walletId: str
    amount: int


class RefundPaymentBodyBankAccount(TypedDict):
    accountNumber: str
    bankCode: str
    accountName: NotRequired[str | None]


RefundPaymentBody = TypedDict("RefundPaymentBody", {
    "amount": "NotRequired[int | None]",
    "from": "NotRequired[list[RefundPaymentBodyFromItem] | None]",
    "fundedBy": "NotRequired[str | None]",
    "recover": "NotRequired[bool | None]",
    "destination": "NotRequired[Literal[\"bank\", \"wallet\", None]]",
    "reason": "NotRequired[str | None]",
    "reference": "NotRequired[str | None]",
    "metadata": "NotRequired[dict[str, Any] | None]",
    "bankAccount": "NotRequired[RefundPaymentBodyBankAccount | None]",
})


class UpdateRefundBody(TypedDict):
    metadata: NotRequired[dict[str, Any] | None]


class CreateSplitTemplateBodySplitsItemHold(TypedDict):
    releaseAt: NotRequired[str | None]
    release: NotRequired[Literal["manual"]]


class CreateSplitTemplateBodySplitsItem(TypedDict):
    walletId: str
    amount: NotRequired[int | None]
    basisPoints: NotRequired[int | None]
    reference: NotRequired[str | None]
    description: NotRequired[str | None]
    hold: NotRequired[CreateSplitTemplateBodySplitsItemHold | None]
    bearsFee: NotRequired[bool | None]


class CreateSplitTemplateBody(TypedDict):
    name: str
    splits: list[CreateSplitTemplateBodySplitsItem]


class CreatePayoutBodyItemsItemBankAccount(TypedDict):
    accountNumber: str
    bankCode: str
    accountName: NotRequired[str | None]


class CreatePayoutBodyItemsItem(TypedDict):
    amount: int
    reference: NotRequired[str | None]
    destinationWalletId: NotRequired[str | None]
    bankAccount: NotRequired[CreatePayoutBodyItemsItemBankAccount | None]


class CreatePayoutBody(TypedDict):
    sourceWalletId: NotRequired[str | None]
    reference: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    items: list[CreatePayoutBodyItemsItem]


class UpdatePayoutBody(TypedDict):
    metadata: NotRequired[dict[str, Any] | None]


class ValidatePayoutBodyItemsItemBankAccount(TypedDict):
    accountNumber: str
    bankCode: str
    accountName: NotRequired[str | None]


class ValidatePayoutBodyItemsItem(TypedDict):
    amount: int
    reference: NotRequired[str | None]
    destinationWalletId: NotRequired[str | None]
    bankAccount: NotRequired[ValidatePayoutBodyItemsItemBankAccount | None]


class ValidatePayoutBody(TypedDict):
    sourceWalletId: NotRequired[str | None]
    reference: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    items: list[ValidatePayoutBodyItemsItem]


class CreateWebhookEndpointBody(TypedDict):
    url: str
    description: NotRequired[str | None]
    eventTypes: NotRequired[list[Literal["payment.settled", "payment.completed", "payment.expired", "payment.cancelled", "payment.in_review", "payment.reviewed", "payment.recalled", "withdrawal.completed", "withdrawal.failed", "withdrawal.returned", "transfer.completed", "hold.created", "hold.released", "hold.cancelled", "refund.completed", "refund.failed", "payout.completed", "payout.partially_completed", "payout.failed", "payout.item_completed", "payout.item_failed", "payout.item_returned", "wallet.credited", "wallet.debited", "wallet.adjusted", "wallet.frozen", "wallet.unfrozen", "wallet.closed", "review_case.opened", "review_case.resolved", "webhook_endpoint.failing", "webhook_endpoint.disabled"]] | None]
    status: NotRequired[Literal["enabled", "disabled", None]]


class UpdateWebhookEndpointBody(TypedDict):
    url: NotRequired[str | None]
    description: NotRequired[str | None]
    eventTypes: NotRequired[list[Literal["payment.settled", "payment.completed", "payment.expired", "payment.cancelled", "payment.in_review", "payment.reviewed", "payment.recalled", "withdrawal.completed", "withdrawal.failed", "withdrawal.returned", "transfer.completed", "hold.created", "hold.released", "hold.cancelled", "refund.completed", "refund.failed", "payout.completed", "payout.partially_completed", "payout.failed", "payout.item_completed", "payout.item_failed", "payout.item_returned", "wallet.credited", "wallet.debited", "wallet.adjusted", "wallet.frozen", "wallet.unfrozen", "wallet.closed", "review_case.opened", "review_case.resolved", "webhook_endpoint.failing", "webhook_endpoint.disabled"]] | None]
    status: NotRequired[Literal["enabled", "disabled", None]]


class RotateWebhookSecretBody(TypedDict):
    pass


class SendTestEventBody(TypedDict):
    pass


class RedeliverToEndpointBody(TypedDict):
    since: str


class ResolveReviewCaseBody(TypedDict):
    action: Literal["credit", "return_to_sender", "move_to_unclaimed"]
    walletId: NotRequired[str | None]
    reason: str


class RedeliverEventBody(TypedDict):
    endpointId: NotRequired[str | None]


class CreateApiKeyBody(TypedDict):
    name: NotRequired[str | None]
    scopes: list[Literal["wallet", "wallet:read", "payment", "payment:read", "transfer", "transfer:read", "payout", "payout:read", "review", "review:read", "webhook", "webhook:read", "keys", "keys:read"]]
    allowedIps: NotRequired[list[str] | None]
    rateLimit: NotRequired[int | None]
    expiresAt: NotRequired[str | None]


class RotateApiKeyBody(TypedDict):
    overlapHours: NotRequired[float | None]


class SimulateInboundCreditBody(TypedDict):
    accountNumber: str
    amount: int
    senderName: NotRequired[str | None]
    senderAccountNumber: NotRequired[str | None]
    senderBankCode: NotRequired[str | None]
    sessionId: NotRequired[str | None]
    callback: NotRequired[bool | None]


class SimulateStatementLineBody(TypedDict):
    kind: Literal["charge", "settlement", "interest"]
    amount: int


class SimulateBankAccountBody(TypedDict):
    bankCode: NotRequired[str | None]
    name: NotRequired[str | None]
    behaviour: Literal["complete", "reject", "return", "hold", "timeout_delivered", "timeout_lost", "unavailable", "underfunded"]


class ResolveSimulatedTransferBody(TypedDict):
    outcome: Literal["complete", "reject", "return"]
    contradict: NotRequired[bool | None]
    failureCode: NotRequired[Literal["bank_unavailable", "suspected_fraud", "account_limit_exceeded", "account_restricted", "account_closed", "name_mismatch", "account_not_resolved", "account_dormant", None]]


Event: TypeAlias = "PaymentSettledEvent | PaymentCompletedEvent | PaymentExpiredEvent | PaymentCancelledEvent | PaymentInReviewEvent | PaymentReviewedEvent | PaymentRecalledEvent | WithdrawalCompletedEvent | WithdrawalFailedEvent | WithdrawalReturnedEvent | TransferCompletedEvent | HoldCreatedEvent | HoldReleasedEvent | HoldCancelledEvent | RefundCompletedEvent | RefundFailedEvent | PayoutCompletedEvent | PayoutPartiallyCompletedEvent | PayoutFailedEvent | PayoutItemCompletedEvent | PayoutItemFailedEvent | PayoutItemReturnedEvent | WalletCreditedEvent | WalletDebitedEvent | WalletAdjustedEvent | WalletFrozenEvent | WalletUnfrozenEvent | WalletClosedEvent | ReviewCaseOpenedEvent | ReviewCaseResolvedEvent | WebhookEndpointFailingEvent | WebhookEndpointDisabledEvent | WebhookTestEvent"


class Operations:
    """A method for each operation; client.py sends the requests."""

    def _data(self, method: str, path: str, **options: Any) -> Any:
        raise NotImplementedError

    def _items(self, path: str, query: dict[str, Any]) -> Iterator[Any]:
        raise NotImplementedError

    def get_health(
        self,
    ) -> Health:
        """Get the health of the service."""
        return self._data("GET", "/health")

    def create_wallet(
        self,
        body: CreateWalletBody,
        *,
        idempotency_key: str | None = None,
    ) -> Wallet:
        """Create a wallet."""
        return self._data("POST", "/wallets", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_wallets(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        external_reference: str | None = None,
        email: str | None = None,
        kind: Literal["settlement", "end_user"] | None = None,
        status: Literal["active", "frozen", "closed"] | None = None,
        kyc_status: Literal["none", "tier1", "tier2", "tier3", "business"] | None = None,
        metadata: dict[str, Any] | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[Wallet]:
        """List wallets."""
        return self._items("/wallets", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "externalReference": external_reference, "email": email, "kind": kind, "status": status, "kycStatus": kyc_status, "metadata": metadata, "order": order})

    def get_wallet(
        self,
        id: str,
    ) -> Wallet:
        """Get a wallet."""
        return self._data("GET", f"/wallets/{quote(id, safe='')}")

    def update_wallet(
        self,
        id: str,
        body: UpdateWalletBody,
    ) -> Wallet:
        """Change a wallet's contact details or metadata."""
        return self._data("PATCH", f"/wallets/{quote(id, safe='')}", body=body)

    def submit_kyc(
        self,
        id: str,
        body: SubmitKycBody,
        *,
        idempotency_key: str | None = None,
    ) -> Wallet:
        """Submit a customer's KYC details."""
        return self._data("POST", f"/wallets/{quote(id, safe='')}/kyc", body=body, idempotent=True, idempotency_key=idempotency_key)

    def get_wallet_balance(
        self,
        id: str,
        *,
        at: str | datetime | None = None,
    ) -> WalletBalance:
        """Get a wallet's balance, now or at a time."""
        return self._data("GET", f"/wallets/{quote(id, safe='')}/balance", query={"at": at})

    def get_wallet_limits(
        self,
        id: str,
    ) -> WalletLimits:
        """Get a wallet's limits, with what is left of them."""
        return self._data("GET", f"/wallets/{quote(id, safe='')}/limits")

    def get_deposit_account(
        self,
        id: str,
    ) -> VirtualAccount:
        """Get a wallet's permanent account number."""
        return self._data("GET", f"/wallets/{quote(id, safe='')}/deposit-account")

    def list_wallet_deposits(
        self,
        id: str,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["reviewCase"]] | None = None,
    ) -> Iterator[ExpandableCredit]:
        """List the deposits to a wallet."""
        return self._items(f"/wallets/{quote(id, safe='')}/deposits", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "order": order, "expand": expand})

    def list_wallet_transactions(
        self,
        id: str,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[StatementLine]:
        """List a wallet's statement."""
        return self._items(f"/wallets/{quote(id, safe='')}/transactions", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "order": order})

    def get_transaction(
        self,
        id: str,
    ) -> Transaction:
        """Get a ledger transaction with its postings."""
        return self._data("GET", f"/transactions/{quote(id, safe='')}")

    def get_wallet_statement(
        self,
        id: str,
        month: str,
        *,
        unit: Literal["naira", "kobo"] | None = None,
    ) -> WalletStatement:
        """Get a wallet's statement of a month, as a file too."""
        return self._data("GET", f"/wallets/{quote(id, safe='')}/statements/{quote(month, safe='')}", query={"unit": unit})

    def create_transfer(
        self,
        id: str,
        body: CreateTransferBody,
        *,
        idempotency_key: str | None = None,
    ) -> Transfer:
        """Transfer money to another wallet."""
        return self._data("POST", f"/wallets/{quote(id, safe='')}/transfer", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_transfers(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        source_wallet_id: str | None = None,
        destination_wallet_id: str | None = None,
        reference: str | None = None,
        metadata: dict[str, Any] | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["sourceWallet", "destinationWallet", "hold"]] | None = None,
    ) -> Iterator[ExpandableTransfer]:
        """List transfers."""
        return self._items("/transfers", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "sourceWalletId": source_wallet_id, "destinationWalletId": destination_wallet_id, "reference": reference, "metadata": metadata, "order": order, "expand": expand})

    def get_transfer(
        self,
        id: str,
        *,
        expand: list[Literal["sourceWallet", "destinationWallet", "hold"]] | None = None,
    ) -> ExpandableTransfer:
        """Get a transfer."""
        return self._data("GET", f"/transfers/{quote(id, safe='')}", query={"expand": expand})

    def update_transfer(
        self,
        id: str,
        body: UpdateTransferBody,
    ) -> Transfer:
        """Change a transfer's description or metadata."""
        return self._data("PATCH", f"/transfers/{quote(id, safe='')}", body=body)

    def release_hold(
        self,
        id: str,
        body: ReleaseHoldBody | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Hold:
        """Release held money to its wallet."""
        return self._data("POST", f"/holds/{quote(id, safe='')}/release", body=body, idempotent=True, idempotency_key=idempotency_key)

    def cancel_hold(
        self,
        id: str,
        body: CancelHoldBody | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Hold:
        """Give held money back to the wallet that paid."""
        return self._data("POST", f"/holds/{quote(id, safe='')}/cancel", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_holds(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        status: Literal["held", "released", "cancelled"] | None = None,
        wallet_id: str | None = None,
        payment_id: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["wallet", "sourceWallet", "transfer", "payment"]] | None = None,
    ) -> Iterator[ExpandableHold]:
        """List holds."""
        return self._items("/holds", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "status": status, "walletId": wallet_id, "paymentId": payment_id, "order": order, "expand": expand})

    def get_hold(
        self,
        id: str,
        *,
        expand: list[Literal["wallet", "sourceWallet", "transfer", "payment"]] | None = None,
    ) -> ExpandableHold:
        """Get a hold."""
        return self._data("GET", f"/holds/{quote(id, safe='')}", query={"expand": expand})

    def pay_from_wallet(
        self,
        id: str,
        body: PayFromWalletBody,
        *,
        idempotency_key: str | None = None,
    ) -> Payment:
        """Pay a payment from a wallet."""
        return self._data("POST", f"/wallets/{quote(id, safe='')}/pay", body=body, idempotent=True, idempotency_key=idempotency_key)

    def create_withdrawal(
        self,
        id: str,
        body: CreateWithdrawalBody,
        *,
        idempotency_key: str | None = None,
    ) -> Withdrawal:
        """Withdraw money to a bank account."""
        return self._data("POST", f"/wallets/{quote(id, safe='')}/withdraw", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_withdrawals(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        status: Literal["processing", "completed", "failed", "returned"] | None = None,
        source_wallet_id: str | None = None,
        reference: str | None = None,
        metadata: dict[str, Any] | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["sourceWallet"]] | None = None,
    ) -> Iterator[ExpandableWithdrawal]:
        """List withdrawals."""
        return self._items("/withdrawals", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "status": status, "sourceWalletId": source_wallet_id, "reference": reference, "metadata": metadata, "order": order, "expand": expand})

    def get_withdrawal(
        self,
        id: str,
        *,
        expand: list[Literal["sourceWallet"]] | None = None,
    ) -> ExpandableWithdrawal:
        """Get a withdrawal."""
        return self._data("GET", f"/withdrawals/{quote(id, safe='')}", query={"expand": expand})

    def update_withdrawal(
        self,
        id: str,
        body: UpdateWithdrawalBody,
    ) -> Withdrawal:
        """Change a withdrawal's metadata."""
        return self._data("PATCH", f"/withdrawals/{quote(id, safe='')}", body=body)

    def create_payment(
        self,
        body: CreatePaymentBody,
        *,
        idempotency_key: str | None = None,
    ) -> Payment:
        """Create a payment."""
        return self._data("POST", "/payments", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_payments(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        status: Literal["pending", "partial", "settled", "expired", "cancelled", "failed", "refunded", "partially_refunded"] | None = None,
        method: Literal["bank_transfer", "virtual_wallet"] | None = None,
        target_wallet_id: str | None = None,
        reference: str | None = None,
        metadata: dict[str, Any] | None = None,
        account_number: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["targetWallet"]] | None = None,
    ) -> Iterator[ExpandablePayment]:
        """List payments."""
        return self._items("/payments", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "status": status, "method": method, "targetWalletId": target_wallet_id, "reference": reference, "metadata": metadata, "accountNumber": account_number, "order": order, "expand": expand})

    def get_payment(
        self,
        id: str,
        *,
        expand: list[Literal["targetWallet"]] | None = None,
    ) -> ExpandablePayment:
        """Get a payment."""
        return self._data("GET", f"/payments/{quote(id, safe='')}", query={"expand": expand})

    def update_payment(
        self,
        id: str,
        body: UpdatePaymentBody,
    ) -> Payment:
        """Change a payment's description or metadata."""
        return self._data("PATCH", f"/payments/{quote(id, safe='')}", body=body)

    def list_payment_credits(
        self,
        id: str,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["reviewCase"]] | None = None,
    ) -> Iterator[ExpandableCredit]:
        """List the credits that a payment received."""
        return self._items(f"/payments/{quote(id, safe='')}/credits", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "order": order, "expand": expand})

    def cancel_payment(
        self,
        id: str,
        body: CancelPaymentBody | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Payment:
        """Cancel a pending payment."""
        return self._data("POST", f"/payments/{quote(id, safe='')}/cancel", body=body, idempotent=True, idempotency_key=idempotency_key)

    def simulate_expiry(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
    ) -> Payment:
        """Have a payment expire now."""
        return self._data("POST", f"/simulations/payments/{quote(id, safe='')}/expire", idempotent=True, idempotency_key=idempotency_key)

    def refund_payment(
        self,
        id: str,
        body: RefundPaymentBody | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Refund:
        """Refund a payment."""
        return self._data("POST", f"/payments/{quote(id, safe='')}/refund", body=body, idempotent=True, idempotency_key=idempotency_key)

    def get_refund(
        self,
        id: str,
        *,
        expand: list[Literal["payment"]] | None = None,
    ) -> ExpandableRefund:
        """Get a refund."""
        return self._data("GET", f"/refunds/{quote(id, safe='')}", query={"expand": expand})

    def update_refund(
        self,
        id: str,
        body: UpdateRefundBody,
    ) -> Refund:
        """Change a refund's metadata."""
        return self._data("PATCH", f"/refunds/{quote(id, safe='')}", body=body)

    def list_payment_refunds(
        self,
        id: str,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["payment"]] | None = None,
    ) -> Iterator[ExpandableRefund]:
        """List the refunds of a payment."""
        return self._items(f"/payments/{quote(id, safe='')}/refunds", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "order": order, "expand": expand})

    def list_refunds(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        status: Literal["processing", "completed", "failed"] | None = None,
        destination: Literal["bank", "wallet"] | None = None,
        reference: str | None = None,
        metadata: dict[str, Any] | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["payment"]] | None = None,
    ) -> Iterator[ExpandableRefund]:
        """List refunds."""
        return self._items("/refunds", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "status": status, "destination": destination, "reference": reference, "metadata": metadata, "order": order, "expand": expand})

    def create_split_template(
        self,
        body: CreateSplitTemplateBody,
        *,
        idempotency_key: str | None = None,
    ) -> SplitTemplate:
        """Save splits."""
        return self._data("POST", "/split-templates", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_split_templates(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[SplitTemplate]:
        """List saved splits."""
        return self._items("/split-templates", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "order": order})

    def get_split_template(
        self,
        id: str,
    ) -> SplitTemplate:
        """Get saved splits."""
        return self._data("GET", f"/split-templates/{quote(id, safe='')}")

    def create_payout(
        self,
        body: CreatePayoutBody,
        *,
        idempotency_key: str | None = None,
    ) -> Payout:
        """Create a payout."""
        return self._data("POST", "/payouts", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_payouts(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        status: Literal["processing", "completed", "partially_completed", "failed"] | None = None,
        source_wallet_id: str | None = None,
        reference: str | None = None,
        metadata: dict[str, Any] | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["sourceWallet"]] | None = None,
    ) -> Iterator[ExpandablePayout]:
        """List payouts."""
        return self._items("/payouts", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "status": status, "sourceWalletId": source_wallet_id, "reference": reference, "metadata": metadata, "order": order, "expand": expand})

    def get_payout(
        self,
        id: str,
        *,
        expand: list[Literal["sourceWallet"]] | None = None,
    ) -> ExpandablePayout:
        """Get a payout."""
        return self._data("GET", f"/payouts/{quote(id, safe='')}", query={"expand": expand})

    def update_payout(
        self,
        id: str,
        body: UpdatePayoutBody,
    ) -> Payout:
        """Change a payout's metadata."""
        return self._data("PATCH", f"/payouts/{quote(id, safe='')}", body=body)

    def list_payout_items(
        self,
        id: str,
        *,
        limit: int | None = None,
        status: Literal["pending", "processing", "completed", "failed"] | None = None,
        reference: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["destinationWallet"]] | None = None,
    ) -> Iterator[ExpandablePayoutItem]:
        """List the items of a payout, in the order of the request."""
        return self._items(f"/payouts/{quote(id, safe='')}/items", {"limit": limit, "status": status, "reference": reference, "order": order, "expand": expand})

    def search(
        self,
        *,
        limit: int | None = None,
        query: str | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[SearchResult]:
        """Search all resources."""
        return self._items("/search", {"limit": limit, "query": query, "order": order})

    def validate_payout(
        self,
        body: ValidatePayoutBody,
    ) -> PayoutValidation:
        """Check a payout without making it."""
        return self._data("POST", "/payouts/validate", body=body)

    def create_webhook_endpoint(
        self,
        body: CreateWebhookEndpointBody,
        *,
        idempotency_key: str | None = None,
    ) -> WebhookEndpointWithSecret:
        """Register a webhook endpoint."""
        return self._data("POST", "/webhook-endpoints", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_webhook_endpoints(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[WebhookEndpoint]:
        """List webhook endpoints."""
        return self._items("/webhook-endpoints", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "order": order})

    def get_webhook_endpoint(
        self,
        id: str,
    ) -> WebhookEndpoint:
        """Get a webhook endpoint."""
        return self._data("GET", f"/webhook-endpoints/{quote(id, safe='')}")

    def update_webhook_endpoint(
        self,
        id: str,
        body: UpdateWebhookEndpointBody,
    ) -> WebhookEndpoint:
        """Change a webhook endpoint."""
        return self._data("PATCH", f"/webhook-endpoints/{quote(id, safe='')}", body=body)

    def delete_webhook_endpoint(
        self,
        id: str,
    ) -> DeletedWebhookEndpoint:
        """Delete a webhook endpoint."""
        return self._data("DELETE", f"/webhook-endpoints/{quote(id, safe='')}")

    def rotate_webhook_secret(
        self,
        id: str,
        body: RotateWebhookSecretBody | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> WebhookEndpointWithSecret:
        """Make a new signing secret."""
        return self._data("POST", f"/webhook-endpoints/{quote(id, safe='')}/rotate-secret", body=body, idempotent=True, idempotency_key=idempotency_key)

    def send_test_event(
        self,
        id: str,
        body: SendTestEventBody | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Event:
        """Send a test event to an endpoint."""
        return self._data("POST", f"/webhook-endpoints/{quote(id, safe='')}/test", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_failed_deliveries(
        self,
        id: str,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[Delivery]:
        """List the deliveries that failed at an endpoint."""
        return self._items(f"/webhook-endpoints/{quote(id, safe='')}/failed-deliveries", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "order": order})

    def redeliver_to_endpoint(
        self,
        id: str,
        body: RedeliverToEndpointBody,
    ) -> EndpointRedelivery:
        """Send an endpoint everything again that it missed since a time."""
        return self._data("POST", f"/webhook-endpoints/{quote(id, safe='')}/redeliver", body=body)

    def list_review_cases(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        status: Literal["open", "returning", "credited", "returned_to_sender", "unclaimed", "closed", "recalled", "repaid"] | None = None,
        reason: Literal["late_credit", "credit_after_settlement", "unknown_account", "partial_expired", "surplus_over_limit", "split_refused", "over_limit", "wallet_frozen", "wallet_closed", "wallet_unverified", "reconciliation_break", "credit_unconfirmed", "paid_after_failure", "credit_recalled"] | None = None,
        payment_id: str | None = None,
        wallet_id: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        expand: list[Literal["payment", "wallet"]] | None = None,
    ) -> Iterator[ExpandableReviewCase]:
        """List review cases."""
        return self._items("/review-cases", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "status": status, "reason": reason, "paymentId": payment_id, "walletId": wallet_id, "order": order, "expand": expand})

    def get_review_case(
        self,
        id: str,
        *,
        expand: list[Literal["payment", "wallet"]] | None = None,
    ) -> ExpandableReviewCase:
        """Get a review case."""
        return self._data("GET", f"/review-cases/{quote(id, safe='')}", query={"expand": expand})

    def resolve_review_case(
        self,
        id: str,
        body: ResolveReviewCaseBody,
        *,
        idempotency_key: str | None = None,
    ) -> ReviewCase:
        """Decide where the money of a review case belongs."""
        return self._data("POST", f"/review-cases/{quote(id, safe='')}/resolve", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_events(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        resource_id: str | None = None,
        type: Literal["payment.settled", "payment.completed", "payment.expired", "payment.cancelled", "payment.in_review", "payment.reviewed", "payment.recalled", "withdrawal.completed", "withdrawal.failed", "withdrawal.returned", "transfer.completed", "hold.created", "hold.released", "hold.cancelled", "refund.completed", "refund.failed", "payout.completed", "payout.partially_completed", "payout.failed", "payout.item_completed", "payout.item_failed", "payout.item_returned", "wallet.credited", "wallet.debited", "wallet.adjusted", "wallet.frozen", "wallet.unfrozen", "wallet.closed", "review_case.opened", "review_case.resolved", "webhook_endpoint.failing", "webhook_endpoint.disabled", "webhook.test"] | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[Event]:
        """List events."""
        return self._items("/events", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "resourceId": resource_id, "type": type, "order": order})

    def get_event(
        self,
        id: str,
    ) -> Event:
        """Get an event."""
        return self._data("GET", f"/events/{quote(id, safe='')}")

    def list_event_deliveries(
        self,
        id: str,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[Delivery]:
        """List an event's deliveries."""
        return self._items(f"/events/{quote(id, safe='')}/deliveries", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "order": order})

    def redeliver_event(
        self,
        id: str,
        body: RedeliverEventBody | None = None,
    ) -> Redelivery:
        """Send an event again."""
        return self._data("POST", f"/events/{quote(id, safe='')}/redeliver", body=body)

    def create_api_key(
        self,
        body: CreateApiKeyBody,
        *,
        idempotency_key: str | None = None,
    ) -> NewApiKey:
        """Create an API key."""
        return self._data("POST", "/api-keys", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_api_keys(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[ApiKey]:
        """List API keys."""
        return self._items("/api-keys", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "order": order})

    def get_api_key(
        self,
        id: str,
    ) -> ApiKey:
        """Get an API key."""
        return self._data("GET", f"/api-keys/{quote(id, safe='')}")

    def revoke_api_key(
        self,
        id: str,
    ) -> ApiKey:
        """Revoke an API key."""
        return self._data("DELETE", f"/api-keys/{quote(id, safe='')}")

    def rotate_api_key(
        self,
        id: str,
        body: RotateApiKeyBody | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> NewApiKey:
        """Replace an API key by a new one."""
        return self._data("POST", f"/api-keys/{quote(id, safe='')}/rotate", body=body, idempotent=True, idempotency_key=idempotency_key)

    def list_request_logs(
        self,
        *,
        limit: int | None = None,
        created_at_from: str | datetime | None = None,
        created_at_to: str | datetime | None = None,
        request_id: str | None = None,
        status: Literal["2xx", "4xx", "5xx"] | None = None,
        error_code: Literal["VALIDATION_FAILED", "MALFORMED_JSON", "BODY_TOO_LARGE", "UNSUPPORTED_CONTENT_TYPE", "IDEMPOTENCY_KEY_MISSING", "IDEMPOTENCY_KEY_INVALID", "INVALID_CURSOR", "API_KEY_MISSING", "API_KEY_INVALID", "RAIL_CALLBACK_INVALID", "API_KEY_ENVIRONMENT_MISMATCH", "API_KEY_SCOPE_FORBIDDEN", "IP_NOT_ALLOWED", "ROUTE_NOT_FOUND", "WALLET_NOT_FOUND", "PAYMENT_NOT_FOUND", "SPLIT_TEMPLATE_NOT_FOUND", "TRANSFER_NOT_FOUND", "HOLD_NOT_FOUND", "WITHDRAWAL_NOT_FOUND", "REFUND_NOT_FOUND", "PAYOUT_NOT_FOUND", "TRANSACTION_NOT_FOUND", "REVIEW_CASE_NOT_FOUND", "API_KEY_NOT_FOUND", "EVENT_NOT_FOUND", "INBOUND_CREDIT_NOT_FOUND", "BANK_TRANSFER_NOT_FOUND", "WEBHOOK_ENDPOINT_NOT_FOUND", "IDEMPOTENCY_KEY_REUSED", "IDEMPOTENCY_IN_PROGRESS", "BANK_TRANSFER_ENDED", "EXTERNAL_REFERENCE_TAKEN", "REFERENCE_TAKEN", "DEPOSIT_ACCOUNT_UNAVAILABLE", "WALLET_KYC_REQUIRED", "WALLET_KYC_NOT_APPLICABLE", "WALLET_BVN_LIMIT_REACHED", "WALLET_TIER1_LIMIT_EXCEEDED", "WALLET_LIMIT_EXCEEDED", "WALLET_TIER_UNAVAILABLE", "WALLET_INSUFFICIENT_FUNDS", "WALLET_FROZEN", "WALLET_CLOSED", "WITHDRAWAL_NAME_VERIFICATION_FAILED", "BANK_CODE_UNKNOWN", "BANK_ACCOUNT_NOT_RESOLVED", "SAME_WALLET", "HOLD_ENDED", "HOLD_AMOUNT_EXCEEDED", "PAYMENT_NOT_PAYABLE", "PAYMENT_NOT_CANCELLABLE", "PAYMENT_METHOD_MISMATCH", "PAYMENT_NOT_REFUNDABLE", "REFUND_AMOUNT_EXCEEDED", "REFUND_DESTINATION_REQUIRED", "REVIEW_ACTION_UNAVAILABLE", "REVIEW_NEEDS_OPERATORS", "API_KEY_EXCEEDS_OWN", "API_KEY_NOT_ACTIVE", "WEBHOOK_URL_FORBIDDEN", "WEBHOOK_ENDPOINT_DISABLED", "WEBHOOK_ENDPOINT_LIMIT_REACHED", "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR", "BANK_RAIL_ERROR", "SERVICE_UNAVAILABLE", "BANK_RAIL_TIMEOUT"] | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> Iterator[RequestLog]:
        """List the requests of the last days."""
        return self._items("/request-logs", {"limit": limit, "createdAtFrom": created_at_from, "createdAtTo": created_at_to, "requestId": request_id, "status": status, "errorCode": error_code, "order": order})

    def list_banks(
        self,
    ) -> Iterator[Bank]:
        """List the banks."""
        return self._items("/banks", {})

    def resolve_bank_account(
        self,
        *,
        account_number: str,
        bank_code: str,
    ) -> ResolvedBankAccount:
        """Look up the name of a bank account."""
        return self._data("GET", "/bank-accounts/resolve", query={"accountNumber": account_number, "bankCode": bank_code})

    def quote_fee(
        self,
        *,
        type: Literal["withdrawal", "payout_item", "bank_transfer_payment", "virtual_wallet_payment", "transfer"],
        amount: str,
        fee_bearer: Literal["payer", "merchant", "split"] | None = None,
        wallet_id: str | None = None,
    ) -> FeeQuote:
        """Quote the fee of a movement."""
        return self._data("GET", "/fees/quote", query={"type": type, "amount": amount, "feeBearer": fee_bearer, "walletId": wallet_id})

    def receive_rail_callback(
        self,
        rail: str,
        contract: str,
    ) -> Receipt:
        """Receive a callback of a bank rail."""
        return self._data("POST", f"/rails/{quote(rail, safe='')}/callbacks/{quote(contract, safe='')}")

    def simulate_inbound_credit(
        self,
        body: SimulateInboundCreditBody,
        *,
        idempotency_key: str | None = None,
    ) -> SimulatedCredit:
        """Send money to an account number."""
        return self._data("POST", "/simulations/inbound-credits", body=body, idempotent=True, idempotency_key=idempotency_key)

    def simulate_statement_line(
        self,
        body: SimulateStatementLineBody,
        *,
        idempotency_key: str | None = None,
    ) -> SimulatedStatementLine:
        """Add a line of the bank's own to its statement."""
        return self._data("POST", "/simulations/statement-lines", body=body, idempotent=True, idempotency_key=idempotency_key)

    def simulate_recall(
        self,
        session_id: str,
        *,
        idempotency_key: str | None = None,
    ) -> SimulatedRecall:
        """Have the bank take a credit back."""
        return self._data("POST", f"/simulations/inbound-credits/{quote(session_id, safe='')}/recall", idempotent=True, idempotency_key=idempotency_key)

    def simulate_bank_account(
        self,
        account_number: str,
        body: SimulateBankAccountBody,
    ) -> SimulatedBankAccount:
        """Choose how transfers to a bank account end."""
        return self._data("PUT", f"/simulations/bank-accounts/{quote(account_number, safe='')}", body=body)

    def get_simulated_transfer(
        self,
        reference: str,
    ) -> SimulatedTransfer:
        """Get a transfer as the sandbox bank has it."""
        return self._data("GET", f"/simulations/bank-transfers/{quote(reference, safe='')}")

    def resolve_simulated_transfer(
        self,
        reference: str,
        body: ResolveSimulatedTransferBody,
    ) -> SimulatedTransfer:
        """End a transfer that the sandbox bank holds."""
        return self._data("POST", f"/simulations/bank-transfers/{quote(reference, safe='')}/resolve", body=body)

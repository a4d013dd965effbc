"""Verification of webhooks by the Standard Webhooks specification (https://www.standardwebhooks.com)."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping

from .operations import Event

TOLERANCE_SECONDS = 300


class WebhookVerificationError(Exception):
    """The webhook is forged, changed, or too old."""


def verify_webhook(secret: str, raw_body: bytes, headers: Mapping[str, str]) -> Event:
    """Returns the event of a webhook. ``raw_body``: the bytes as received, before any parsing."""
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent_at = lower["webhook-id"], lower["webhook-timestamp"]
        signatures = lower["webhook-signature"].split(" ")
        age = abs(time.time() - int(sent_at))
    except (KeyError, ValueError) as error:
        raise WebhookVerificationError("a webhook header is missing or malformed") from error
    if age > TOLERANCE_SECONDS:
        raise WebhookVerificationError("the webhook is too old, or a clock is wrong")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{sent_at}.".encode() + raw_body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    # A rotation has two signatures.
    if not any(hmac.compare_digest(expected.encode(), signature.encode()) for signature in signatures):
        raise WebhookVerificationError("no signature matches")
    return json.loads(raw_body)

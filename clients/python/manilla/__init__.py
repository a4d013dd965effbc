"""The Python client of the Manilla API: typed requests, automatic Idempotency-Keys, safe retries, pages, webhooks.

It needs no packages besides the standard library.
"""

from .client import Manilla, ManillaError
from .operations import Event
from .webhooks import WebhookVerificationError, verify_webhook

__all__ = ["Event", "Manilla", "ManillaError", "WebhookVerificationError", "verify_webhook"]

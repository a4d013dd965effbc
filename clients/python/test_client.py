"""Retries, pages and webhooks of the client, against a server that answers as each test says."""

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from manilla import Manilla, ManillaError, WebhookVerificationError, verify_webhook
from manilla.client import _seconds

Answer = tuple[int, dict[str, Any] | str | bytes] | None
Sent = list[tuple[str, str, str | None]]

CREATED: Answer = (201, {"success": True, "data": {"id": "svc_1"}, "meta": {}})


def failure(status: int, code: str, **details: Any) -> Answer:
    return (status, {"success": False, "error": {"code": code, "message": "", "details": details}, "meta": {"requestId": ""}})


OUTAGE = failure(503, "SERVICE_UNAVAILABLE", retryable=True)

PAGE = "<html><title>Bad gateway</title></html>"


@contextmanager
def answering(*answers: Answer) -> Iterator[tuple[Manilla, Sent]]:
    """A client of a server with these answers: JSON, a page, or ``None``, which closes the connection. With what the
    server received."""
    sent: Sent = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            sent.append((self.command, self.path, self.headers["idempotency-key"]))
            answer = answers[len(sent) - 1]
            if answer is None:
                self.close_connection = True
                return
            status, body = answer
            self.send_response(status)
            self.send_header("X-Request-Id", "req_1")
            self.send_header("Retry-After", "Wed, 25 Nov 2026 02:00:00 GMT" if body == PAGE else "0")
            if 300 <= status < 400:
                self.send_header("Location", "http://localhost:1/elsewhere")
            if isinstance(body, bytes):
                self.send_header("Content-Type", "application/pdf")
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode())

        do_GET = do_POST = answer

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield Manilla("key", f"http://127.0.0.1:{server.server_port}", pause=0.001, retries_max=2), sent
    finally:
        server.shutdown()
        server.server_close()


def transfer(client: Manilla) -> Any:
    return client.create_transfer("svc_1", {"destinationWalletId": "svc_2", "amount": 1})


class Retries(unittest.TestCase):
    def test_a_transfer_is_retried_with_the_same_key(self) -> None:
        temporary = [None, OUTAGE, failure(429, "RATE_LIMIT_EXCEEDED"), failure(409, "IDEMPOTENCY_IN_PROGRESS")]
        for answer in temporary:
            with self.subTest(answer=answer), answering(answer, CREATED) as (client, sent):
                self.assertEqual(transfer(client), {"id": "svc_1"})
                self.assertEqual(len(sent), 2)
                self.assertIsNotNone(sent[0][2])
                self.assertEqual(sent[0], sent[1])

    def test_what_cannot_succeed_is_not_retried(self) -> None:
        refusals = [
            failure(422, "WALLET_FROZEN"),
            failure(409, "IDEMPOTENCY_KEY_REUSED"),
            failure(503, "SERVICE_UNAVAILABLE", retryable=False),
        ]
        for answer in refusals:
            with self.subTest(answer=answer), answering(answer) as (client, sent):
                self.assertRaises(ManillaError, transfer, client)
                self.assertEqual(len(sent), 1)

    def test_a_post_without_a_key_is_never_repeated(self) -> None:
        with answering(None, CREATED) as (client, sent):
            with self.assertRaises(ManillaError) as raised:
                client.redeliver_event("svc_1")
            self.assertEqual(raised.exception.code, "CONNECTION_FAILED")
            self.assertEqual([key for _, _, key in sent], [None])

    def test_what_is_not_of_the_api_is_retried_where_that_is_safe(self) -> None:
        for answer in [(502, PAGE), (200, PAGE), (200, "[]"), (502, '{"error": "down"}'), (429, PAGE)]:
            with self.subTest(answer=answer), answering(answer, CREATED) as (client, sent):
                self.assertEqual(transfer(client), {"id": "svc_1"})
                self.assertEqual(len(sent), 2)
                self.assertEqual(sent[0], sent[1])
            with self.subTest(answer=answer), answering(answer) as (client, sent):
                self.assertRaises(ManillaError, client.redeliver_event, "svc_1")
                self.assertEqual(len(sent), 1)

    def test_what_is_not_of_the_api_is_an_error_with_its_status(self) -> None:
        for status, attempts in [(502, 3), (200, 3), (404, 1), (409, 1)]:
            with self.subTest(status=status), answering(*[(status, PAGE)] * attempts) as (client, sent):
                with self.assertRaises(ManillaError) as raised:
                    transfer(client)
                error = raised.exception
                self.assertEqual(
                    (error.code, error.status, error.details, error.request_id, error.help_url, len(sent)),
                    ("UNREADABLE_RESPONSE", status, {}, "req_1", None, attempts),
                )

    def test_retries_end(self) -> None:
        with answering(OUTAGE, OUTAGE, OUTAGE, CREATED) as (client, sent):
            self.assertRaises(ManillaError, transfer, client)
            self.assertEqual(len(sent), 3)


    def test_the_pause_that_a_response_asks_for_is_kept(self) -> None:
        with answering(failure(503, "SERVICE_UNAVAILABLE", retryable=True, retryAfterSeconds=1), CREATED) as (client, _):
            began = time.monotonic()
            transfer(client)
            self.assertGreaterEqual(time.monotonic() - began, 1)

    def test_a_refusal_names_its_fields(self) -> None:
        fields = [{"field": "amount", "code": "invalid_type", "message": "must be a whole number of kobo"}]
        with answering(failure(400, "VALIDATION_FAILED", fields=fields)) as (client, _):
            with self.assertRaises(ManillaError) as raised:
                transfer(client)
            self.assertIn("amount must be a whole number of kobo", str(raised.exception))


class Files(unittest.TestCase):
    def test_a_file_is_returned_as_it_is_and_is_retried(self) -> None:
        content = b"%PDF-1.3\xff\x00"
        with answering(OUTAGE, (200, content)) as (client, sent):
            self.assertEqual(client.file("/wallets/svc_1/statements/2026-10", "application/pdf", unit="kobo"), content)
            self.assertEqual([path for _, path, _ in sent], ["/wallets/svc_1/statements/2026-10?unit=kobo"] * 2)

    def test_what_is_no_such_file_is_an_error(self) -> None:
        for answer in [CREATED, failure(400, "VALIDATION_FAILED")]:
            with self.subTest(answer=answer), answering(*[answer] * 3) as (client, _):
                self.assertRaises(ManillaError, client.file, "/wallets", "application/pdf")


class NoResponse(unittest.TestCase):
    def test_a_refused_connection_is_the_same_kind_of_error(self) -> None:
        with self.assertRaises(ManillaError) as raised:
            transfer(Manilla("key", "http://127.0.0.1:1", pause=0.001))
        self.assertEqual((raised.exception.code, raised.exception.status), ("CONNECTION_FAILED", 0))

    def test_a_silent_server_ends_each_attempt_and_all_of_them(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"http://127.0.0.1:{silent.getsockname()[1]}"
            for client in (
                Manilla("key", address, timeout=0.05, retries_max=1, pause=0.001),
                Manilla("key", address, total_timeout=0.1),
            ):
                with self.assertRaises(ManillaError) as raised:
                    transfer(client)
                self.assertEqual(raised.exception.code, "TIMED_OUT")


class Parameters(unittest.TestCase):
    def test_a_time_is_sent_with_its_zone_and_refused_without_one(self) -> None:
        page = {"data": [], "pagination": {"hasMore": False, "nextCursor": None}}
        with answering((200, page)) as (client, sent):
            lagos = timezone(timedelta(hours=1))
            list(client.list_wallets(created_at_from=datetime(2026, 1, 31, 10, tzinfo=lagos)))
            self.assertEqual(sent[0][1], "/wallets?createdAtFrom=2026-01-31T10%3A00%3A00.000%2B01%3A00")
            with self.assertRaises(ValueError):
                list(client.list_wallets(created_at_from=datetime(2026, 1, 31)))

    def test_a_list_is_sent_with_commas_and_the_pairs_of_a_dictionary_one_by_one(self) -> None:
        page = {"data": [], "pagination": {"hasMore": False, "nextCursor": None}}
        with answering((200, page)) as (client, sent):
            list(client.list_transfers(metadata={"order": "17", "shop": "a&b"}, expand=["sourceWallet", "hold"]))
            query = "metadata%5Border%5D=17&metadata%5Bshop%5D=a%26b&expand=sourceWallet%2Chold"
            self.assertEqual(sent[0][1], f"/transfers?{query}")


class Addresses(unittest.TestCase):
    def test_a_redirect_is_an_error_that_names_the_address(self) -> None:
        for status in (301, 302, 303, 307, 308):
            with self.subTest(status=status), answering((status, "")) as (client, sent):
                with self.assertRaises(ManillaError) as raised:
                    transfer(client)
                self.assertEqual((raised.exception.code, len(sent)), ("REDIRECTED", 1))
                self.assertIn("http://localhost:1/elsewhere", str(raised.exception))

    def test_a_base_address_may_end_in_a_slash(self) -> None:
        with answering(CREATED) as (client, sent):
            transfer(Manilla("key", client._base_url + "/"))
            self.assertEqual(sent[0][1], "/wallets/svc_1/transfer")

    def test_a_key_with_a_line_break_is_refused_and_not_shown(self) -> None:
        with self.assertRaises(ValueError) as raised:
            Manilla("svc_test_secret\n", "http://127.0.0.1:1")
        self.assertNotIn("secret", str(raised.exception))


class Pauses(unittest.TestCase):
    def test_only_a_number_of_seconds_that_a_caller_may_wait_counts(self) -> None:
        for text in ("-5", "nan", "inf", "0", "301", "Wed, 25 Nov 2026 02:00:00 GMT", "", None):
            self.assertIsNone(_seconds(text), text)
        self.assertEqual(_seconds("2"), 2)


class Pages(unittest.TestCase):
    def test_a_list_reads_every_page(self) -> None:
        pages = [
            {"data": [{"id": 1}, {"id": 2}], "pagination": {"hasMore": True, "nextCursor": "next"}},
            {"data": [{"id": 3}], "pagination": {"hasMore": False, "nextCursor": None}},
        ]
        with answering(*[(200, page) for page in pages]) as (client, sent):
            self.assertEqual([wallet["id"] for wallet in client.list_wallets(limit=2, email="a")], [1, 2, 3])
            self.assertEqual([path for _, path, _ in sent], ["/wallets?limit=2&email=a", "/wallets?cursor=next"])


class Webhooks(unittest.TestCase):
    def test_only_a_signed_recent_body_is_accepted(self) -> None:
        key = b"k" * 32
        secret = "whsec_" + base64.b64encode(key).decode()
        body = b'{"id": "svc_1"}'

        def headers(at: float) -> dict[str, str]:
            sent_at = str(int(at))
            digest = hmac.new(key, b"evt." + sent_at.encode() + b"." + body, hashlib.sha256).digest()
            signatures = "v1,other v1," + base64.b64encode(digest).decode()
            return {"Webhook-Id": "evt", "Webhook-Timestamp": sent_at, "Webhook-Signature": signatures}

        now = time.time()
        self.assertEqual(dict(verify_webhook(secret, body, headers(now))), {"id": "svc_1"})
        for changed in [(body + b" ", headers(now)), (body, headers(now - 600)), (body, {})]:
            with self.subTest(changed=changed):
                self.assertRaises(WebhookVerificationError, verify_webhook, secret, *changed)


if __name__ == "__main__":
    unittest.main()

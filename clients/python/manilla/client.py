"""Requests of the client: Idempotency-Keys, retries that cannot repeat an effect, pages, and errors as exceptions."""

import http.client
import json
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from email.message import Message
from typing import Any

from .operations import Operations


class ManillaError(Exception):
    """An error of the API, ``UNREADABLE_RESPONSE`` or ``REDIRECTED``. Branch on ``code``."""

    def __init__(self, status: int, body: Mapping[str, Any], headers: Message, url: str) -> None:
        error = body["error"]
        super().__init__(f"{error['code']}: {error['message']}")
        self.status = status
        self.code: str = error["code"]
        self.details: dict[str, Any] = error["details"]
        self.request_id: str = body["meta"]["requestId"]
        found = re.search(r'<([^>]+)>; rel="help"', headers.get("Link") or "")
        self.help_url: str | None = urllib.parse.urljoin(url, found[1]) if found else None


class Manilla(Operations):
    """A client: ``Manilla("svc_test_…", "http://127.0.0.1:8080/v1").get_wallet(id)``."""

    def __init__(
        self, api_key: str, base_url: str, *, retries_max: int = 4, pause: float = 0.25, timeout: float = 60
    ) -> None:
        if not re.fullmatch(r"[\x21-\x7e]+", api_key):
            # The error of http.client would show the key.
            raise ValueError("api_key must have no space and no line break")
        self._api_key = api_key
        self._base_url = base_url.rstrip("/")
        self._retries_max = retries_max
        self._pause = pause
        self._timeout = timeout

    def _data(self, method: str, path: str, **options: Any) -> Any:
        return self._send(method, path, **options)["data"]

    def _items(self, path: str, query: Mapping[str, Any]) -> Iterator[Any]:
        while True:
            page = self._send("GET", path, query=query)
            yield from page["data"]
            if not page["pagination"]["hasMore"]:
                return
            query = {"cursor": page["pagination"]["nextCursor"]}

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        idempotent: bool = False,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        sent = {name: str(value) for name, value in (query or {}).items() if value is not None}
        url = self._base_url + path + ("?" + urllib.parse.urlencode(sent) if sent else "")
        headers = {"Authorization": f"Bearer {self._api_key}"}
        if idempotent:
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        may_repeat = idempotent or method != "POST"
        retry = 0
        while True:
            is_last = not may_repeat or retry >= self._retries_max
            wait = self._pause * 2**retry * (0.5 + random.random() / 2)
            request = urllib.request.Request(url, data=data, headers=headers, method=method)
            try:
                status, answer_headers, raw = _exchange(request, self._timeout)
            except (OSError, http.client.HTTPException):
                # No response: the request may have taken effect.
                if is_last:
                    raise
            else:
                answer = _answer_of(status, raw)
                if status < 300 and answer is not None:
                    return answer
                if is_last or not _is_temporary(status, answer):
                    raise ManillaError(status, answer or _unreadable(status, answer_headers, url), answer_headers, url)
                wait = _seconds(answer_headers.get("Retry-After")) or wait
            time.sleep(wait)
            retry += 1


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A followed redirect would turn a POST into a GET, and could take the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)
_RETRY_AFTER_MAX = 300.0  # A longer Retry-After is not of this API.


def _exchange(request: urllib.request.Request, timeout: float) -> tuple[int, Message, bytes]:
    """Status, headers and body of a response, whatever its status."""
    try:
        with _OPENER.open(request, timeout=timeout) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def _answer_of(status: int, raw: bytes) -> dict[str, Any] | None:
    """The body of a response of the API. None for any other, such as the page of a proxy."""
    try:
        answer = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(answer, dict):
        return None
    error = answer.get("error")
    is_readable = "data" in answer if status < 300 else isinstance(error, dict) and {"code", "details"} <= error.keys()
    return answer if is_readable else None


def _unreadable(status: int, headers: Message, url: str) -> dict[str, Any]:
    code, message = "UNREADABLE_RESPONSE", f"The response {status} is not one of this API."
    if status in (301, 302, 303, 307, 308):
        to = headers.get("Location") or "another address"
        code, message = "REDIRECTED", f"{url} redirects to {to}. Set base_url to the address of the API."
    return {
        "error": {"code": code, "message": message, "details": {}},
        "meta": {"requestId": headers.get("X-Request-Id") or ""},
    }


def _seconds(text: str | None) -> float | None:
    """The pause of a Retry-After. None without one that a caller may wait, and for a date, which a proxy may send."""
    try:
        seconds = float(text or 0)
    except ValueError:
        return None
    return seconds if 0 < seconds <= _RETRY_AFTER_MAX else None


def _is_temporary(status: int, answer: Mapping[str, Any] | None) -> bool:
    """Whether the same request may succeed soon."""
    if status == 429:
        return True
    if answer is None:
        # A proxy answered, and the request may have reached the API: only what may be repeated comes here.
        return status < 300 or status >= 500
    if status == 409:
        return answer["error"]["code"] == "IDEMPOTENCY_IN_PROGRESS"
    return status >= 500 and answer["error"]["details"].get("retryable") is True

"""Requests of the client: Idempotency-Keys, retries that cannot repeat an effect, pages, and errors as exceptions."""

import http.client
import json
import math
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.message import Message
from typing import Any, Literal

from .operations import Operations


class ManillaError(Exception):
    """Every failure of a request. Branch on ``code``: a code of the API, or ``CONNECTION_FAILED`` and ``TIMED_OUT``
    (without a response: the request may have taken effect), ``UNREADABLE_RESPONSE``, ``REDIRECTED``."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        details: Mapping[str, Any] | None = None,
        request_id: str = "",
        help_url: str | None = None,
    ) -> None:
        fields = (details or {}).get("fields") or []
        invalid = "; ".join(f"{field['field']} {field['message']}" for field in fields)
        super().__init__(f"{code}: {message} {invalid}".rstrip())
        self.code = code
        self.status = status
        self.details: dict[str, Any] = dict(details or {})
        self.request_id = request_id
        self.help_url = help_url


class Manilla(Operations):
    """A client: ``Manilla("svc_test_…", "http://127.0.0.1:8080/v1").get_wallet(id)``.

    ``timeout``: for each attempt, the seconds without an answer of the network. ``total_timeout``: the seconds after
    which no further attempt begins; default: none.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        retries_max: int = 4,
        pause: float = 0.25,
        timeout: float = 30,
        total_timeout: float | None = None,
    ) -> None:
        if not re.fullmatch(r"[\x21-\x7e]+", api_key):
            # The error of http.client would show the key.
            raise ValueError("api_key must have no space and no line break")
        self._api_key = api_key
        self._base_url = base_url.rstrip("/")
        self._retries_max = retries_max
        self._pause = pause
        self._timeout = timeout
        self._total_timeout = math.inf if total_timeout is None else total_timeout

    def file(self, path: str, media_type: Literal["text/csv", "application/pdf"], **query: Any) -> bytes:
        """A list as CSV, or a statement as CSV or PDF:
        ``client.file(f"/wallets/{id}/statements/2026-10", "application/pdf", unit="kobo")``."""
        content: bytes = self._send("GET", path, query=query, media_type=media_type)
        return content

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
        media_type: str = "application/json",
    ) -> Any:
        sent = [pair for name, value in (query or {}).items() if value is not None for pair in _pairs(name, value)]
        url = self._base_url + path + ("?" + urllib.parse.urlencode(sent) if sent else "")
        headers = {"Authorization": f"Bearer {self._api_key}", "Accept": media_type}
        if idempotent:
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        may_repeat = idempotent or method != "POST"
        end = time.monotonic() + self._total_timeout
        retry = 0
        while True:
            wait = self._pause * 2**retry * (0.5 + random.random() / 2)
            request = urllib.request.Request(url, data=data, headers=headers, method=method)
            try:
                status, answer_headers, raw = _exchange(request, max(0.001, min(self._timeout, end - time.monotonic())))
            except (OSError, http.client.HTTPException) as fault:
                error = _no_response(method, url, fault)
            else:
                is_file = status < 300 and media_type != "application/json"
                if is_file and answer_headers.get_content_type() == media_type:
                    return raw
                answer = None if is_file else _answer_of(status, raw)
                if status < 300 and answer is not None:
                    return answer
                error = _error_of(status, answer, answer_headers, url)
                asked = _seconds(answer_headers.get("Retry-After"))
                wait = asked or _seconds(error.details.get("retryAfterSeconds")) or wait
            is_last = not may_repeat or retry >= self._retries_max or time.monotonic() + wait >= end
            if is_last or not _is_temporary(error):
                raise error
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


def _error_of(status: int, answer: Mapping[str, Any] | None, headers: Message, url: str) -> ManillaError:
    request_id = headers.get("X-Request-Id") or ""
    if answer is not None:
        error = answer["error"]
        found = re.search(r'<([^>]+)>; rel="help"', headers.get("Link") or "")
        return ManillaError(
            error["code"],
            error.get("message", ""),
            status=status,
            details=error["details"],
            request_id=(answer.get("meta") or {}).get("requestId", request_id),
            help_url=urllib.parse.urljoin(url, found[1]) if found else None,
        )
    code, message = "UNREADABLE_RESPONSE", f"The response {status} is not one of this API."
    if status in (301, 302, 303, 307, 308):
        to = headers.get("Location") or "another address"
        code, message = "REDIRECTED", f"{url} redirects to {to}. Set base_url to the address of the API."
    return ManillaError(code, message, status=status, request_id=request_id)


def _no_response(method: str, url: str, fault: Exception) -> ManillaError:
    """The error of a request without a response: it may have taken effect."""
    reason = fault.reason if isinstance(fault, urllib.error.URLError) else fault
    code = "TIMED_OUT" if isinstance(reason, TimeoutError) else "CONNECTION_FAILED"
    error = ManillaError(code, f"{method} {url} had no response ({reason}).")
    error.__cause__ = fault
    return error


def _pairs(name: str, value: object) -> list[tuple[str, str]]:
    """A parameter as it is sent: a list with commas, and of a dictionary each key: ``metadata[order]``."""
    if isinstance(value, Mapping):
        return [(f"{name}[{key}]", _text(each)) for key, each in value.items()]
    if isinstance(value, list):
        return [(name, ",".join(map(_text, value)))]
    return [(name, _text(value))]


def _text(value: object) -> str:
    """A parameter. A time needs its zone: without one it would be read in that of this computer."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        return value.isoformat(timespec="milliseconds")
    return str(value)


def _seconds(text: object) -> float | None:
    """The pause of a Retry-After. None without one that a caller may wait, and for a date, which a proxy may send."""
    try:
        seconds = float(str(text or 0))
    except ValueError:
        return None
    return seconds if 0 < seconds <= _RETRY_AFTER_MAX else None


def _is_temporary(error: ManillaError) -> bool:
    """Whether the same request may succeed soon."""
    if error.status in (0, 429) or error.code == "IDEMPOTENCY_IN_PROGRESS":
        return True
    if error.code == "UNREADABLE_RESPONSE":
        # A proxy answered, and the request may have reached the API: only what may be repeated is.
        return error.status < 300 or error.status >= 500
    return error.status >= 500 and error.details.get("retryable") is True

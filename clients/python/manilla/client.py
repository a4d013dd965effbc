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
from typing import Any

from .operations import Operations


class ManillaError(Exception):
    """An error of the API. Branch on ``code``."""

    def __init__(self, status: int, body: Mapping[str, Any], link: str, url: str) -> None:
        error = body["error"]
        super().__init__(f"{error['code']}: {error['message']}")
        self.status = status
        self.code: str = error["code"]
        self.details: dict[str, Any] = error["details"]
        self.request_id: str = body["meta"]["requestId"]
        found = re.search(r'<([^>]+)>; rel="help"', link)
        self.help_url: str | None = urllib.parse.urljoin(url, found[1]) if found else None


class Manilla(Operations):
    """A client: ``Manilla("svc_test_…", "http://127.0.0.1:8080/v1").get_wallet(id)``."""

    def __init__(
        self, api_key: str, base_url: str, *, retries_max: int = 4, pause: float = 0.25, timeout: float = 60
    ) -> None:
        self._api_key = api_key
        self._base_url = base_url
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
                with urllib.request.urlopen(request, timeout=self._timeout) as response:
                    return json.loads(response.read())
            except urllib.error.HTTPError as error:
                answer = json.loads(error.read())
                if is_last or not _is_temporary(error.code, answer):
                    raise ManillaError(error.code, answer, error.headers.get("Link", ""), url) from None
                wait = float(error.headers.get("Retry-After") or 0) or wait
            except (OSError, http.client.HTTPException):
                # No response: the request may have taken effect.
                if is_last:
                    raise
            time.sleep(wait)
            retry += 1


def _is_temporary(status: int, body: Mapping[str, Any]) -> bool:
    """Whether the same request may succeed soon."""
    if status == 429:
        return True
    if status == 409:
        return body["error"]["code"] == "IDEMPOTENCY_IN_PROGRESS"
    return status >= 500 and body["error"]["details"].get("retryable") is True

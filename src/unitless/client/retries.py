"""When to repeat a request, and when to give up."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

import httpx

from .answers import ClientError

LATER = frozenset({429, 502, 503, 504})  # the server, or its proxy, may accept the request later
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds
_FINAL = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)  # errors of the client: final


class Patience:
    """Pauses that grow, of random length so that many clients do not return at the same time.

    Args:
        seconds: how long after the first failure to try again.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: float | None = None
        self._pause = _FIRST_PAUSE

    def pause(self, at_least: float = 0.0) -> float | None:
        """Seconds to wait before the next attempt; None to give up."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        pause = max(at_least, self._pause * random.uniform(0.5, 1.0))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return pause if now + pause <= self._until else None

    def next_pause(self, otherwise: str) -> float:
        """Seconds to wait before the next attempt; raises an error with this text to give up."""
        pause = self.pause()
        if pause is None:
            raise ClientError(otherwise)
        return pause


def retry_after(outcome: httpx.Response | httpx.TransportError) -> float:
    """The seconds of Retry-After; 0 without a valid header."""
    wish = outcome.headers.get("retry-after", "") if isinstance(outcome, httpx.Response) else ""
    try:
        return max(0.0, float(wish))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(wish).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


def worth_another_try(outcome: httpx.Response | httpx.TransportError) -> bool:
    """Whether the request may be answered later."""
    if isinstance(outcome, httpx.Response):
        return outcome.status_code in LATER
    return not isinstance(outcome, _FINAL)


def problem_of(outcome: httpx.Response | httpx.TransportError, url: str) -> ClientError:
    """The error for a failed request."""
    if isinstance(outcome, httpx.Response):
        return problem_in(_fields(outcome), outcome.status_code)
    if isinstance(outcome, httpx.TimeoutException):
        return ClientError(f"no answer from {url} in time", "is the server busy, or timeout= too short?")
    reason = str(outcome) or type(outcome).__name__
    return ClientError(f"no answer from {url} ({reason})", "is the server running, and is this its address?")


def problem_in(fields: dict[str, object], status: int) -> ClientError:
    """The error from the fields of a problem."""
    title, detail = fields.get("title"), fields.get("detail")
    return ClientError(str(title or "the request failed"), str(detail or ""), status=status, fields=fields)


def _fields(answer: httpx.Response) -> dict[str, object]:
    """The problem, if the answer is one; a proxy may send a page of its own."""
    try:
        fields = answer.json()
    except ValueError:
        fields = None
    return fields if isinstance(fields, dict) else {"title": answer.reason_phrase or "the request failed"}

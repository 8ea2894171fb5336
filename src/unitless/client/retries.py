"""When to ask again, and when to give up."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

import httpx

from .answers import ClientError

LATER = frozenset({429, 502, 503, 504})  # the server, or a proxy before it, may answer otherwise in a while
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds
_FINAL = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)  # mistakes of this side, which stay


class Patience:
    """Pauses that grow, of random length so that many clients do not come back together.

    Args:
        seconds: so long after the first failure it is over.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: float | None = None
        self._pause = _FIRST_PAUSE

    def pause(self, at_least: float = 0.0) -> float | None:
        """How long to wait before the next try; None if there is to be no other."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        pause = max(at_least, self._pause * random.uniform(0.5, 1.0))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return pause if now + pause <= self._until else None

    def next_pause(self, otherwise: str) -> float:
        """The same; raises an error with this text if there is to be no other try."""
        pause = self.pause()
        if pause is None:
            raise ClientError(otherwise)
        return pause


def wished_pause(answer: httpx.Response) -> float:
    """What the server says in Retry-After, in seconds; 0 if it says nothing that can be understood."""
    said = answer.headers.get("retry-after", "")
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


def worth_another_try(outcome: httpx.Response | httpx.TransportError) -> bool:
    """Could the same request be answered later?"""
    if isinstance(outcome, httpx.Response):
        return outcome.status_code in LATER
    return not isinstance(outcome, _FINAL)


def problem_of(outcome: httpx.Response | httpx.TransportError, url: str) -> ClientError:
    """What went wrong, as the caller is told."""
    if isinstance(outcome, httpx.Response):
        return problem_in(_fields(outcome), outcome.status_code)
    if isinstance(outcome, httpx.TimeoutException):
        return ClientError(f"no answer from {url} in time", "is the server busy, or timeout= too short?")
    reason = str(outcome) or type(outcome).__name__
    return ClientError(f"no answer from {url} ({reason})", "is the server running, and is this its address?")


def problem_in(fields: dict[str, object], status: int) -> ClientError:
    """The same from the fields of a problem."""
    title, detail = fields.get("title"), fields.get("detail")
    return ClientError(str(title or "the request failed"), str(detail or ""), status=status, fields=fields)


def _fields(answer: httpx.Response) -> dict[str, object]:
    """The problem, if the answer is one; a proxy may send a page of its own."""
    try:
        fields = answer.json()
    except ValueError:
        fields = None
    return fields if isinstance(fields, dict) else {"title": answer.reason_phrase or "the request failed"}

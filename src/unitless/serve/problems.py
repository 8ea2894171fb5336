"""The answer when something cannot be done: RFC 9457's problem+json."""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import Error
from ..presentation.shown import short

LONGEST = 600  # characters of a message: values that a client has sent can be of any length


class Problem(Exception):
    """An answer with a problem.

    Args:
        status: of HTTP.
        title: what kind of problem it is, in few words.
        detail: what is wrong here, and what to do; the middle of a long one is left out.
        retry_after: seconds after which it is worth to try again.
        more: further fields of the answer.
    """

    def __init__(
        self, status: int, title: str, detail: str = "", *, retry_after: int | None = None, **more: Any
    ) -> None:
        detail = short(detail, LONGEST)
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status, self.title, self.detail, self.more = status, title, detail, more
        self.headers = {} if retry_after is None else {"retry-after": str(retry_after)}

    def fields(self) -> dict[str, Any]:
        """The answer's fields."""
        detail = {"detail": self.detail} if self.detail else {}
        return {"type": "about:blank", "title": self.title, "status": self.status, **detail, **self.more}

    def body(self) -> bytes:
        """The answer as JSON."""
        return msgspec.json.encode(self.fields())


def message_of(error: Error) -> str:
    """What is wrong, in a message of limited length."""
    return short(str(error), LONGEST)


def unexpected(detail: str = "See the server's log.") -> Problem:
    """An error that the server did not expect."""
    return Problem(500, "an error of the server", detail)


def refused(error: Error) -> Problem:
    """A row that the library does not take."""
    return Problem(422, "the row cannot be used", str(error))

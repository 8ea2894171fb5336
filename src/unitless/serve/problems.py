"""What a client is told when something cannot be done: RFC 9457's problem+json."""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import Error


class Problem(Exception):
    """An answer that says no.

    Args:
        status: of HTTP.
        title: what kind of problem it is, in few words.
        detail: what is wrong here, and what to do.
        retry_after: seconds after which it is worth to try again.
        more: further fields of the answer.
    """

    def __init__(
        self, status: int, title: str, detail: str = "", *, retry_after: int | None = None, **more: Any
    ) -> None:
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


def refused(error: Error) -> Problem:
    """A row that the library does not take."""
    return Problem(422, "the row cannot be used", str(error))

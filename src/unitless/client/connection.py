"""What both clients need to know to reach a server."""

from __future__ import annotations

import os
from typing import Any

import httpx

from ..errors import OptionError

URL = "http://127.0.0.1:8000"


def options(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    """For httpx: where the server is, who asks, and how long to wait. There is no limit to the wait for a connection
    of one's own, because others give theirs back.
    """
    if not url.startswith(("http://", "https://")):
        raise OptionError(f"is {url!r}", option="url", advice="it begins with http:// or https://")
    token = os.environ.get("UNITLESS_TOKEN") if token is None else token
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return {"base_url": url, "headers": headers, "timeout": httpx.Timeout(timeout, pool=None)}

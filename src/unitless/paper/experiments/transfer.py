"""Download a file over HTTP: in pieces, with retries, continuing where an earlier attempt ended."""

from __future__ import annotations

import http.client
import os
import pathlib
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

Progress = Callable[[int, int | None], None]

TIMEOUT = 30.0  # seconds without an answer or a byte
PAUSES = (0.5, 2.0, 5.0)  # seconds between attempts that transfer nothing
_PIECE = 1 << 17
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_BEYOND_THE_END = 416


class TransferError(Exception):
    """Raised if a file cannot be downloaded."""


class _BrokenOffError(Exception):
    """Raised if an attempt ended and another one may succeed."""


def transfer(url: str, target: pathlib.Path, progress: Progress | None = None) -> None:
    """Download a file. Until it is complete, and after an error, the received part is stored under the name with
    ".part"; the next call continues from there if the server supports it.

    `progress` is called with the received bytes and the total, if the server reports it.
    """
    host = urllib.parse.urlsplit(url).netloc
    if urllib.parse.urlsplit(url).scheme not in {"http", "https"} or not host:
        raise TransferError(f"{url} is not an address with http:// or https://")
    part = target.with_name(target.name + ".part")
    failures, furthest = 0, _size(part)
    while True:
        try:
            _attempt(url, host, part, progress)
            break
        except _BrokenOffError as error:
            failures = 0 if _size(part) > furthest else failures + 1
            furthest = max(furthest, _size(part))
            if failures > len(PAUSES):
                raise TransferError(f"{error}, after {len(PAUSES)} more attempts") from None
            time.sleep(PAUSES[max(0, failures - 1)])
    os.replace(part, target)
    _version_file(part).unlink(missing_ok=True)


def _attempt(url: str, host: str, part: pathlib.Path, progress: Progress | None) -> None:
    have = _size(part)
    headers = {"User-Agent": "unitless", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if _version_file(part).exists():
            headers["If-Range"] = _version_file(part).read_text(encoding="latin-1")
    try:
        response = _opener().open(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == _BEYOND_THE_END and have:
            if error.headers.get("Content-Range") == f"bytes */{have}":
                return  # the file was already complete
            part.unlink()
            raise _BrokenOffError(f"{host} has another file than before") from None
        message = f"{host} answered {error.code} ({error.reason}) for {url}"
        raise (_BrokenOffError if error.code in _TRANSIENT else TransferError)(message) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError | ConnectionResetError):
            raise _BrokenOffError(f"{host} did not answer ({error.reason})") from None
        raise TransferError(f"there is no connection to {host} ({error.reason}); is there no network") from None
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenOffError(f"{host} did not answer ({error})") from None
    with response:
        _receive(response, host, part, have, progress)


def _receive(response: Any, host: str, part: pathlib.Path, have: int, progress: Progress | None) -> None:
    goes_on = response.status == http.HTTPStatus.PARTIAL_CONTENT
    if goes_on and not re.match(rf"bytes {have}-", response.headers.get("Content-Range", "")):
        part.unlink()
        raise _BrokenOffError(f"{host} sent another part of the file than was asked for")
    have = have if goes_on else 0
    length = response.headers.get("Content-Length")
    total = have + int(length) if length else None
    with part.open("ab" if goes_on else "wb") as file:
        if not goes_on:
            _remember_version(response, part)
        while piece := _next_piece(response, host):
            file.write(piece)
            have += len(piece)
            if progress is not None:
                progress(have, total)
    if total is not None and have < total:
        raise _BrokenOffError(f"{host} sent {have:,} of {total:,} bytes")


def _next_piece(response: Any, host: str) -> bytes:
    try:
        return bytes(response.read(_PIECE))
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenOffError(f"the connection to {host} broke off ({error})") from None


def _remember_version(response: Any, part: pathlib.Path) -> None:
    """Record the version of the file: a part is only continued if the version is the same."""
    tag = response.headers.get("ETag", "")
    version = tag if tag.startswith('"') else response.headers.get("Last-Modified", "")
    if version:
        _version_file(part).write_text(version, encoding="latin-1")
    else:
        _version_file(part).unlink(missing_ok=True)


def _version_file(part: pathlib.Path) -> pathlib.Path:
    return part.with_name(part.name + ".version")


def _size(part: pathlib.Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _opener() -> urllib.request.OpenerDirector:
    """An opener for HTTP and HTTPS only, also after redirects: no ftp and no local files."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener

"""Access: tokens, kept as their hashes, and the role that each one gives.

A token file has one line for each token: its role and its hash, such as `write sha256:9f86d0…`. Lines that begin with
# do not count. Without such a file everyone is an admin, and only this machine can reach the server.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from enum import IntEnum
from pathlib import Path

from ...errors import OptionError
from ..problems import Problem


class Role(IntEnum):
    """The rights of a client; each role includes those before it."""

    read = 1  # predict, and look at everything
    write = 2  # learn
    admin = 3  # make, promote and delete models


ROLES = ", ".join(role.name for role in Role)
MOST_REMEMBERED = 1024  # verified tokens whose hash need not be computed again

_LINE = re.compile(r"(\w+)\s+sha256:([0-9a-f]{64})")
_OWN_SITE = (b"same-origin", b"none")  # from a page of this server, or from its user
_LOCAL_HOST = re.compile(rb"(localhost|127(?:\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)


class Access:
    """Checks tokens.

    Args:
        tokens: pairs of a role and the SHA-256 of a token; None if everyone may do everything.
    """

    def __init__(self, tokens: list[tuple[Role, bytes]] | None) -> None:
        self._tokens = tokens
        self._remembered: dict[bytes, Role] = {}

    @classmethod
    def of(cls, file: Path | None) -> Access:
        """The access that a token file gives.

        Raises:
            OptionError: the file cannot be read, or has a line that is not a token.
        """
        return cls(None if file is None else _read(file))

    def reload(self, file: Path) -> None:
        """Take the tokens that a file has now; the current ones stay if it cannot be read.

        Raises:
            OptionError: the file cannot be read, or has a line that is not a token.
        """
        self._tokens = _read(file)
        self._remembered.clear()

    def role(self, authorization: bytes | None, host: bytes | None = None) -> Role:
        """The role of the client that sent these headers.

        Raises:
            Problem: 401 if the token is missing or wrong; 403 if there are no tokens and another site sent the request.
        """
        if self._tokens is None:
            if host is not None and not _LOCAL_HOST.fullmatch(host):
                raise Problem(
                    403,
                    "this server is for its own machine",
                    "It has no tokens, so it answers only to localhost. Start it with --token-file to use other names.",
                )
            return Role.admin
        if authorization is None:
            raise _unauthorized("Send a token: Authorization: Bearer TOKEN.")
        known = self._remembered.get(authorization)
        if known is not None:
            return known
        scheme, _, token = authorization.partition(b" ")
        digest = hashlib.sha256(token.strip()).digest()
        found = [role for role, kept in self._tokens if hmac.compare_digest(kept, digest)]
        if scheme.lower() != b"bearer" or not found:
            raise _unauthorized("This token is not known. Send Authorization: Bearer TOKEN with one that is.")
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[authorization] = max(found)
        return max(found)

    def check_site(self, host: bytes | None, origin: bytes | None, site: bytes | None) -> None:
        """Check that a request that may change something does not come from a page of another site.

        Without tokens a browser on this machine may do everything, and so may any page that it shows. Browsers send
        the origin of a request. With tokens no check is needed: a page of another site does not have one.

        Args:
            host: the header Host.
            origin: the header Origin, which browsers send.
            site: the header Sec-Fetch-Site, which browsers send.

        Raises:
            Problem: 403 if it does.
        """
        if self._tokens is not None or (origin is None and site is None):
            return
        own = origin is None or (
            host is not None and origin.lower() in (b"http://" + host.lower(), b"https://" + host.lower())
        )
        if not own or (site is not None and site.lower() not in _OWN_SITE):
            raise Problem(
                403,
                "the request comes from another site",
                "The headers Origin or Sec-Fetch-Site name another site than this server. It has no tokens, so pages "
                "of other sites cannot use it. Start it with --token-file to use it from them.",
            )


def require(role: Role, least: Role) -> None:
    """Check that a role is sufficient.

    Raises:
        Problem: 403 if it is not.
    """
    if role < least:
        raise Problem(
            403, "not allowed", f"This needs a token with the role {least.name}; this token has the role {role.name}."
        )


def _unauthorized(detail: str) -> Problem:
    problem = Problem(401, "not authorized", detail)
    problem.headers["www-authenticate"] = 'Bearer realm="unitless"'
    return problem


def _read(file: Path) -> list[tuple[Role, bytes]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        advice = f"make a token: unitless serve --new-token admin --token-file {file}"
        raise OptionError(f"{file}: {reason}", option="token_file", advice=advice) from None
    tokens = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None or found[1] not in Role.__members__:
            advice = f"a line is a role ({ROLES}), a space, sha256: and 64 hexadecimal digits"
            raise OptionError("this is not a token", file=str(file), line=number, advice=advice)
        tokens.append((Role[found[1]], bytes.fromhex(found[2])))
    if not tokens:
        advice = f"make one: unitless serve --new-token admin --token-file {file}"
        raise OptionError("there is no token in this file", file=str(file), advice=advice)
    return tokens


def new_token(role: str, file: Path) -> str:
    """Make a token, and append its hash to a file that only its owner can read.

    Raises:
        OptionError: there is no such role.
    """
    if role not in Role.__members__:
        raise OptionError(f"is {role!r}; it must be one of {ROLES}", option="new_token")
    if file.exists() and file.stat().st_size:
        _read(file)
    token = secrets.token_urlsafe(32)
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as out:
        out.write(f"{role} sha256:{hashlib.sha256(token.encode()).hexdigest()}\n")
    return token

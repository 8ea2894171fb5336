"""Every option of the server, declared once: keyword arguments, the environment, a TOML file and the command line.

The setting closest to the call counts: a keyword argument (or an option of the command line) before a variable of
the environment (`UNITLESS_SERVE_PORT`), and that before the file named by `config`.
"""

# ruff: noqa: RUF009  (a setting is a field)
from __future__ import annotations

import ipaddress
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..data.memory import byte_count
from ..errors import Option, OptionError, Phrase

PREFIX = "UNITLESS_SERVE_"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(value: Any) -> float:
    """A duration such as "90s", "5m", "12h" or "7d"; a plain number is in seconds."""
    if isinstance(value, str) and (found := re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?", value.strip())):
        return float(found[1]) * _SECONDS[found[2] or "s"]
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    raise ValueError("a duration such as 90s, 5m, 12h or 7d")


def size(value: Any) -> int:
    """A size such as "64MB" or "10GiB"; a plain number is in bytes."""
    count = byte_count(value)
    if count is None:
        raise ValueError("a size such as 16kB, 64MB or 10GB")
    return count


def _whole(least: int, most: int | None = None) -> Callable[[Any], int]:
    limits = f"of at least {least:,}" if most is None else f"between {least:,} and {most:,}"

    def read(value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value.strip()):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < least or value > (most or value):
            raise ValueError(f"a whole number {limits}")
        return value

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise ValueError("a text that is not empty")
    return os.fspath(value)


def _path(value: Any) -> Path:
    return Path(_text(value)).expanduser()


def _switch(value: Any) -> bool:
    known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    found = value if isinstance(value, bool) else known.get(str(value).lower())
    if found is None:
        raise ValueError("true or false")
    return found


def _one_of(*values: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in values:
            raise ValueError(" or ".join(values))
        return str(value)

    return read


def _entries(value: Any) -> list[tuple[str, Any]]:
    """Pairs of what stands before and after an equals sign; from a list, a mapping, or lines of text."""
    if isinstance(value, Mapping):
        return [(str(name), given) for name, given in value.items()]
    values = value.splitlines() if isinstance(value, str) else [value] if isinstance(value, os.PathLike) else value
    if not isinstance(values, list | tuple) or not all(isinstance(one, str | os.PathLike) for one in values):
        raise ValueError("a text, or a list of texts")
    parts = [os.fspath(one).strip().partition("=") for one in values]
    return [(name, given if equals else None) for name, equals, given in parts if name]


def _named(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(f"a name of lowercase letters, digits, - and _, and {name!r} is not")
    return name


def _files(value: Any) -> tuple[tuple[str, Path], ...]:
    """Model files by the names under which they are served."""
    found = []
    for name, path in _entries(value):
        plain = re.sub(r"[^a-z0-9_-]+", "-", Path(name).stem.lower()).strip("-_") if path is None else name
        found.append((_named(plain), _path(name if path is None else path)))
    return tuple(found)


def _models(value: Any) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The options of models that are made at the start, by name."""
    found = []
    for name, given in _entries(value):
        try:
            options = json.loads(given) if isinstance(given, str) else given or {}
        except ValueError:
            options = None
        if not isinstance(options, Mapping):
            raise ValueError('NAME, or NAME={"option": value, ...}')
        found.append((_named(name), dict(options)))
    return tuple(found)


def _sources(value: Any) -> tuple[tuple[str, str], ...]:
    """Addresses of brokers, by the model that learns from them."""
    found = _entries(value)
    if not all(isinstance(address, str) and "://" in address for _, address in found):
        raise ValueError("NAME=redis://... or NAME=kafka://...")
    return tuple((_named(name), address) for name, address in found)


DATA, NETWORK, SAFETY, LIMITS, KEPT = "Models", "Addresses", "Access", "Limits", "Storage"


def _setting(
    read: Callable[[Any], Any], default: Any, help: str, panel: str, metavar: str = "", many: bool = False
) -> Any:
    return field(
        default=None if default is None else read(default),
        metadata={"read": read, "help": help, "panel": panel, "metavar": metavar, "many": many, "shown": default},
    )


@dataclass(frozen=True)
class Settings:
    """How a server is to run. Durations are in seconds and sizes in bytes.

    Example:
        >>> Settings.of(data="here", label_wait="2d", environment={}).label_wait
        172800.0
    """

    data: Path | None = _setting(
        _path,
        None,
        "The folder for the models, their logs and snapshots; it is created if it does not exist.",
        DATA,
        "DIR",
    )
    model: tuple[tuple[str, Path], ...] = _setting(
        _files, (), "A model file to serve, under its own name or another: FILE or NAME=FILE.", DATA, "FILE", True
    )
    create: tuple[tuple[str, dict[str, Any]], ...] = _setting(
        _models, (), "A new model to begin with, if it is not there yet: NAME or NAME={options}.", DATA, "NAME", True
    )
    ingest: tuple[tuple[str, str], ...] = _setting(
        _sources,
        (),
        "A message broker whose rows the model NAME learns: NAME=redis://... or NAME=kafka://...",
        DATA,
        "NAME=URL",
        True,
    )
    replica_of: str | None = _setting(
        _text,
        None,
        "Only predict, as a copy of another server: its folder, or the redis://... or kafka://... that it reads.",
        DATA,
        "DIR|URL",
    )
    host: str = _setting(
        _text,
        "127.0.0.1",
        "The address to listen on: 127.0.0.1 for clients on this machine only; 0.0.0.0 for all machines, with tokens.",
        NETWORK,
    )
    port: int = _setting(_whole(0, 65535), 8000, "The port of HTTP; 0 takes a free port.", NETWORK)
    vw_port: int | None = _setting(
        _whole(0, 65535), None, "A port for clients of Vowpal Wabbit's daemon, which send lines of its text.", NETWORK
    )
    vw_model: str | None = _setting(_text, None, "The model that the clients of that port use.", NETWORK)
    personalizer: str | None = _setting(_text, None, "The bandit that answers clients of Azure Personalizer.", NETWORK)
    token_file: Path | None = _setting(
        _path, None, "The file with the tokens and their roles: read, write or admin.", SAFETY, "FILE"
    )
    durability: str = _setting(
        _one_of("disk", "process"),
        "disk",
        "What an answer promises: disk survives a power cut, process survives the end of the process.",
        KEPT,
    )
    label_wait: float = _setting(seconds, "7d", "How long a prediction waits for its label.", KEPT, "TIME")
    id_window: float = _setting(seconds, "1d", "How long the ids of learned rows are remembered.", KEPT, "TIME")
    max_pending: int = _setting(_whole(1), 1_000_000, "How many predictions can wait for their labels.", KEPT, "N")
    max_done: int = _setting(_whole(1), 1_000_000, "How many ids of learned rows are remembered.", KEPT, "N")
    log_retention: int = _setting(size, "10GB", "How much of the log is stored for backtests.", KEPT, "SIZE")
    snapshot_every: float = _setting(seconds, "60s", "How often snapshots are written.", KEPT, "TIME")
    segment: int = _setting(size, "64MB", "The size of the files of the log.", KEPT, "SIZE")
    tick: float = _setting(seconds, "10s", "How often the time is written into the log.", KEPT, "TIME")
    max_row_features: int = _setting(_whole(1), 5000, "The most features of one row to be learned.", LIMITS, "N")
    max_name_length: int = _setting(
        _whole(1), 1000, "The most characters of a feature's name, and of a text value.", LIMITS, "N"
    )
    max_columns: int = _setting(_whole(1), 10_000, "The most columns of a table (CSV, Arrow).", LIMITS, "N")
    max_row_bytes: int = _setting(size, "1MB", "The largest row as JSON.", LIMITS, "SIZE")
    max_features: int = _setting(_whole(1), 200_000, "The most features of a model.", LIMITS, "N")
    max_classes: int = _setting(_whole(2), 100, "The most classes of a model.", LIMITS, "N")
    max_model_bytes: int = _setting(size, "1GB", "The most memory that a model can take.", LIMITS, "SIZE")
    max_models: int = _setting(_whole(1), 1000, "How many models there can be.", LIMITS, "N")
    max_connections: int = _setting(_whole(1), 10_000, "How many connections there can be.", LIMITS, "N")
    max_body: int = _setting(size, "32MB", "The largest request.", LIMITS, "SIZE")
    max_header: int = _setting(size, "16kB", "The largest head of a request.", LIMITS, "SIZE")
    receive_timeout: float = _setting(seconds, "10s", "How long a client can take to send a request.", LIMITS, "TIME")
    queue: int = _setting(_whole(1), 10_000, "How many rows can wait to be learned.", LIMITS, "N")
    config: Path | None = _setting(_path, None, "A TOML file with any of these settings.", "Output", "FILE")
    log_level: str = _setting(
        _one_of("debug", "info", "warning", "error"),
        "info",
        "What is reported on the standard error: debug, info, warning or error.",
        "Output",
    )
    quiet: bool = _setting(_switch, False, "Do not print the address of the page.", "Output")

    @classmethod
    def of(cls, *, environment: Mapping[str, str] = os.environ, **given: Any) -> Settings:
        """The settings from all sources. Whatever is None has not been given.

        Raises:
            OptionError: a setting does not exist, or its value cannot be used.
        """
        values = {name: value for name, value in given.items() if value is not None}
        found = _from_environment(environment)
        config = values.get("config", found.get("config"))
        settings: dict[str, Any] = {}
        if config is not None:
            settings |= _read(_from_file(Path(config)), str(config), str)
        settings |= _read(found, "", lambda name: PREFIX + name.upper())
        settings |= _read(values, "", None)
        whole = cls(**settings)
        whole._check()
        return whole

    def expired(self, now: int) -> tuple[int, int]:
        """Before which times predictions without labels, and ids that were learned, are forgotten (microseconds)."""
        return now - round(self.label_wait * 1e6), now - round(self.id_window * 1e6)

    def _check(self) -> None:
        if self.replica_of is None and self.data is None:
            raise OptionError("is not given; name the folder for the models, their logs and snapshots", option="data")
        if self.replica_of is not None and (self.ingest or self.vw_port is not None):
            which = "ingest" if self.ingest else "vw_port"
            raise OptionError(
                Phrase("does not go with ", Option("replica_of"), ": a replica only predicts"), option=which
            )
        if self.token_file is None and not is_loopback(self.host):
            raise OptionError(
                f"is {self.host!r}, which others can reach",
                option="host",
                advice=Phrase("make a token (--new-token admin) and name its file with ", Option("token_file")),
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


SETTINGS = {one.name: one for one in fields(Settings)}


def _unknown(name: str, file: str) -> OptionError:
    import difflib  # noqa: PLC0415  (only for mistakes)

    near = difflib.get_close_matches(name.lower().removeprefix(PREFIX.lower()), SETTINGS, 1)
    advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(SETTINGS)}"
    return OptionError(f"{name} is not a setting", advice=advice, file=file)


def _read(values: Mapping[str, Any], file: str, written: Callable[[str], str] | None) -> dict[str, Any]:
    found = {}
    for name, value in values.items():
        if name not in SETTINGS:
            raise _unknown(name, file)
        try:
            found[name] = SETTINGS[name].metadata["read"](value)
        except ValueError as error:
            problem = f"is {value!r}; it must be {error}"
            if written is None:
                raise OptionError(problem, option=name) from None
            raise OptionError(f"{written(name)} {problem}", file=file) from None
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for variable, value in environment.items():
        if variable.startswith(PREFIX):
            name = variable.removeprefix(PREFIX).lower()
            if name not in SETTINGS:
                raise _unknown(variable, "")
            found[name] = value
    return found


def _from_file(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415
    else:
        import tomli as tomllib  # noqa: PLC0415
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror}", option="config") from None
    except ValueError as error:
        raise OptionError(f"this is not a TOML file: {error}", file=str(path)) from None

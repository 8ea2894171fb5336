"""Call `train` with all options in one flat list, as on the command line."""

from __future__ import annotations

from typing import Any

import unitless as ul

_READING = frozenset(ul.Reading.__dataclass_fields__)
_CLUSTER = frozenset(ul.Cluster.__dataclass_fields__)


def gathered(**options: Any) -> dict[str, Any]:
    """Gather options as `train` takes them: reading options in a `Reading`, cluster options in a `Cluster`."""
    found = {name: value for name, value in options.items() if name not in _READING | _CLUSTER}
    reading = {name: value for name, value in options.items() if name in _READING}
    cluster = {name: value for name, value in options.items() if name in _CLUSTER}
    found |= {"reading": ul.Reading(**reading)} if reading else {}
    return found | ({"cluster": ul.Cluster(**cluster)} if cluster else {})


def train(source: Any, target: Any = None, **options: Any) -> ul.TrainResult:
    """`ul.train` with flat options."""
    return ul.train(source, target, **gathered(**options))

"""The durable log of a stream: what happened, in order, in files of records with checksums.

records.py    one record: its bytes, and how they are read and checked
segments.py   one file of the log: its header, its name, its records
log.py        Log: appends, reads, rotates, recovers
tail.py       Tail: reads what another process writes, as it comes
reader.py     Reader: reads single records of what another process writes
damage.py     LogError: what is wrong with a log, where, and what to do
"""

from __future__ import annotations

from .damage import LogError
from .log import Cut, Log
from .tail import Tail

__all__ = ["Cut", "Log", "LogError", "Tail"]

"""Data of any kind, in batches: files, frames, matrices, mappings."""

from .labels import Target
from .located_rows import Bad, Position
from .read_options import ReadOptions
from .reader import Batch, Reader, open_source
from .schema import Schema
from .source import Source

__all__ = ["Bad", "Batch", "Position", "ReadOptions", "Reader", "Schema", "Source", "Target", "open_source"]

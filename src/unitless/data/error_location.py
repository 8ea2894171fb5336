"""Messages that say where: the core counts the rows of a batch, people look for them in their file."""

from __future__ import annotations

import re

from . import Batch


def placed(message: str, batch: Batch) -> str:
    """The message with its rows' true places."""
    message = re.sub(r"^row (\d+): ", lambda match: f"{batch.place(int(match[1]))}: ", message)
    return re.sub(r"\bat row (\d+)", lambda match: f"at {batch.place(int(match[1]))}", message)

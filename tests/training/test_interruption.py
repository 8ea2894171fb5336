"""Ctrl-C and SIGTERM are handled between batches, and the earlier handlers are restored afterwards."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

import unitless as ul
from unitless.training.interruption import interruptible


def test_handlers_are_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with interruptible() as interrupted:
        assert signal.getsignal(signal.SIGTERM) != before[1]
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupted()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_handler_that_python_has_not_installed_is_left_in_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that embeds Python may have installed one. Python sees it as None and could not restore it."""
    handlers: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: None}
    during: dict[int, Any] = {}

    def install(number: int, handler: Any) -> Any:
        if handler is None:  # with the answer of the real function
            raise TypeError("signal handler must be signal.SIG_IGN, signal.SIG_DFL, or a callable object")
        before, handlers[number] = handlers[number], handler
        return before

    monkeypatch.setattr(signal, "signal", install)
    monkeypatch.setattr(signal, "getsignal", handlers.__getitem__)
    rows = [{"x": float(i), "y": float(i % 7)} for i in range(100)]
    result = ul.train(rows, target="y", progress=lambda run: during.update(handlers))
    assert result.details.learned == 100
    assert during[signal.SIGINT] is not signal.default_int_handler
    assert during[signal.SIGTERM] is None
    assert handlers == {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: None}

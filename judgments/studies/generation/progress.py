"""The type of the argument ``progress`` of functions that draw and store a study."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]  # gets the share that is done, and the current step in words


def no_progress(share: float, message: str) -> None:
    pass

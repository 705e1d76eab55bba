"""The argument ``progress`` of what draws and stores a study."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]


def no_progress(share: float, message: str) -> None:
    pass

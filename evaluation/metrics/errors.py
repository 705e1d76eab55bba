"""Errors of the metrics."""

from collections.abc import Iterable
from difflib import get_close_matches


class MetricsError(ValueError):
    pass


class UnknownName(MetricsError):
    """An unknown metric, tokenizer or option; the message names the nearest known one."""

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        known = list(known)
        near = get_close_matches(str(name).lower(), known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(f"unknown {what} {name!r}; {hint}known: {', '.join(known) or 'none'}")


class InvalidInput(MetricsError):
    pass


class MissingTables(MetricsError):
    """METEOR's tables are not there; the message says how to get them, and what goes without."""


class PackageFailed(MetricsError):
    """A package's metric that cannot be loaded or computed."""


class InvalidFile(MetricsError):
    pass

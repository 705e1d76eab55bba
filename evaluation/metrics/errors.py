"""What can go wrong when captions are scored, each with one clear sentence."""

from collections.abc import Iterable
from difflib import get_close_matches


class MetricsError(ValueError):
    """The base of every error that this package raises on purpose."""


class UnknownName(MetricsError):
    """A metric, tokenizer or option that does not exist; the message names the nearest one that does."""

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        known = list(known)
        near = get_close_matches(str(name), known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(f"unknown {what} {name!r}; {hint}known: {', '.join(known) or 'none'}")


class InvalidInput(MetricsError):
    """Candidates, references or option values that cannot be scored."""


class InvalidFile(MetricsError):
    """A file that is not in one of the formats that `score` reads."""

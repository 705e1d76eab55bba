"""Names in place of names: made for one release with a secret that is then thrown away. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

from evaluation.releases.released import ANONYMOUS

DIGITS = 16
MAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+")
ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
NUMBER = re.compile(r"\+?\d[\d \-/()]{4,}\d")
LEFT_OUT = "[…]"


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """Equal names get equal pseudonyms within one release; without the salt nobody can tell which."""

    salt: bytes

    def worker(self, name: str, *, anonymous: bool) -> str:
        """Of a person, or of a place in a published total."""
        return f"{ANONYMOUS if anonymous else 'p-'}{self._digest('worker', name)}"

    def assignment(self, name: str) -> str:
        """Of a piece of work."""
        return f"a-{self._digest('assignment', name)}"

    def _digest(self, what: str, name: str) -> str:
        return hmac.new(self.salt, f"{what}\n{name}".encode(), hashlib.sha256).hexdigest()[:DIGITS]


def scrubbed(comment: str, name: str) -> str:
    """A comment without its author's name, addresses and longer numbers."""
    for pattern in (MAIL, ADDRESS, NUMBER):
        comment = pattern.sub(LEFT_OUT, comment)
    return re.sub(re.escape(name), LEFT_OUT, comment, flags=re.IGNORECASE) if name else comment

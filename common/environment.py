"""Settings from the environment, of which a wrong one ends the start with a sentence.

The limits of what is read from outside are here, as the settings import them: nothing here may need settings.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import inf
from typing import TypeVar

import environ
from django.core.exceptions import ImproperlyConfigured
from limits import parse_many

NO, YES = {"false", "off", "no", "n", "0", ""}, {"true", "on", "ok", "yes", "y", "1"}
Read = TypeVar("Read")
Number = TypeVar("Number", int, Decimal)


class Environment(environ.Env):
    def read(
        self,
        name: builtins.str,
        read: Callable[[builtins.str], Read],
        default: object,
        expected: builtins.str,
    ) -> Read:
        """Return what ``read`` makes of a variable. Raise ImproperlyConfigured where it raises ValueError."""
        text: str = self.str(name, default=str(default)).strip()
        try:
            return read(text)
        except (ValueError, InvalidOperation):
            raise ImproperlyConfigured(f"{name} is {text!r}; expected {expected}.") from None

    def bool(self, name: builtins.str, default: builtins.bool) -> builtins.bool:
        return self.read(name, lambda text: _one_of(text.lower(), NO | YES) in YES, default, "true or false")

    def int(self, name: builtins.str, default: builtins.int) -> builtins.int:
        return self.read(
            name, lambda text: _from_zero(int(text or default)), default, "a whole number from 0 on"
        )

    def decimal(self, name: builtins.str, default: builtins.str) -> Decimal:
        return self.read(
            name, lambda text: _from_zero(Decimal(text or default)), default, "a number from 0 on"
        )

    def float(self, name: builtins.str, default: builtins.float) -> builtins.float:
        return float(self.decimal(name, str(default)))

    def choice(
        self, name: builtins.str, default: builtins.str, options: Collection[builtins.str]
    ) -> builtins.str:
        return self.read(name, lambda text: _one_of(text, options), default, " or ".join(options))

    def limit(self, name: builtins.str, default: builtins.str) -> builtins.str:
        return self.read(name, _limit, default, "such as 300/10 minutes, or nothing for no limit")


def _one_of(text: str, options: Collection[str]) -> str:
    if text not in options:
        raise ValueError(text)
    return text


def _from_zero(number: Number) -> Number:
    if not 0 <= number < inf:
        raise ValueError(number)
    return number


def _limit(text: str) -> str:
    if text:
        [_] = parse_many(text)
    return text


@dataclass(frozen=True, slots=True)
class Limits:
    """What is read at most; the setting INCOMING_BYTES sets another `bytes`, and so on.

    Attributes:
        bytes: of a file, and of all files of an archive, once unpacked.
        growth: how many times more bytes there are once unpacked; text packs to about a tenth.
        lines: of a file, blank ones too, and entries of a list of JSON.
        line: characters of a line, of a table's record, and of an entry of a JSON document.
        files: of an archive.
        depth: lists and objects of JSON within each other; what reads them may take a step of the stack for each.
        pixels, picture_bytes: of a picture.
        memory: bytes that reading a file may take, above what the process has before.
        seconds: that reading a file may take, with what is done meanwhile.
    """

    bytes: int = 10 * 2**30
    growth: int = 200
    lines: int = 20_000_000
    line: int = 2 * 2**20
    files: int = 200_000
    depth: int = 100
    pixels: int = 64_000_000
    picture_bytes: int = 50 * 2**20
    memory: int = 300 * 2**20
    seconds: int = 6 * 3600


DEFAULTS = Limits()

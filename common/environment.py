"""Read settings from the environment. An invalid value stops the start with an error message.

This module also defines the limits of incoming data, which the settings import. It must not import settings.
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

FALSE, TRUE = {"false", "off", "no", "n", "0", ""}, {"true", "on", "ok", "yes", "y", "1"}
Value = TypeVar("Value")
Number = TypeVar("Number", int, Decimal)


class Environment(environ.Env):
    """Reads settings, with an error message for each wrong value. Without a value, a number has its default.

    In the annotations of the class, ``int`` would be its method, so ``builtins.int`` is the type.
    """

    def read(
        self,
        name: builtins.str,
        convert: Callable[[builtins.str], Value],
        default: object,
        expected: builtins.str,
    ) -> Value:
        """Return the converted value of a variable.

        Args:
            convert: a function that converts the text, or raises ValueError.
            expected: the end of the error message "NAME is VALUE; expected ...".

        Raises:
            ImproperlyConfigured: the value is not valid.
        """
        text: str = self.str(name, default=str(default)).strip()
        try:
            return convert(text)
        except (ValueError, InvalidOperation):
            raise ImproperlyConfigured(f"{name} is {text!r}; expected {expected}.") from None

    def bool(self, name: builtins.str, default: builtins.bool) -> builtins.bool:
        return self.read(
            name, lambda text: _check_option(text.lower(), FALSE | TRUE) in TRUE, default, "true or false"
        )

    def int(self, name: builtins.str, default: builtins.int) -> builtins.int:
        return self.read(
            name, lambda text: _check_not_negative(int(text or default)), default, "a whole number from 0 on"
        )

    def decimal(self, name: builtins.str, default: builtins.str) -> Decimal:
        return self.read(
            name, lambda text: _check_not_negative(Decimal(text or default)), default, "a number from 0 on"
        )

    def float(self, name: builtins.str, default: builtins.float) -> builtins.float:
        return float(self.decimal(name, str(default)))

    def choice(
        self, name: builtins.str, default: builtins.str, options: Collection[builtins.str]
    ) -> builtins.str:
        return self.read(name, lambda text: _check_option(text, options), default, " or ".join(options))

    def limit(self, name: builtins.str, default: builtins.str) -> builtins.str:
        """Return a limit on attempts, such as 300/10 minutes; "" for no limit."""
        return self.read(name, _check_limit, default, "such as 300/10 minutes, or nothing for no limit")


def _check_option(text: str, options: Collection[str]) -> str:
    if text not in options:
        raise ValueError(text)
    return text


def _check_not_negative(number: Number) -> Number:
    if not 0 <= number < inf:
        raise ValueError(number)
    return number


def _check_limit(text: str) -> str:
    if text and len(parse_many(text)) != 1:
        raise ValueError(text)
    return text


@dataclass(frozen=True, slots=True)
class IncomingLimits:
    """Limits of incoming data. The setting INCOMING_BYTES replaces `bytes`, and so on.

    Attributes:
        bytes: size of a file, and of all files of an archive together, when unpacked.
        growth: ratio of unpacked to packed size. Text has a ratio of about ten.
        lines: lines of a file, including blank lines, and entries of a JSON list.
        line: characters of a line, of a table's record, and of an entry of a JSON document.
        files: files of an archive.
        depth: nesting of JSON lists and objects; a parser may need a stack frame for each.
        pixels, picture_bytes: size of a picture.
        memory: bytes of memory that reading a file may take, in addition to the memory that the process has.
        seconds: time that reading a file may take, including the processing of its rows.
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


DEFAULT_LIMITS = IncomingLimits()

"""Parse incoming JSON within the limits. Long documents are parsed as a stream of entries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from common.incoming import LimitExceeded, limits

STRING = re.compile(rb'"(?:[^"\\]+|\\.)*+"', re.DOTALL)
# a table for bytes.translate that maps opening brackets to 1, and all other bytes to 0
IS_OPENING = bytes(byte in b"[{" for byte in range(256))
NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_BLANKS = " \t\r\n"
# the most characters of a word such as "false", an escape such as "\\u00e9", or the end of a number, which the end of
# the buffer may cut off
_MAX_TOKEN_LENGTH = 16
_DECODER = json.JSONDecoder()


class TooDeep(ValueError):
    """JSON is nested too deeply."""


def load_json(text: str | bytes, **hooks: Any) -> Any:
    """Parse a document. Raise ValueError if it is not JSON, and TooDeep if it is nested too deeply."""
    check_depth(text)
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise TooDeep from None


def check_depth(text: str | bytes) -> None:
    """Raise TooDeep if lists and objects are nested too deeply, without parsing the text."""
    max_depth = limits().depth
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if body.count(b"[") + body.count(b"{") <= max_depth:
        return
    depth = 0
    # brackets within strings do not count
    for is_opening in STRING.sub(b"", body).translate(IS_OPENING, delete=NO_BRACKETS):
        depth += 1 if is_opening else -1
        if depth > max_depth:
            raise TooDeep


class JSONStream:
    """Parses a document entry by entry, so that the memory holds only one entry of a list at a time.

    The parser reads the document into a buffer, and drops the part that is parsed.

    Args:
        chunks: the text of the document, in parts.
        max_length: the maximum number of characters of an entry; by default, that of the limits.
        decoder: decodes the entries.

    Attributes:
        line: the line, from 1, on which the last value begins.
    """

    def __init__(
        self, chunks: Iterable[str], *, max_length: int | None = None, decoder: json.JSONDecoder = _DECODER
    ) -> None:
        self._chunks = iter(chunks)
        self._max_length = max_length or limits().line
        self._decoder = decoder
        self._buffer = ""
        self._position = 0  # of the next character in the buffer
        self._has_ended = False
        self._lines = 0  # line ends before the buffer
        self._column = 0  # characters between the last of these line ends and the buffer
        self.line = 1
        self._line_position = 0  # a position in the buffer that is on this line
        self._last_position = 0  # of the last character that _next_character returned

    def members(self) -> Iterator[tuple[str, int | None, Any]]:
        """Yield (key, number, entry) for the entries of each list in the document's top object.

        Before the entries of a list, yield (key, None, []). For a member that is not a list, yield (key, None, value).
        The key is "" if the document itself is a list. For example, ``{"name": "A", "items": [5, 6]}`` gives
        ("name", None, "A"), ("items", None, []), ("items", 0, 5) and ("items", 1, 6).

        Raises:
            json.JSONDecodeError: the document is not JSON.
            ValueError: a number is too long.
            TooDeep: the document is nested too deeply.
            LimitExceeded: an entry is too long, or a list has too many entries.
        """
        first_character = self._next_character(peek=True)
        if first_character == "[":
            yield from self._entries_of_list("")
        elif first_character == "{":
            yield from self._members_of_object()
        else:
            yield "", None, self._read_value()
        if self._next_character():
            raise self._syntax_error("Extra data")

    def _members_of_object(self) -> Iterator[tuple[str, int | None, Any]]:
        """Read the object that begins at the next character, and yield as ``members`` does."""
        self._next_character()
        if self._next_character(peek=True) == "}":
            self._next_character()
            return
        separator = ","
        while separator == ",":
            if self._next_character(peek=True) != '"':
                self._next_character()
                raise self._syntax_error("Expecting property name enclosed in double quotes")
            key = self._read_value()
            if self._next_character() != ":":
                raise self._syntax_error("Expecting ':' delimiter")
            if self._next_character(peek=True) == "[":
                yield from self._entries_of_list(key)
            else:
                yield key, None, self._read_value()
            separator = self._next_character()
        if separator != "}":
            raise self._syntax_error("Expecting ',' delimiter")

    def _entries_of_list(self, key: str) -> Iterator[tuple[str, int | None, Any]]:
        """Read the list that begins at the next character, and yield as ``members`` does."""
        self._next_character()
        yield key, None, []
        if self._next_character(peek=True) == "]":
            self._next_character()
            return
        max_entries = limits().lines
        number = 0
        separator = ","
        while separator == ",":
            if number == max_entries:
                raise LimitExceeded(
                    f"more than {max_entries:,} entries of a list", "fewer (the setting INCOMING_LINES)"
                )
            yield key, number, self._read_value()
            number += 1
            separator = self._next_character()
        if separator != "]":
            raise self._syntax_error("Expecting ',' delimiter")

    def _read_more(self) -> bool:
        """Read more text into the buffer. Return False at the end of the file."""
        if self._has_ended:
            return False
        chunk = next(self._chunks, "")
        self._has_ended = not chunk
        parsed_part = self._buffer[: self._position]  # is dropped from the buffer
        if "\n" in parsed_part:
            self._lines += parsed_part.count("\n")
            self._column = len(parsed_part) - parsed_part.rfind("\n") - 1
        else:
            self._column += len(parsed_part)
        self._buffer = self._buffer[self._position :] + chunk
        self._position = 0
        self.line = self._lines + 1
        self._line_position = 0
        return True

    def _next_character(self, *, peek: bool = False) -> str:
        """Return the next character that is not white space; "" at the end. Move past it, unless ``peek`` is set."""
        while True:
            while self._position < len(self._buffer) and self._buffer[self._position] in _BLANKS:
                self._position += 1
            if self._position < len(self._buffer):
                self._last_position = self._position
                if not peek:
                    self._position += 1
                return self._buffer[self._last_position]
            if not self._read_more():
                self._last_position = self._position
                return ""

    def _read_value(self) -> Any:
        """Return the next value, and move past it."""
        self._next_character(peek=True)
        self.line += self._buffer.count("\n", self._line_position, self._position)
        self._line_position = self._position
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._position)
            except RecursionError:
                raise TooDeep from None
            except ValueError as error:  # the value is invalid, or is cut off at the end of the buffer
                if not self._is_broken(error):
                    if len(self._buffer) - self._position > self._max_length:
                        raise LimitExceeded(
                            f"an entry of more than {self._max_length:,} characters", "shorter ones"
                        ) from None
                    if self._read_more():
                        continue
                raise self._error_with_place(error) from None
            if len(self._buffer) - end < _MAX_TOKEN_LENGTH and self._read_more():
                continue  # a number at the end of the buffer may continue
            check_depth(self._buffer[self._position : end])
            self._position = end
            return value

    def _is_broken(self, error: ValueError) -> bool:
        """Return whether the value is invalid, even if more text follows the buffer."""
        # if a number is too long, ``max_length`` ends the reading
        if not isinstance(error, json.JSONDecodeError):
            return False
        if error.msg.startswith("Unterminated"):  # the error is at the beginning of the string
            return False
        return error.pos + _MAX_TOKEN_LENGTH < len(self._buffer)

    def _syntax_error(self, message: str) -> ValueError:
        """Return an error at the character that ``_next_character`` returned last."""
        return self._error_with_place(json.JSONDecodeError(message, self._buffer, self._last_position))

    def _error_with_place(self, error: ValueError) -> ValueError:
        """Return an error about the buffer with its position in the whole document."""
        if isinstance(error, json.JSONDecodeError):
            error.colno += self._column if error.lineno == 1 else 0
            error.lineno += self._lines
        return error

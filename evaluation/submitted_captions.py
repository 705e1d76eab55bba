"""COCO results JSON as strangers upload it, read as a stream: no file takes more memory than its captions need.

The format is that of the MS COCO caption evaluation (cocodataset.org, "Results Format"):
``[{"image_id": 42, "caption": "a dog on a beach"}, ...]``, every image of the split exactly once.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from evaluation.errors import SubmissionRefused
from judgments.stored_text import can_be_stored

LONGEST_CAPTION = 1000  # characters
LONGEST_ENTRY = 1 << 16  # characters of one object of the file
FEW = 3  # images named in a sentence
BYTES_AN_IMAGE = 500
BYTES_AT_LEAST = 1 << 20
_BLANKS = " \t\r\n"


def most_bytes(images: int) -> int:
    """The largest file that a challenge of so many images takes."""
    return BYTES_AT_LEAST + BYTES_AN_IMAGE * images


def read_captions(chunks: Iterable[bytes], positions: Mapping[str, int]) -> list[str]:
    """The caption of every image, in the order of ``positions`` (image -> 0, 1, ...).

    Raises:
        SubmissionRefused: the file is not of the format, an image is missing, unknown or there twice, or a caption is
            empty or too long.
    """
    found: list[str | None] = [None] * len(positions)
    unknown: list[str] = []
    twice: list[str] = []
    number = 0
    for number, entry in enumerate(_entries(chunks), start=1):
        image, caption = _checked(number, entry)
        place = positions.get(image)
        if place is None:
            unknown.append(image)
            if len(unknown) > FEW:
                break
        elif found[place] is not None:
            twice.append(image)
            if len(twice) > FEW:
                break
        else:
            found[place] = caption
    if unknown:
        raise SubmissionRefused(
            _("The file names images that the challenge does not have: %(images)s.")
            % {"images": _few(unknown)}
        )
    if twice:
        raise SubmissionRefused(
            _("The file has more than one caption of the images %(images)s; expected one.")
            % {"images": _few(twice)}
        )
    missing = [image for image, place in positions.items() if found[place] is None]
    if missing:
        raise SubmissionRefused(
            _("The file has %(found)s of %(wanted)s captions; the first images without one: %(images)s.")
            % {
                "found": len(positions) - len(missing),
                "wanted": len(positions),
                "images": _few(missing[: FEW + 1]),
            }
        )
    return [caption for caption in found if caption is not None]


def _few(images: list[str]) -> str:
    shown = ", ".join(repr(image[:60]) for image in images[:FEW])
    return f"{shown}, …" if len(images) > FEW else shown


def _checked(number: int, entry: Any) -> tuple[str, str]:
    """Image and caption of the entry, the ``number``-th of the file."""
    if not isinstance(entry, dict):
        raise SubmissionRefused(
            _("Entry %(number)s is no object; expected one with image_id and caption.") % {"number": number}
        )
    image, caption = entry.get("image_id"), entry.get("caption")
    # True is an int to Python and no image's name
    if isinstance(image, bool) or not isinstance(image, str | int):
        raise SubmissionRefused(
            _("Entry %(number)s has no image_id that is a name or a whole number.") % {"number": number}
        )
    if not isinstance(caption, str) or not caption.strip():
        raise SubmissionRefused(
            _("Entry %(number)s has no caption; expected a text that is not empty.") % {"number": number}
        )
    if len(caption) > LONGEST_CAPTION:
        raise SubmissionRefused(
            _("Entry %(number)s has a caption of %(length)s characters; expected at most %(most)s.")
            % {"number": number, "length": len(caption), "most": LONGEST_CAPTION}
        )
    if not can_be_stored([str(image), caption]):
        raise SubmissionRefused(
            _("Entry %(number)s holds a character that is none (U+0000 or half of a pair).")
            % {"number": number}
        )
    return str(image), caption


def _entries(chunks: Iterable[bytes]) -> Iterator[Any]:
    """The values of the file's array, one after the other; at most one of them is held."""
    text = _Text(chunks)
    if text.next() != "[":
        raise _no_array()
    if text.next(peek=True) == "]":
        text.next()
    else:
        while True:
            yield text.value()
            mark = text.next()
            if mark == "]":
                break
            if mark != ",":
                raise _no_array()
    if text.next():
        raise SubmissionRefused(_("The file goes on behind the end of its array; expected nothing there."))


def _no_array() -> SubmissionRefused:
    return SubmissionRefused(
        _('The file is not COCO results JSON: expected [{"image_id": …, "caption": "…"}, …].')
    )


class _Text:
    """A window on the decoded file that moves on."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._json = json.JSONDecoder()
        self._buffer, self._at, self._ended = "", 0, False

    def _more(self) -> bool:
        """Read on; False at the end of the file."""
        if self._ended:
            return False
        chunk = next(self._chunks, b"")
        self._ended = not chunk
        try:
            self._buffer = self._buffer[self._at :] + self._decode(chunk, self._ended)
        except UnicodeDecodeError:
            raise SubmissionRefused(_("The file is not UTF-8; expected JSON in UTF-8.")) from None
        self._at = 0
        return True

    def next(self, *, peek: bool = False) -> str:
        """The next mark that is no blank; '' at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._buffer):
                mark = self._buffer[self._at]
                self._at += not peek
                return mark
            if not self._more():
                return ""

    def value(self) -> Any:
        """The JSON value that comes next."""
        self.next(peek=True)
        while True:
            try:
                value, end = self._json.raw_decode(self._buffer, self._at)
            except RecursionError:
                raise SubmissionRefused(
                    _("The file is nested too deeply; expected an array of objects.")
                ) from None
            except ValueError:  # broken, or cut off where the window ends
                if len(self._buffer) - self._at <= LONGEST_ENTRY and self._more():
                    continue
                raise _no_array() from None
            if end == len(self._buffer) and self._more():
                continue  # a number may go on
            self._at = end
            return value

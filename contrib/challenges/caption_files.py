"""Read files of captions that are submitted to a challenge, in the format of COCO results.

A file is a JSON array in UTF-8: ``[{"image_id": "1305564994.jpg", "caption": "Two dogs run."}, ...]``.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from common.files import can_be_stored
from common.incoming import LimitExceeded
from common.incoming.json_documents import JSONStream, TooDeep
from contrib.challenges.errors import SubmissionRefused

MAX_CAPTION_LENGTH = 1000  # characters of a caption
MAX_ENTRY_LENGTH = 1 << 16  # characters of one object of the file
MAX_IMAGES_NAMED = 3  # images that an error message names
# The largest file has so many bytes for each image, and the base in addition.
MAX_BYTES_PER_IMAGE = 500
BASE_BYTES = 1 << 20
MAX_BYTES_OF_FIELDS = 1 << 16  # bytes of a request in addition to its file


def max_submission_bytes(image_count: int) -> int:
    """Return the number of bytes of the largest file that a challenge with ``image_count`` images accepts."""
    return BASE_BYTES + MAX_BYTES_PER_IMAGE * image_count


def max_request_bytes(image_count: int) -> int:
    """Return the number of bytes of the largest request that submits a file to such a challenge."""
    return max_submission_bytes(image_count) + MAX_BYTES_OF_FIELDS


def states_more_bytes(request: HttpRequest, max_bytes: int) -> bool:
    """Return whether the header Content-Length exceeds ``max_bytes`` or is no number. The body is not read."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > max_bytes


def read_captions(chunks: Iterable[bytes], positions: Mapping[str, int]) -> list[str]:
    """Return the caption of each image. Raise SubmissionRefused if the file is invalid, or lacks an image.

    Args:
        chunks: the bytes of the file.
        positions: the index of each image's caption in the returned list, by the image's name.
    """
    captions: list[str | None] = [None] * len(positions)
    unknown_images: list[str] = []
    repeated_images: list[str] = []
    for entry_number, entry in enumerate(_read_entries(chunks), start=1):
        image, caption = _read_entry(entry_number, entry)
        position = positions.get(image)
        if position is None:
            unknown_images.append(image)
            if len(unknown_images) > MAX_IMAGES_NAMED:
                break
        elif captions[position] is not None:
            repeated_images.append(image)
            if len(repeated_images) > MAX_IMAGES_NAMED:
                break
        else:
            captions[position] = caption
    if unknown_images:
        raise SubmissionRefused(
            _("The file contains captions of images that are not in the challenge: %(images)s.")
            % {"images": _join_image_names(unknown_images)}
        )
    if repeated_images:
        raise SubmissionRefused(
            _(
                "The file has more than one caption for each of these images: %(images)s; expected "
                "one caption for each image."
            )
            % {"images": _join_image_names(repeated_images)}
        )
    missing_images = [image for image, position in positions.items() if captions[position] is None]
    if missing_images:
        raise SubmissionRefused(
            _(
                "Captions in the file: %(found)s of %(wanted)s. The first images without a caption: %(images)s."
            )
            % {
                "found": len(positions) - len(missing_images),
                "wanted": len(positions),
                "images": _join_image_names(missing_images[: MAX_IMAGES_NAMED + 1]),
            }
        )
    return [caption for caption in captions if caption is not None]


def _join_image_names(names: list[str]) -> str:
    """Return the first names for a message, followed by an ellipsis if there are more."""
    name_list = ", ".join(repr(name[:60]) for name in names[:MAX_IMAGES_NAMED])
    return f"{name_list}, …" if len(names) > MAX_IMAGES_NAMED else name_list


def _read_entry(number: int, entry: Any) -> tuple[str, str]:
    """Return the image and the caption of an entry. Raise SubmissionRefused if it is invalid."""
    if not isinstance(entry, dict):
        raise SubmissionRefused(
            _("Entry %(number)s is not an object; expected an object with “image_id” and “caption”.")
            % {"number": number}
        )
    image, caption = entry.get("image_id"), entry.get("caption")
    # In Python, True is also an int, but it cannot be an image's name.
    if isinstance(image, bool) or not isinstance(image, str | int):
        raise SubmissionRefused(
            _("Entry %(number)s needs an “image_id” that is a name or a whole number.") % {"number": number}
        )
    if not isinstance(caption, str):
        raise SubmissionRefused(
            _("Entry %(number)s has no caption; expected a text, which may be empty.") % {"number": number}
        )
    if len(caption) > MAX_CAPTION_LENGTH:
        raise SubmissionRefused(
            _("Entry %(number)s has a caption of %(length)s characters; expected at most %(most)s.")
            % {"number": number, "length": len(caption), "most": MAX_CAPTION_LENGTH}
        )
    if not can_be_stored([str(image), caption]):
        raise SubmissionRefused(
            _("Entry %(number)s contains an invalid character (U+0000 or an unpaired surrogate).")
            % {"number": number}
        )
    return str(image), caption


def _read_entries(chunks: Iterable[bytes]) -> Iterator[Any]:
    """Yield the entries of the JSON array. Only one of them is in memory at a time."""
    is_array = False
    try:
        for key, number, value in JSONStream(_decode_chunks(chunks), max_length=MAX_ENTRY_LENGTH).members():
            # members of an array have a number and no key; an empty array is the only other value
            if key or (number is None and value != []):
                raise _array_error()
            is_array = True
            if number is not None:
                yield value
    except TooDeep:
        raise SubmissionRefused(_("The file is nested too deeply; expected an array of objects.")) from None
    except (ValueError, LimitExceeded) as error:
        if str(error).startswith("Extra data"):
            raise SubmissionRefused(
                _("The file has content after the end of its array; expected nothing there.")
            ) from None
        raise _array_error() from None
    if not is_array:
        raise _array_error()


def _decode_chunks(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the text of a file in UTF-8. Raise SubmissionRefused for other encodings."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    try:
        for chunk in chunks:
            if text := decode(chunk):
                yield text
        yield decode(b"", final=True)
    except UnicodeDecodeError:
        raise SubmissionRefused(_("The file is not UTF-8; expected JSON in UTF-8.")) from None


def _array_error() -> SubmissionRefused:
    return SubmissionRefused(
        _('The file is not COCO results JSON: expected [{"image_id": …, "caption": "…"}, …].')
    )

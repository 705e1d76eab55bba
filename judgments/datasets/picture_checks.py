"""Check pictures of unknown origin before they are decoded: their format, their size, and the memory they need."""

from __future__ import annotations

from pathlib import Path

from django.utils.translation import gettext
from PIL import Image as PillowImage
from PIL import UnidentifiedImageError

from common.amounts import thousands
from common.errors import QuorumError
from common.incoming import limits

# the formats that browsers show, with the suffixes of their files
FORMATS = {"JPEG": ".jpg", "PNG": ".png", "GIF": ".gif", "WEBP": ".webp"}
# MPO is two pictures, as some phones write it. Pillow opens it as a JPEG, and browsers show the first picture.
SUFFIXES = FORMATS | {"MPO": ".jpg"}
# Bytes that decoding needs for each pixel, as measured.
BYTES_PER_PIXEL = 10  # two and a half copies in four bands
WEBP_BYTES_PER_PIXEL = BYTES_PER_PIXEL + 2 * 4  # libwebp makes two more copies in four bands
JPEG_BYTES_PER_BAND = 2  # libjpeg may keep the coefficients of each pixel's bands


class PictureProblem(QuorumError):
    title = "A picture cannot be used"


def picture_format(path: Path) -> str:
    """Return the format of a picture.

    Raises:
        PictureProblem: the format is not in ``SUFFIXES``, or the picture has too many bytes or pixels.
    """
    max_sizes = limits()
    if path.stat().st_size > max_sizes.picture_bytes:
        raise PictureProblem(
            gettext("%(path)s is too large; expected at most %(most_picture_bytes)s bytes.")
            % {"path": path, "most_picture_bytes": thousands(max_sizes.picture_bytes)}
        )
    try:
        with PillowImage.open(path, formats=list(FORMATS)) as picture:
            format_name, pixel_count = picture.format or "", picture.width * picture.height
    except PillowImage.DecompressionBombError:
        format_name, pixel_count = "", max_sizes.pixels + 1
    except (UnidentifiedImageError, OSError, ValueError):
        format_name, pixel_count = "", 0
    if pixel_count > max_sizes.pixels:
        raise PictureProblem(
            gettext("%(path)s has too many pixels; expected at most %(most_pixels)s.")
            % {"path": path, "most_pixels": thousands(max_sizes.pixels)}
        )
    if format_name not in SUFFIXES:
        raise PictureProblem(
            gettext("%(path)s is not a picture; expected %(listed)s.")
            % {"path": path, "listed": ", ".join(FORMATS)}
        )
    return format_name


def open_picture(path: Path) -> PillowImage.Image:
    """Open a picture; call `prepare_decoding` before decoding it. Raise the errors of `picture_format`."""
    picture_format(path)
    return PillowImage.open(path, formats=list(FORMATS))


def prepare_decoding(picture: PillowImage.Image, box: tuple[int, int] | None = None) -> None:
    """Check that decoding a picture takes no more memory than is allowed. Before, reduce the size of a JPEG.

    Args:
        box: the width and height that are needed of a JPEG, which is then decoded in a smaller size if possible. None
            if the caller uses Pillow's `thumbnail`, which reduces the size itself, to a small picture.

    Raises:
        PictureProblem: decoding the picture takes more memory than is allowed.
    """
    full_pixels = picture.width * picture.height
    if box:
        picture.draft(None, box)  # reduces the width and height of a JPEG
    if picture.format in ("JPEG", "MPO"):
        memory = JPEG_BYTES_PER_BAND * len(picture.getbands()) * full_pixels
        memory += 4 * picture.width * picture.height if box else 0  # the reduced picture in four bands
    else:
        memory = (WEBP_BYTES_PER_PIXEL if picture.format == "WEBP" else BYTES_PER_PIXEL) * full_pixels
    if memory > limits().memory:
        raise PictureProblem(
            gettext(
                "A picture of %(width)s x %(height)s pixels needs too much memory; expected a smaller "
                "picture."
            )
            % {"width": picture.width, "height": picture.height}
        )

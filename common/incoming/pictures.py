"""Look at pictures from outside before they are decoded."""

from __future__ import annotations

from pathlib import Path

from django.utils.translation import gettext
from PIL import Image as PillowImage
from PIL import UnidentifiedImageError

from common.amounts import thousands
from common.errors import QuorumError
from common.incoming import limits

FORMATS = {"JPEG": ".jpg", "PNG": ".png", "GIF": ".gif", "WEBP": ".webp"}
# A JPEG followed by a second picture, as some phones write: browsers show the first.
SUFFIXES = FORMATS | {"MPO": ".jpg"}


class PictureProblem(QuorumError):
    title = "A picture cannot be used"


def picture_format(path: Path) -> str:
    """Return a picture's format. Raise PictureProblem if it is none of ``SUFFIXES``, or too large for a browser's
    memory.
    """
    most = limits()
    if path.stat().st_size > most.picture_bytes:
        raise PictureProblem(
            gettext("%(path)s is too large; expected at most %(most_picture_bytes)s bytes.")
            % {"path": path, "most_picture_bytes": thousands(most.picture_bytes)}
        )
    try:
        with PillowImage.open(path, formats=list(FORMATS)) as picture:
            name, pixels = picture.format or "", picture.width * picture.height
    except PillowImage.DecompressionBombError:
        name, pixels = "", most.pixels + 1
    except (UnidentifiedImageError, OSError, ValueError):
        name, pixels = "", 0
    if pixels > most.pixels:
        raise PictureProblem(
            gettext("%(path)s has too many pixels; expected at most %(most_pixels)s.")
            % {"path": path, "most_pixels": thousands(most.pixels)}
        )
    if name not in SUFFIXES:
        raise PictureProblem(
            gettext("%(path)s is not a picture; expected %(listed)s.")
            % {"path": path, "listed": ", ".join(FORMATS)}
        )
    return name

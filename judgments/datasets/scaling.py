"""Scale pictures for the page of work: WebP in two sizes, stored next to the unchanged imported file.

The scaled pictures are a cache. ``Item.scaled`` names the file that they were made from. The original is shown
until they exist.
"""

from __future__ import annotations

import io
import secrets
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from PIL import ExifTags, ImageCms, ImageOps
from PIL import Image as PillowImage

from judgments.datasets.picture_checks import PictureProblem, open_picture, prepare_decoding
from judgments.models import Item


class ScaledSize(NamedTuple):
    """A size to which pictures are scaled: the width and height in pixels into which they must fit."""

    box: tuple[int, int]
    max_bytes: int  # desired size of the file; no quality may reach it


# The boxes are the column of a phone and that of a desktop, at two pixels per point.
SIZES = (ScaledSize((720, 576), 60_000), ScaledSize((1280, 1280), 180_000))
LARGEST_BOX = SIZES[-1].box
QUALITIES = (80, 70, 55, 40)  # the first quality whose file is small enough is used
WEBP_METHOD = 4  # from 0 (fast) to 6 (small)
MAX_PROFILE_BYTES = 4_096  # bytes of a colour profile that is sent with the picture
COLOUR_MODES = {"RGB", "RGBA", "P"}  # modes whose profile still describes the colours after conversion to RGB
SCALED_MODES = {*COLOUR_MODES, "1", "L", "LA", "PA", "CMYK"}  # modes with more bits lose too much
TURNED_ORIENTATIONS = range(5, 9)  # orientations of EXIF with the sides exchanged
# The largest width of a picture by the style sheet (static/css/app.css): the width of its column, or the largest height
# times the ratio of width and height.
PHONE_WIDTH = "(max-width: 760px) min(100vw - 32px, {ratio} * max(200px, 34vh))"
DESKTOP_WIDTH = "min(640px, {ratio} * min(480px, max(200px, 66vh)))"


def scaled_path(picture: str, width: int) -> Path:
    return Path(settings.MEDIA_ROOT) / "scaled" / f"{picture.removeprefix('pictures/')}.{width}.webp"


def small_address(item: Item, address: str) -> str:
    """Return the address of the smallest scaled picture, or the original's ``address`` if there is none."""
    widths = _current_scaling(item).get("widths")
    return f"{address}?width={widths[0]}" if widths else address


def img_attributes(item: Item, address: str) -> dict[str, str]:
    """Return width, height, srcset and sizes for an ``img``; {} before the picture is scaled, or without its size.

    Args:
        address: the address of the view that serves the item's picture.
    """
    scaling = _current_scaling(item)
    if "width" not in scaling:
        return {}
    width, height, widths = scaling["width"], scaling["height"], scaling["widths"]
    attributes = {"width": str(width), "height": str(height)}
    if widths:
        sources = [f"{address}?width={scaled_width} {scaled_width}w" for scaled_width in widths]
        largest_width, _ = _fit_size((width, height), LARGEST_BOX)
        if widths[-1] < largest_width:  # the original serves as the largest size
            sources.append(f"{address} {width}w")
        attributes |= {
            "srcset": ", ".join(sources),
            "sizes": f"{PHONE_WIDTH}, {DESKTOP_WIDTH}".format(ratio=round(width / height, 3)),
        }
    return attributes


def served_path(item: Item, width: str) -> Path | None:
    """Return the file of the scaled picture with this width; None if the original is to be served."""
    width_by_text = {str(pixels): pixels for pixels in _current_scaling(item).get("widths", ())}
    if width not in width_by_text or item.scaled["bytes"] != item.picture.size:
        return None
    path = scaled_path(str(item.picture), width_by_text[width])
    return path if path.is_file() else None


def is_scaled(item: Item) -> bool:
    """Return whether the picture has not changed since it was scaled, and its scaled files exist."""
    scaling = _current_scaling(item)
    try:
        if not scaling or scaling["bytes"] != item.picture.size:
            return False
        return all(scaled_path(str(item.picture), width).is_file() for width in scaling["widths"])
    except FileNotFoundError:
        return False


def _current_scaling(item: Item) -> dict[str, Any]:
    """Return ``item.scaled`` if it describes the item's present picture, else {}."""
    return item.scaled if item.picture and item.scaled.get("picture") == str(item.picture) else {}


def scale_picture(picture: str) -> dict[str, Any]:
    """Write the scaled versions of a picture in the media folder, and return the value for ``Item.scaled``.

    Do not scale animations, corrupt pictures, pictures with more than 8 bits per channel, and pictures that take too
    much memory. A size is left out if the original is within its box and bytes, or if its file would not be smaller.

    Returns:
        ``picture``, its ``bytes``, ``width`` and ``height`` in pixels after rotation, and the ``widths`` of the
        scaled files.
    """
    original_path = Path(settings.MEDIA_ROOT) / picture
    attributes: dict[str, Any] = {"picture": picture, "bytes": 0, "widths": []}
    try:
        attributes["bytes"] = original_path.stat().st_size
        with open_picture(original_path) as opened_picture:
            is_photograph = opened_picture.format in ("JPEG", "MPO")
            orientation = opened_picture.getexif().get(ExifTags.Base.Orientation) if is_photograph else None
            is_turned = orientation in TURNED_ORIENTATIONS
            size = opened_picture.size[::-1] if is_turned else opened_picture.size
            attributes |= {"width": size[0], "height": size[1]}
            is_animated = not is_photograph and getattr(opened_picture, "is_animated", False)
            if is_animated or opened_picture.mode not in SCALED_MODES:
                return attributes
            largest_size = _fit_size(size, LARGEST_BOX)
            prepare_decoding(opened_picture, largest_size[::-1] if is_turned else largest_size)
            profile = opened_picture.info.get("icc_profile", b"")
            # other formats are served without EXIF
            upright_picture = ImageOps.exif_transpose(opened_picture) if is_photograph else opened_picture
            keeps_profile = opened_picture.mode in COLOUR_MODES and len(profile) <= MAX_PROFILE_BYTES
            options = {"icc_profile": profile} if keeps_profile else {}
            rgb_picture = _convert_to_rgb(upright_picture, b"" if keeps_profile else profile)
            _write_sizes(rgb_picture, size, attributes, is_drawing=not is_photograph, **options)
    except (PictureProblem, PillowImage.DecompressionBombError, OSError, ValueError, SyntaxError, EOFError):
        attributes["widths"] = []  # a corrupt picture; the browser shows what it can
    return attributes


def _write_sizes(
    rgb_picture: PillowImage.Image,
    size: tuple[int, int],
    attributes: dict[str, Any],
    *,
    is_drawing: bool,
    **options: Any,
) -> None:
    """Write the picture in each of ``SIZES``, and add the widths of the files to ``attributes["widths"]``.

    Args:
        size: the width and height of the original; ``rgb_picture`` may be decoded in a smaller size.
        attributes: the value of ``Item.scaled``.
    """
    for box, max_bytes in SIZES:
        width, height = _fit_size(size, box)
        if (width, height) == size and attributes["bytes"] <= max_bytes:  # small enough as it is
            break
        # by Pillow's documentation, a gap of 3 or more looks the same as full resampling, but is faster
        resized_picture = rgb_picture.resize(
            (width, height), PillowImage.Resampling.LANCZOS, reducing_gap=3.0
        )
        data = _encode_picture(resized_picture, max_bytes, is_drawing=is_drawing, **options)
        if width not in attributes["widths"] and len(data) < attributes["bytes"]:
            _write_file(scaled_path(attributes["picture"], width), data)
            attributes["widths"].append(width)


def _fit_size(size: tuple[int, int], box: tuple[int, int]) -> tuple[int, int]:
    """Return the size (width, height) of a picture after it is reduced to fit into the box. Never enlarge it."""
    factor = min(1.0, box[0] / size[0], box[1] / size[1])
    return max(1, round(size[0] * factor)), max(1, round(size[1] * factor))


def _convert_to_rgb(picture: PillowImage.Image, profile: bytes) -> PillowImage.Image:
    """Convert a picture to RGB, or to RGBA if it is transparent. Convert colours with a profile to sRGB."""
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            rgb = ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
            picture = rgb or picture
        except (ImageCms.PyCMSError, OSError, ValueError):  # the profile is unusable
            pass
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    return picture if picture.mode == mode else picture.convert(mode)


def _encode_picture(picture: PillowImage.Image, max_bytes: int, *, is_drawing: bool, **options: Any) -> bytes:
    """Return the picture in the best quality whose file is small enough, or in the lowest quality.

    A drawing is encoded without loss, so that letters stay sharp, if this takes no more bytes than that file or half of
    the desired size.
    """
    data = b""
    for quality in QUALITIES:
        data = _encode_webp(picture, quality=quality, **options)
        if len(data) <= max_bytes:
            break
    if is_drawing:
        lossless_data = _encode_webp(picture, lossless=True, **options)
        data = lossless_data if len(lossless_data) <= max(len(data), max_bytes // 2) else data
    return data


def _encode_webp(picture: PillowImage.Image, **options: Any) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, "WEBP", method=WEBP_METHOD, **options)
    return stream.getvalue()


def _write_file(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary_path = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    temporary_path.touch(mode=0o600)
    temporary_path.write_bytes(data)
    temporary_path.replace(path)

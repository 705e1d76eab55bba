"""Check pictures of unknown origin before they are decoded, and copy the pictures of a dataset."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext
from PIL import Image as PillowImage
from PIL import UnidentifiedImageError

from common.amounts import thousands
from common.errors import QuorumError
from common.incoming import ADDRESS_LIMIT, compose_name, limits

MAX_SIMILAR_NAMES = 5  # similar names that a sentence lists
FORMATS = {"JPEG": ".jpg", "PNG": ".png", "GIF": ".gif", "WEBP": ".webp"}
# A JPEG followed by a second picture, as some phones write: browsers show the first.
SUFFIXES = FORMATS | {"MPO": ".jpg"}


class PictureProblem(QuorumError):
    title = "A picture cannot be used"


def picture_format(path: Path) -> str:
    """Return the format of a picture.

    Raises:
        PictureProblem: the format is not in ``SUFFIXES``, or the picture is too large for a browser's memory.
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


def open_picture(path: Path) -> PillowImage.Image:
    """Open a picture; call `prepare_decoding` before decoding it. Raise the errors of `picture_format`."""
    picture_format(path)
    return PillowImage.open(path, formats=list(FORMATS))


def prepare_decoding(picture: PillowImage.Image, box: tuple[int, int] | None = None) -> None:
    """Limit a JPEG's decoded size to what ``box`` needs. Without a box, Pillow's `thumbnail` does this.

    Raises:
        PictureProblem: decoding the picture takes more memory than is allowed.
    """
    pixels = picture.width * picture.height
    if box:
        picture.draft(None, box)
    if picture.format in ("JPEG", "MPO"):  # libjpeg may keep two bytes of each pixel's band
        size = 2 * len(picture.getbands()) * pixels + (4 * picture.width * picture.height if box else 0)
    else:  # copies in four bands; libwebp makes two more
        size = (18 if picture.format == "WEBP" else 10) * pixels
    if size > limits().memory:
        raise PictureProblem(
            gettext(
                "A picture of %(width)s x %(height)s pixels needs too much memory; expected a smaller "
                "picture."
            )
            % {"width": picture.width, "height": picture.height}
        )


def is_address(images: str) -> bool:
    return images.startswith(("http://", "https://"))


def picture_file_address(images: str, file: str) -> str:
    """Return the address of a picture's file below ``images``. Raise PictureProblem if it is too long to store."""
    address = f"{images.rstrip('/')}/{quote(file)}"
    if len(address) > ADDRESS_LIMIT:
        raise PictureProblem(
            gettext(
                "The address of picture %(file)r would be too long (characters: %(n)s); expected at most "
                "%(address_limit)s."
            )
            % {"file": file, "n": len(address), "address_limit": ADDRESS_LIMIT}
        )
    return address


def checked_pictures(folder: Path, names: Iterable[tuple[str, str]]) -> dict[str, Path]:
    """Return the path of each image's picture, by the image's name.

    ``names`` are pairs of image name and file name. `find_pictures` matches the file names with the files.

    Raises:
        PictureProblem: a file is missing, outside the folder, or not a picture that browsers show.
    """
    from judgments.importers.names import find_pictures  # lazily: pages of work start without the importers

    if not folder.is_dir():
        raise PictureProblem(
            gettext("%(folder)s is not a folder; expected the pictures of the dataset.") % {"folder": folder}
        )
    root = folder.resolve()
    paths: dict[str, Path] = {}
    missing: list[str] = []
    pairs = list(names)
    found = SimpleLazyObject(
        lambda: find_pictures([compose_name(file) for _, file in pairs], _files_in(root))
    )
    for image, file in pairs:
        path = (folder / file).resolve()
        if not path.is_file() and (alike := found.files.get(compose_name(file))):
            path = (folder / alike).resolve()
        if not path.is_relative_to(root):
            raise PictureProblem(
                gettext("%(file)r is outside the folder %(folder)s; expected a file in this folder.")
                % {"file": file, "folder": folder}
            )
        if path.is_file():
            paths[image] = path
        else:
            missing.append(file)
    if missing and (unclear := found.unclear.get(compose_name(missing[0]))):
        raise PictureProblem(describe_unclear(compose_name(missing[0]), unclear))
    if missing:
        raise PictureProblem(
            gettext(
                "Pictures that are missing from %(folder)s: %(n)s of %(what)s. The first missing picture is "
                "%(missing)r."
            )
            % {"folder": folder, "n": len(missing), "what": len(missing) + len(paths), "missing": missing[0]}
        )
    for path in paths.values():
        picture_format(path)
    return paths


def describe_unclear(name: str, alike: Sequence[str]) -> str:
    """Return a sentence that says which files or names ``alike`` cannot be distinguished from ``name``."""
    sentence = gettext(
        "The names of the pictures %(name)r and %(alike)s are too similar. Names must differ in "
        "more than case, folder, blanks and file extension."
    )
    return sentence % {"name": name, "alike": ", ".join(alike[:MAX_SIMILAR_NAMES])}


def _files_in(root: Path) -> list[str]:
    return [str(entry.relative_to(root)) for entry in root.rglob("*") if entry.is_file()]


class PictureCopy:
    """Copy pictures into the folder of a dataset without pictures; remove the folder if the ``with`` block fails.

    The first copy removes files that a killed process may have left in the folder.
    """

    def __init__(self, dataset_name: str) -> None:
        self.folder = Path(settings.MEDIA_ROOT) / "pictures" / dataset_name
        self._begun = False

    def __enter__(self) -> PictureCopy:
        return self

    def __exit__(self, error: type[BaseException] | None, *rest: object) -> None:
        if error is not None and self._begun:
            shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, number: int, source: Path) -> str:
        """Copy a picture and return its name for ``Item.picture``.

        The original name is dropped, since it may reveal the right answer.
        """
        if not self._begun:
            self._begun = True
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        target = self.folder / f"{number:06d}{SUFFIXES[picture_format(source)]}"
        shutil.copyfile(source, target)
        target.chmod(0o600)
        return str(target.relative_to(settings.MEDIA_ROOT))

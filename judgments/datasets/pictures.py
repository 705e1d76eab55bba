"""Pictures of a dataset: copied from a folder atomically, or linked by address."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from PIL import Image as PillowImage
from PIL import UnidentifiedImageError

from common.errors import QuorumError
from judgments.importers.fields import ADDRESS_LIMIT

FORMATS = {"JPEG": ".jpg", "PNG": ".png", "GIF": ".gif", "WEBP": ".webp"}
# A JPEG followed by a second picture, as some phones write: browsers show the first.
SUFFIXES = FORMATS | {"MPO": ".jpg"}


class PictureProblem(QuorumError):
    """A picture is missing or invalid."""

    title = "A picture cannot be used"


def is_address(images: str) -> bool:
    return images.startswith(("http://", "https://"))


def picture_address(images: str, file: str) -> str:
    """Return the address of the picture ``file``, quoting ``#`` and ``?``.

    Raises:
        PictureProblem: the address is too long to store.
    """
    address = f"{images.rstrip('/')}/{quote(file)}"
    if len(address) > ADDRESS_LIMIT:
        raise PictureProblem(
            f"The address of picture {file!r} would have {len(address)} characters; expected at most {ADDRESS_LIMIT}."
        )
    return address


def checked_pictures(folder: Path, names: Iterable[tuple[str, str]]) -> dict[str, Path]:
    """Return the file of each image.

    Args:
        folder: the pictures' folder.
        names: (image name, file name) pairs.

    Raises:
        PictureProblem: the folder or a file is missing, lies outside of the folder, or is no picture that
            browsers show; other files are never served.
    """
    if not folder.is_dir():
        raise PictureProblem(f"{folder} is not a folder; expected the pictures of the dataset.")
    root = folder.resolve()
    found: dict[str, Path] = {}
    missing: list[str] = []
    for image, file in names:
        path = (folder / file).resolve()
        if not path.is_relative_to(root):
            raise PictureProblem(f"{file!r} leads out of {folder}; expected a file in it.")
        if path.is_file():
            found[image] = path
        else:
            missing.append(file)
    if missing:
        raise PictureProblem(
            f"{folder} lacks {len(missing)} of {len(missing) + len(found)} pictures, the first is {missing[0]!r}."
        )
    for path in found.values():
        picture_format(path)
    return found


def picture_format(path: Path) -> str:
    """Return the picture's format.

    Raises:
        PictureProblem: it is none of ``SUFFIXES``.
    """
    try:
        with PillowImage.open(path, formats=list(FORMATS)) as picture:
            name = picture.format or ""
    except (UnidentifiedImageError, OSError, ValueError, PillowImage.DecompressionBombError):
        name = ""
    if name not in SUFFIXES:
        raise PictureProblem(f"{path} is not a picture; expected {', '.join(FORMATS)}.")
    return name


class PictureCopy:
    """Copy pictures below the media folder and remove them when the import fails.

    Use as a context manager around the transaction.
    """

    def __init__(self, dataset_name: str) -> None:
        self.folder = Path(settings.MEDIA_ROOT) / "pictures" / dataset_name
        self._copied: list[Path] = []

    def __enter__(self) -> PictureCopy:
        return self

    def __exit__(self, error: type[BaseException] | None, *rest: object) -> None:
        if error is not None:
            for path in self._copied:
                path.unlink(missing_ok=True)

    def add(self, number: int, source: Path) -> str:
        """Copy a picture and return its name for ``Item.picture``.

        The original name is dropped: it may give away the answer.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        target = self.folder / f"{number:06d}{SUFFIXES[picture_format(source)]}"
        shutil.copyfile(source, target)
        target.chmod(0o640)
        self._copied.append(target)
        return str(target.relative_to(settings.MEDIA_ROOT))

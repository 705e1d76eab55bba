"""Find the pictures of a dataset in a folder, and copy them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext

from common.incoming import ADDRESS_LIMIT, compose_name
from judgments.datasets.picture_checks import SUFFIXES, PictureProblem, picture_format

MAX_SIMILAR_NAMES = 5  # similar names that a sentence lists


def is_address(folder_or_address: str) -> bool:
    return folder_or_address.startswith(("http://", "https://"))


def picture_file_address(base_address: str, file: str) -> str:
    """Return the address of a picture's file. Raise PictureProblem if it is too long to store."""
    address = f"{base_address.rstrip('/')}/{quote(file)}"
    if len(address) > ADDRESS_LIMIT:
        raise PictureProblem(
            gettext(
                "The address of picture %(file)r would be too long (characters: %(n)s); expected at most "
                "%(address_limit)s."
            )
            % {"file": file, "n": len(address), "address_limit": ADDRESS_LIMIT}
        )
    return address


def checked_pictures(folder: Path, file_names: Iterable[tuple[str, str]]) -> dict[str, Path]:
    """Find the pictures of images in a folder, and check them. Return the path of each picture, by the image's name.

    ``file_names`` are pairs of an image's name and the name of its file. The file in the folder may be spelled
    differently (`find_pictures`).

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
    missing_names: list[str] = []
    pairs = list(file_names)
    # lazily: the folder is only searched if a file is not found under its name
    picture_files = SimpleLazyObject(
        lambda: find_pictures([compose_name(file) for _, file in pairs], _files_in(root))
    )
    for image, file in pairs:
        path = _find_file(root, file, picture_files)
        if not path.is_relative_to(root):
            raise PictureProblem(
                gettext("%(file)r is outside the folder %(folder)s; expected a file in this folder.")
                % {"file": file, "folder": folder}
            )
        if path.is_file():
            paths[image] = path
        else:
            missing_names.append(file)
    if missing_names:
        name = compose_name(missing_names[0])
        if similar_names := picture_files.unclear_names.get(name):
            raise PictureProblem(describe_unclear_name(name, similar_names))
        raise PictureProblem(
            gettext(
                "Pictures missing from %(folder)s: %(n)s of %(what)s. The first missing picture is %(missing)r."
            )
            % {
                "folder": folder,
                "n": len(missing_names),
                "what": len(missing_names) + len(paths),
                "missing": missing_names[0],
            }
        )
    for path in paths.values():
        picture_format(path)  # raises PictureProblem if the file is not a suitable picture
    return paths


def _find_file(folder: Path, file: str, picture_files: Any) -> Path:
    """Return the path of a file in its spelling in the folder. It may not exist, or be outside the folder.

    Args:
        picture_files: the result of `find_pictures`, with the spelling in the folder by composed name (Unicode NFC).
    """
    path = (folder / file).resolve()
    if not path.is_file() and (respelled_file := picture_files.files.get(compose_name(file))):
        return (folder / respelled_file).resolve()
    return path


def describe_unclear_name(name: str, similar_names: Sequence[str]) -> str:
    """Return the message that the names of a picture and of other pictures or files are too similar."""
    sentence = gettext(
        "The names of the pictures %(name)r and %(alike)s are too similar. Names must differ in "
        "more than case, folder, blanks and file extension."
    )
    return sentence % {"name": name, "alike": ", ".join(similar_names[:MAX_SIMILAR_NAMES])}


def _files_in(root: Path) -> list[str]:
    return [str(entry.relative_to(root)) for entry in root.rglob("*") if entry.is_file()]


class PictureCopy:
    """Copies pictures into the folder of a dataset that has no pictures yet, within a ``with`` block.

    If the block fails, the folder is removed. The first copy empties the folder, since a killed process may have left
    files there.
    """

    def __init__(self, dataset_name: str) -> None:
        self.folder = Path(settings.MEDIA_ROOT) / "pictures" / dataset_name
        self._has_folder = False

    def __enter__(self) -> PictureCopy:
        return self

    def __exit__(self, error: type[BaseException] | None, *details: object) -> None:
        if error is not None and self._has_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, position: int, source: Path) -> str:
        """Copy a picture and return its name for ``Item.picture``.

        The original name is dropped, since it may reveal the right answer.
        """
        if not self._has_folder:
            self._has_folder = True
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        target = self.folder / f"{position:06d}{SUFFIXES[picture_format(source)]}"
        shutil.copyfile(source, target)
        target.chmod(0o600)
        return str(target.relative_to(settings.MEDIA_ROOT))

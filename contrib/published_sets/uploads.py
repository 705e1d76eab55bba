"""Recognise the files of published sets in an upload, so that the set is imported as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from common.incoming import unpacked_name
from contrib.published_sets.fifty import PAIRS_FILE, REFERENCES_FILE
from contrib.published_sets.flickr8k import TOKEN_FILE
from judgments.datasets.upload_parts import SYSTEM, UploadPart


def recognise_set(part: UploadPart, file: Path, head: Callable[[], str]) -> UploadPart | None:
    """Return the part of an upload to which a file of a published set belongs; None if the file is of no such set.

    A set has several files, but must become one part. So the part for the whole set is returned for one of its files.
    For its other files, ``part`` is returned unchanged. It has no format, so that it is not imported.

    Args:
        part: the part for this file alone. Its path is relative to the root of the upload.
        file: the file on this server.
        head: a function that returns the beginning of the file's text.
    """
    folder, name = str(PurePosixPath(part.file).parent), unpacked_name(file.name)
    fifty_files = (REFERENCES_FILE, PAIRS_FILE)
    if file.name in fifty_files and all((file.parent / set_file).exists() for set_file in fifty_files):
        if file.name == PAIRS_FILE:
            return part
        # Both sets have the same two files, so only a folder's name tells them apart.
        return replace(
            part, file=folder, format="abstract-50s" if "abstract" in folder.lower() else "pascal-50s"
        )
    if name.endswith(".txt") and (file.parent / TOKEN_FILE).exists():
        return replace(part, file=folder, format="flickr8k") if file.name == TOKEN_FILE else part
    start = head()
    # MS COCO: results of a system are a list, such as [{"image_id": 1, "caption": "A dog"}]; a dataset is one object.
    if start.startswith("[") and '"image_id"' in start:
        return replace(part, format="coco", role=SYSTEM, system=Path(name).stem)
    is_document = start.startswith("{") and Path(name).suffix.lower() == ".json"
    if is_document and re.search(r'"(images|annotations)"\s*:', start):
        return replace(part, format="coco")
    return None

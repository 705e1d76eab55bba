"""References of images, for packs on any data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from judgments.importers.records.rows import ReferenceRow


def references_by_image(
    rows: Iterable[object], is_kept: Callable[[ReferenceRow], bool] = lambda row: True
) -> dict[str, list[str]]:
    """Return the texts of the references of each image, in the order of a data set's rows.

    ``is_kept`` says of a reference whether to keep it; by default, all are kept.
    """
    texts: dict[str, list[str]] = {}
    for row in rows:
        if isinstance(row, ReferenceRow) and is_kept(row):
            texts.setdefault(row.image, []).append(row.text)
    return texts

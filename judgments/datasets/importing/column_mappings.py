"""The column mappings that earlier imports used. A dataset stores them in its notes, to offer them again."""

from __future__ import annotations

from django.contrib.auth.models import User

from judgments.importers import ColumnMapping
from judgments.models import Dataset, DatasetRole


def remember_mapping(dataset: Dataset, use: str, mapping: ColumnMapping | None) -> None:
    """Store the column mapping of an import, to offer it for the next import of the same ``use``.

    In the dataset's notes, the sources of columns are stored as
    ``{"mapping": {use: {column of Quorum: [columns of the file, the first that has a value counts]}}}``.
    """
    if mapping is not None and mapping.columns:
        dataset.refresh_from_db(fields=["notes"])
        columns = {name: list(sources) for name, sources in mapping.columns.items()}
        dataset.notes = {**dataset.notes, "mapping": {**dataset.notes.get("mapping", {}), use: columns}}
        dataset.save(update_fields=["notes"])


def last_mapping(use: str, *, dataset: Dataset | None = None, user: User | None = None) -> dict[str, str]:
    """Return the file's column for each of Quorum's columns, as in the last import into a dataset.

    Of several columns, return the first, since the form offers one. If no mapping is stored, return {}.

    Args:
        use: the kind of import, such as "dataset" or "import_candidates".
        dataset: the dataset; None for the newest dataset of ``user`` that has a mapping.
    """
    if dataset is None and user is not None:
        datasets = Dataset.objects.filter(roles__user=user, roles__role=DatasetRole.Role.OWNER)
        dataset = datasets.filter(notes__mapping__has_key=use).order_by("-pk").first()
    mappings = dataset.notes.get("mapping", {}) if dataset is not None else {}
    return {name: sources[0] for name, sources in mappings.get(use, {}).items()}

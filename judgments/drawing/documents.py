"""Find the document to which an item of a dataset belongs as one of its segments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

# Fields of files that name the document to which an item belongs.
DOCUMENT_FIELDS = ("document", "doc", "talk")


def document_in(fields: Iterable[Sequence[str]]) -> str:
    """Return the name of the item's document or talk, from pairs of a field and its value; "" if they have none."""
    values = {name: value.strip() for name, value in fields}
    return next((values[name] for name in DOCUMENT_FIELDS if values.get(name)), "")


def first_of_documents(items: Iterable[tuple[Key, str]]) -> dict[Key, Key]:
    """Return the first item of each item's document, by item. Leave out items that belong to no document.

    Judgments of the segments of a document are correlated, so confidence intervals treat them as one cluster. With
    a single document, return {}: intervals are then over its segments, and do not generalise to other documents.
    """
    first_items: dict[str, Key] = {}
    clusters = {item: first_items.setdefault(document, item) for item, document in items if document}
    return clusters if len(first_items) > 1 else {}

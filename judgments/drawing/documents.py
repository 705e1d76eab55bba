"""The documents whose segments are the items of a dataset."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Named = TypeVar("Named", bound=Hashable)

# Fields by which files name what an item is a part of.
DOCUMENT_FIELDS = ("document", "doc", "talk")


def document_in(fields: Iterable[Sequence[str]]) -> str:
    """Return the document, or talk, that the fields of an item name; "" if they name none."""
    named = {name: value.strip() for name, value in fields}
    return next((named[name] for name in DOCUMENT_FIELDS if named.get(name)), "")


def first_of_documents(items: Iterable[tuple[Named, str]]) -> dict[Named, Named]:
    """Return item -> first item of its document, for the items that belong to a document.

    Judgments of the segments of a document are correlated, so confidence intervals treat them as one cluster. With
    a single document, return {}: intervals are then over its segments, and do not generalise to other documents.
    """
    first: dict[str, Named] = {}
    clusters = {item: first.setdefault(document, item) for item, document in items if document}
    return clusters if len(first) > 1 else {}

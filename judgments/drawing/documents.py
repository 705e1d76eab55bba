"""The documents that items are parts of; their segments are judged alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Named = TypeVar("Named", bound=Hashable)

# Fields by which files name what an item is a part of.
DOCUMENT_FIELDS = ("document", "doc", "talk")


def document_in(fields: Iterable[Sequence[str]]) -> str:
    """Return the document, or talk, that the item with these fields is a part of; "" if none is named."""
    named = {name: value.strip() for name, value in fields}
    return next((named[name] for name in DOCUMENT_FIELDS if named.get(name)), "")


def first_of_documents(items: Iterable[tuple[Named, str]]) -> dict[Named, Named]:
    """Return item -> the first item of its document, of the items that are part of one.

    Segments of a document are judged alike, so that intervals take them together. A single document says nothing of
    others; then intervals are for its segments, and this is {}.
    """
    first: dict[str, Named] = {}
    clusters = {item: first.setdefault(document, item) for item, document in items if document}
    return clusters if len(first) > 1 else {}

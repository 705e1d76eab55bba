"""Store the unsaved designs that a person edits in the session, so that other requests can show their previews."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from judgments.design.study_design import StudyDesign
from judgments.drawing.keys import content_key

PREVIEWS_KEY = "quorum-looks"  # the key in the session of a dict of designs, by the key of their preview

# The key in the session of a dict of rows of inputs of a HIT template, by the key of their preview. The preview of a
# design whose dataset does not exist yet shows such a row.
ROWS_KEY = "quorum-look-rows"

MAX_PREVIEWS = 4  # two open forms, with the previous preview of each


def store_preview(session: MutableMapping[str, Any], design: StudyDesign) -> str:
    """Store a design in the session as its newest preview, and return the preview's key."""
    values = design.model_dump(mode="json")
    key = content_key("look", design.model_dump_json())[:32]
    previews: dict[str, Any] = session.get(PREVIEWS_KEY, {})
    is_newest = bool(previews) and list(previews)[-1] == key
    if not is_newest:
        other_previews = [(name, stored_values) for name, stored_values in previews.items() if name != key]
        newest_others = other_previews[-(MAX_PREVIEWS - 1) :]
        session[PREVIEWS_KEY] = dict([*newest_others, (key, values)])
    return key


def store_preview_row(session: MutableMapping[str, Any], key: str, cells: Mapping[str, str]) -> None:
    """Store a row of inputs in place of any other; the preview of the design shows it instead of a dataset's item."""
    session[ROWS_KEY] = {key: dict(cells)}


def find_preview_row(session: MutableMapping[str, Any], key: str) -> dict[str, str] | None:
    """Return the stored row of a preview; None if the preview shows items of the dataset."""
    row: dict[str, str] | None = session.get(ROWS_KEY, {}).get(key)
    return row


def find_preview(session: MutableMapping[str, Any], key: str) -> StudyDesign | None:
    """Return the design of a preview; None if the session no longer has it."""
    values = session.get(PREVIEWS_KEY, {}).get(key)
    return StudyDesign.model_validate(values) if values is not None else None

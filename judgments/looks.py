"""Designs that a person is working on and has not saved, kept for the panes beside the form.

They lie in the person's own session under a key made of their content: nobody else can look at them, and the same
design has the same address.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from judgments.design import StudyDesign
from judgments.draws import content_key

SHELF = "quorum-looks"
ROWS = "quorum-look-rows"  # of designs whose dataset is not there yet: the row that is shown
KEPT = 4  # two open forms, and what each showed before


def keep_look(session: MutableMapping[str, Any], design: StudyDesign) -> str:
    """Keep a design; the key to find it by."""
    values = design.model_dump(mode="json")
    key = content_key("look", design.model_dump_json())[:32]
    shelf: dict[str, Any] = session.get(SHELF, {})
    if list(shelf)[-1:] != [key]:
        kept = [(name, one) for name, one in shelf.items() if name != key][-KEPT + 1 :]
        session[SHELF] = dict([*kept, (key, values)])
    return key


def keep_row(session: MutableMapping[str, Any], key: str, cells: Mapping[str, str]) -> None:
    """Let the look of that key show this row of inputs, in place of a dataset; the last one that is kept."""
    session[ROWS] = {key: dict(cells)}


def find_row(session: MutableMapping[str, Any], key: str) -> dict[str, str] | None:
    """The row that the look of that key shows; None where it shows its dataset."""
    row: dict[str, str] | None = session.get(ROWS, {}).get(key)
    return row


def find_look(session: MutableMapping[str, Any], key: str) -> StudyDesign | None:
    """The design of that key; None where this session keeps none."""
    values = session.get(SHELF, {}).get(key)
    return StudyDesign.model_validate(values) if values is not None else None

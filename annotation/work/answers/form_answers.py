"""Read the answers of a plain form, which browsers that run no scripts send.

With N the position of a unit, the form has these fields:

- ``uN``, or several fields whose names begin so: the answer; "1" for a ticked box of a group
- ``tN``: the seconds
- ``cN``: the comment
- ``noneN``: the person says that no box of the group that begins at N is to be ticked

A group is the boxes on one screen, such as those of all captions of an image.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.work.answers.checks import MAX_ANSWER_SECONDS, MAX_COMMENT_LENGTH, answer_key
from annotation.work.sheet.units import PageUnit, screens_of
from judgments.kinds import Kind


def answers_of_form(
    form: Mapping[str, Any],
    page_units: Sequence[PageUnit],
    *,
    kind: Kind,
    final: bool,
    saved: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the answers of a plain form in the form that ``submit_assignment`` takes and checks.

    Args:
        final: whether the form is submitted, not only saved as a draft. In a draft, an unticked box of a group is not
            an answer, unless it was saved as ticked.
        saved: the saved answers, by position.
    """
    # PostgreSQL cannot store U+0000; the rest of the text is kept
    form = {name: text.replace("\x00", "") for name, text in form.items() if isinstance(text, str)}
    if kind.grouped:
        values = _read_ticks(form, screens_of(page_units, kind), final=final, saved=saved)
    else:
        read_values = {
            page_unit.position: kind.read_form(form, page_unit.position, page_unit.unit)
            for page_unit in page_units
        }
        values = {position: value for position, value in read_values.items() if value is not None}
    return [
        {
            "position": position,
            answer_key(kind): value,
            **_read_seconds(form.get(f"t{position}")),
            **_read_comment(form.get(f"c{position}")),
        }
        for position, value in values.items()
    ]


def undecided_positions(form: Mapping[str, Any], page_units: Sequence[PageUnit], kind: Kind) -> list[int]:
    """Return the positions of the units in groups that have neither a tick nor "none", or have both."""
    positions: list[int] = []
    if kind.grouped:
        for group in screens_of(page_units, kind):
            if not _is_decided(_ticked_positions(form, group), _answers_none(form, group)):
                positions += [page_unit.position for page_unit in group]
    return positions


def _read_ticks(
    form: Mapping[str, Any],
    groups: Iterator[list[PageUnit]],
    *,
    final: bool,
    saved: Mapping[str, Mapping[str, Any]],
) -> dict[int, Any]:
    """Return 1 for a ticked box and 0 for an unticked one, by position.

    An unticked box is left out if its group is not complete, unless it was ticked before. The parameters are those of
    ``answers_of_form``.
    """
    values: dict[int, Any] = {}
    for group in groups:
        ticked_positions = _ticked_positions(form, group)
        says_none = _answers_none(form, group)
        # in a draft, a group with ticks may get more of them
        is_complete = _is_decided(ticked_positions, says_none) and (says_none or final)
        for page_unit in group:
            was_ticked = saved.get(str(page_unit.position), {}).get("value") == 1
            if page_unit.position in ticked_positions or is_complete or was_ticked:
                values[page_unit.position] = int(page_unit.position in ticked_positions)
    return values


def _is_decided(ticked_positions: set[int], says_none: bool) -> bool:
    """Return whether a group has either ticks or "none". With both, the ticks are kept, but it is not decided."""
    has_ticks = bool(ticked_positions)
    return has_ticks != says_none


def _ticked_positions(form: Mapping[str, Any], group: Sequence[PageUnit]) -> set[int]:
    return {page_unit.position for page_unit in group if form.get(f"u{page_unit.position}") == "1"}


def _answers_none(form: Mapping[str, Any], group: Sequence[PageUnit]) -> bool:
    return f"none{group[0].position}" in form


def _read_seconds(text: Any) -> dict[str, float]:
    """Return the field "seconds" of an answer; no field if the time is invalid, so that the answer is still stored."""
    try:
        seconds = float(text)
    except (TypeError, ValueError):
        return {}
    return {"seconds": round(seconds, 2)} if 0 <= seconds <= MAX_ANSWER_SECONDS else {}


def _read_comment(text: Any) -> dict[str, str]:
    """Return the field "comment" of an answer, even if it is empty, since an empty comment deletes the saved one."""
    return {"comment": text[:MAX_COMMENT_LENGTH]} if isinstance(text, str) else {}

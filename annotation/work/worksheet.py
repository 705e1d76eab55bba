"""Build the steps of a page of work from its units: what each screen shows, and the answers so far.

Templates draw the steps; the API has the same content of each unit (``shown_unit``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.work.answers.checks import answer_key, find_problem
from annotation.work.sheet.pictures import add_sizes
from annotation.work.sheet.texts import translated_text
from annotation.work.sheet.units import PageUnit, screens_of
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS, Kind
from judgments.models import Item

NUMBER_KEYS = "1234567890"  # keys of the keyboard, in order, that tick the units of a group


def shown_unit(
    page_unit: PageUnit, *, design: StudyDesign, picture_url: Callable[[PageUnit], str]
) -> dict[str, Any]:
    """Return a unit with its question as the worker sees it (docs/api.md)."""
    kind = KINDS[design.protocol].for_design(design)
    return {
        "position": page_unit.position,
        "protocol": kind.name,
        "question": translated_text(design.question),
        **texts_shown(page_unit, design=design, kind=kind, picture_url=picture_url(page_unit)),
    }


def texts_shown(page_unit: PageUnit, *, design: StudyDesign, kind: Kind, picture_url: str) -> dict[str, Any]:
    """Return the texts and the picture of a unit, and its source text if the design shows it."""
    content = kind.present_unit(page_unit.unit, side=page_unit.side, picture_url=picture_url)
    if not picture_url and "image" in content:  # without a picture, drop its alternative text, too
        content["image"] = {"url": "", "alt": ""}
    if not design.source.show:
        return content
    source = {"text": page_unit.unit.source_text, "language": design.source.language}
    return {"source": source, **content}


@dataclass(frozen=True, slots=True)
class StepRow:
    """A unit on the page, with the answer to it in the draft or the submission.

    Attributes:
        shown: the content of the unit as shown (docs/api.md).
        value: the answer; None before there is one.
        seconds, wall_seconds: the active and the whole time of the answer.
        key: the number key that ticks the unit, if it is in a group; "" from the eleventh unit on.
        unfinished: the invalid input of a form that was sent without scripts; None if there is none.
        problem: why this input is invalid.
    """

    position: int
    shown: dict[str, Any]
    value: Any
    seconds: float | None
    wall_seconds: float | None
    comment: str
    key: str
    unfinished: Any = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One screen: a unit, several units next to each other, or all units of one picture.

    Attributes:
        number: the number of the screen, from 1.
        is_missing: whether a submission left a unit of the screen unanswered.
    """

    number: int
    rows: tuple[StepRow, ...]
    is_missing: bool

    @property
    def first(self) -> StepRow:
        return self.rows[0]

    @property
    def is_answered(self) -> bool:
        return all(row.value is not None for row in self.rows)

    @property
    def seconds(self) -> float:
        return round(sum(row.seconds or 0.0 for row in self.rows), 2)

    @property
    def wall_seconds(self) -> float:
        return round(sum(row.wall_seconds or 0.0 for row in self.rows), 2)

    @property
    def none_fits(self) -> bool:
        """Whether the worker answered a group by ticking none of its units."""
        return self.is_answered and not self.is_missing and not any(row.value for row in self.rows)


def shows_pictures(design: StudyDesign, steps: Sequence[Step]) -> bool:
    """Return whether the page shows pictures, or lacks pictures that the study is about."""
    images = [step.first.shown["image"] for step in steps if step.first.shown.get("image")]
    return any(design.about_pictures or image["url"] for image in images)


def steps_of(
    page_units: Sequence[PageUnit],
    *,
    design: StudyDesign,
    picture_url: Callable[[PageUnit], str],
    answers: Mapping[str, Mapping[str, Any]],
    missing: Collection[int] = (),
    item_of: Callable[[PageUnit], Item | None] = lambda page_unit: page_unit.unit.item,
) -> list[Step]:
    """Return the screens of a page with the answers so far.

    Args:
        answers: the draft or the submitted answers, by position.
        missing: positions that a submission left unanswered.
        item_of: a function that returns a unit's item. Units that are not stored have none, so a preview reads
            their items itself.
    """
    steps = []
    kind = KINDS[design.protocol]
    for number, page_units_of_screen in enumerate(screens_of(page_units, kind), start=1):
        rows: list[StepRow] = []
        for index, page_unit in enumerate(page_units_of_screen):
            content = shown_unit(page_unit, design=design, picture_url=picture_url)
            answer = answers.get(str(page_unit.position), {})
            unfinished = answer.get("unfinished")
            problem = ""
            if "unfinished" in answer:
                problem = find_problem(unfinished, kind=kind, unit=page_unit.unit, design=design)
            rows.append(
                StepRow(
                    position=page_unit.position,
                    shown=add_sizes(content, item_of(page_unit)),
                    value=answer.get(answer_key(kind)),
                    seconds=answer.get("seconds"),
                    wall_seconds=answer.get("wall_seconds"),
                    comment=answer.get("comment", ""),
                    key=NUMBER_KEYS[index] if index < len(NUMBER_KEYS) else "",
                    unfinished=unfinished,
                    problem=problem,
                )
            )
        is_missing = any(row.position in missing for row in rows)
        steps.append(Step(number=number, rows=tuple(rows), is_missing=is_missing))
    return steps

"""The answers on a study's control items, each with what was expected of it: the one place where that is settled."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from annotation.models import Judgment, Worker
from judgments.models import Study

ROWS_AT_ONCE = 2_000


class ControlAnswer(NamedTuple):
    """A judgment on a control item.

    Attributes:
        worker, unit: row ids.
        given: the answer in the unit's order.
        expected: what ``Kind.is_right`` compares it with.
        control_kind: "degraded", "repeated", "known-good", "reference"; "" where an import does not say.
    """

    worker: int
    given: Any
    expected: Any
    control_kind: str
    unit: int
    assignment: UUID


def control_answers(study: Study, *, worker: Worker | None = None) -> list[ControlAnswer]:
    """The current answers on control items that are not struck, in their order; of ``worker``, or of all."""
    own: dict[str, Any] = {"assignment__study": study}
    if worker is not None:
        own["assignment__worker"] = worker
    rows = (
        Judgment.objects.current()
        .filter(**own, unit__control=True, unit__struck=False)
        .order_by("pk")
        .values_list(
            "assignment__worker_id", "value", "answer", "unit__expected", "unit__control_kind", "unit_id",
            "assignment_id",
        )
    )  # fmt: skip
    return [
        ControlAnswer(
            worker_id, value if answer is None else answer, expected, control_kind, unit, assignment
        )
        for worker_id, value, answer, expected, control_kind, unit, assignment in rows.iterator(ROWS_AT_ONCE)
        if expected is not None
    ]

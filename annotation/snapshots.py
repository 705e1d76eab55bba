"""A consistent snapshot of a study's judgments, and a fast estimate of how many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, Q

from annotation.models import Assignment, Judgment
from annotation.models.assignments import JudgmentQuerySet
from judgments.models import Study


@dataclass(frozen=True, slots=True)
class Moment:
    """What was there, and what counted.

    Attributes:
        at: when.
        last: row id of the last judgment.
        gone: finished work that did not count -> the rule that invalidated it, as files name it.
        unnamed: paid work that its crowd had not named (yet).
        unused: row ids of the workers whom the control rule set aside.
        struck: row ids of the control items that were struck.
        decisions: unit row id -> the value that an adjudicator decided.
        outputs: row id of the last output of a system, ``searched`` whether some of them are found images.
        in_part: task -> systems that were known from judgments alone (``Dataset.known_in_part``).
    """

    at: datetime
    last: int
    gone: Mapping[UUID, str]
    unnamed: frozenset[UUID]
    struck: frozenset[int]
    decisions: Mapping[int, int]
    unused: frozenset[int] = frozenset()
    outputs: int = 0
    searched: bool = False
    in_part: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def all_judgments(
        self, study: Study, *, units: Sequence[int] | None = None, work: Sequence[Assignment] | None = None
    ) -> JudgmentQuerySet:
        """Every judgment of the study that was there, those that were revised too.

        Args:
            units: row ids of units of the study, for those on them alone.
            work: assignments of the study, for theirs alone. The study itself is then not asked for: SQLite, which
                knows no sizes of tables, would walk through all of its work to find that of a few.
        """
        rows = Judgment.objects.filter(pk__lte=self.last)
        if units is None and work is None:
            return rows.filter(assignment__study=study)
        if units is not None:
            rows = rows.filter(unit__in=units)
        return rows if work is None else rows.filter(assignment__in=work)

    def judgments(
        self, study: Study, *, units: Sequence[int] | None = None, work: Sequence[Assignment] | None = None
    ) -> JudgmentQuerySet:
        """Those that no revision had replaced; work in ``gone`` is among them."""
        standing = Q(replaced_by=None) | Q(replaced_by__gt=self.last)
        return self.all_judgments(study, units=units, work=work).filter(standing)

    def counts(self, assignment: UUID, worker: int) -> bool:
        """Whether answers of this work count, where an import did not set them aside."""
        return assignment not in self.gone and assignment not in self.unnamed and worker not in self.unused

    def as_json(self) -> dict[str, Any]:
        """For a file, from which ``moment_from`` reads it."""
        return {
            "at": self.at.isoformat(),
            "last": self.last,
            "gone": {one.hex: rule for one, rule in self.gone.items()},
            "unnamed": sorted(one.hex for one in self.unnamed),
            "struck": sorted(self.struck),
            "decisions": list(self.decisions.items()),
            "unused": sorted(self.unused),
            "outputs": self.outputs,
            "searched": self.searched,
            "in_part": dict(self.in_part),
        }


def moment_from(kept: Mapping[str, Any]) -> Moment:
    """Undoes ``Moment.as_json``."""
    return Moment(
        at=datetime.fromisoformat(kept["at"]),
        last=kept["last"],
        gone={UUID(one): rule for one, rule in kept["gone"].items()},
        unnamed=frozenset(map(UUID, kept["unnamed"])),
        struck=frozenset(kept["struck"]),
        decisions=dict(kept["decisions"]),
        unused=frozenset(kept["unused"]),
        outputs=kept["outputs"],
        searched=kept["searched"],
        in_part=kept["in_part"],
    )


MUCH = 5_000  # pages of work


def much_work(study: Study) -> Exists:
    """Whether counting over its judgments is nothing for a page to wait for."""
    return Exists(Assignment.objects.filter(study=study).order_by()[MUCH - 1 : MUCH])

"""Export in the columns of MTurk's result files, one assignment per line (docs/crowds/batch-files.md).

``Approve`` and ``Reject`` are empty, for review in a spreadsheet program.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from django.db.models import Exists, Max, OuterRef, QuerySet

from annotation.models import Assignment, Judgment
from annotation.snapshots import Snapshot
from common.downloads import batched
from common.files import HashedFile
from evaluation.export.formats.judgments import UTF8Lines
from evaluation.export.parts import Encoding, ExportWork, Stage
from evaluation.export.rows import CAPTIONS
from judgments.design.study_design import StudyDesign
from judgments.importers.results.mturk_cells import (
    ANSWER,
    COLUMNS,
    INPUT,
    REVIEW_COLUMNS,
    format_cents,
    format_time,
)
from judgments.importers.textio import guard_formula
from judgments.kinds import KINDS, Kind
from judgments.models import HIT, HITUnit, Study, Unit
from judgments.studies.studies import design_of

ROWS_AT_ONCE = 500
HITS_AT_ONCE = 100
STATUS = {Assignment.State.APPROVED: "Approved", Assignment.State.REJECTED: "Rejected"}
# Content of a unit -> its path; columns empty in the whole study are omitted.
SHOWN = {**CAPTIONS, "pair": "pair__key", "kind": "kind"}


def why_unfit(study: Study) -> str:
    # Checked first: only imports have judgments without a HIT, and study pages ask this of every format.
    handed_in = Assignment.objects.filter(study=study, submitted_at__isnull=False)
    if study.source == Study.Source.IMPORTED and handed_in.filter(hit=None).exists():
        return "it holds pages of work (HITs), which these judgments do not belong to"
    return ""


class MTurkResults(Encoding):
    """Write one line per assignment, by HIT and worker. The pieces are HITs."""

    suffix = "results"
    progress_count = "judgments"
    counts = {"assignments": 0, "judgments": 0}

    def prepare(self, study: Study, moment: Snapshot) -> dict[str, Any]:
        kind = KINDS[study.protocol].for_design(design_of(study))
        most = HITUnit.objects.filter(hit__study=study).aggregate(most=Max("position"))["most"] or 0
        names = _input_names(study, kind)
        inputs = [f"u{number}_{name}" for number in range(1, most + 1) for name in names]
        answers = [f"{letter}{number}" for number in range(1, most + 1) for letter in "utc"]
        own_inputs, own_answers = _own_columns(study, kind, most)
        return {
            "most": most,
            "inputs": list(dict.fromkeys((*inputs, *own_inputs))),
            "answers": list(dict.fromkeys((*answers, *own_answers))),
        }

    def stages(self, work: ExportWork) -> Sequence[Stage]:
        return (
            Stage(
                self.suffix,
                lambda study: HIT.objects.filter(study=study),
                "HITs",
                max(1, work.prepared["most"]),
            ),
        )

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        study, moment = work.study, work.moment
        design = design_of(study)
        kind, single = KINDS[study.protocol].for_design(design), work.prepared["most"] <= 1
        header = _header(work.prepared["inputs"], work.prepared["answers"])
        writer = _writer(file)
        for hits in batched(work.pieces, HITS_AT_ONCE):
            places = _units_of_hits(hits)
            rows = (
                Assignment.objects.filter(hit__in=hits, submitted_at__isnull=False)
                .exclude(Exists(_answers_after(moment)))
                .select_related("hit", "worker", "session__publication")
                .order_by("hit__position", "hit_id")
            )
            for batch in batched(_sort_assignments(rows.iterator(ROWS_AT_ONCE)), ROWS_AT_ONCE):
                given = _answers_of(study, moment, batch)
                for assignment in batch:
                    units = places.get(assignment.hit_id or 0, [])
                    judged = given.get(str(assignment.pk), {})
                    cells = _assignment_cells(study, design, assignment)
                    for number, unit in enumerate(units, start=1):
                        cells |= _unit_cells(number, unit, judged.get(unit["pk"]), kind, single=single)
                    writer.writerow(guard_formula(cells.get(column, "")) for column in header)
                    work.counts["assignments"] += 1
                    work.counts["judgments"] += len(judged)

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        _writer(file).writerow(_header(work.prepared["inputs"], work.prepared["answers"]))
        super().join(work, file, parts)


def _writer(file: HashedFile) -> Any:
    return csv.writer(UTF8Lines(file), quoting=csv.QUOTE_ALL, lineterminator="\r\n")


def _answers_after(moment: Snapshot) -> QuerySet[Judgment]:
    """Return first answers after ``moment``, whose work had not been submitted then."""
    return Judgment.objects.filter(assignment=OuterRef("pk"), pk__gt=moment.last, replaces=None)


def _sort_assignments(rows: Iterable[Assignment]) -> Iterator[Assignment]:
    """Sort each HIT's assignments by worker name, independent of database collation."""
    for _, same in groupby(rows, key=lambda one: one.hit_id):
        yield from sorted(same, key=lambda one: (one.worker.name, one.accepted_at, str(one.pk)))


def _input_names(study: Study, kind: Kind) -> list[str]:
    units = Unit.objects.filter(study=study)
    used = [
        name
        for name, lookup in SHOWN.items()
        if units.exclude(**{lookup: ""} if name == "kind" else {lookup: None}).exists()
    ]
    return ["unit", "image", *used, "control", *(["content"] if kind.is_open else [])]


def _units_of_hits(hits: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    names = ("unit_id", "unit__key", "unit__item__name", "unit__control", "unit__content")
    lookups = (*names, *(f"unit__{lookup}" for lookup in SHOWN.values()))
    rows = HITUnit.objects.filter(hit__in=hits).order_by("hit_id", "position")
    for hit, *row in rows.values_list("hit_id", *lookups):
        unit, key, image, control, content, *shown = row
        found[hit].append(
            {"pk": unit, "unit": key, "image": image, "control": control, "content": content}
            | dict(zip(SHOWN, shown, strict=True))
        )
    return dict(found)


def _answers_of(
    study: Study, moment: Snapshot, batch: Sequence[Assignment]
) -> dict[str, dict[int, tuple[Any, ...]]]:
    """Return assignment -> unit -> its latest (value, answer, seconds, comment)."""
    found: defaultdict[str, dict[int, tuple[Any, ...]]] = defaultdict(dict)
    rows = moment.judgments(study, work=batch).order_by("pk")
    for assignment, unit, *given in rows.values_list(
        "assignment_id", "unit_id", "value", "answer", "seconds", "comment"
    ):
        found[str(assignment)][unit] = tuple(given)
    return dict(found)


def _own_columns(study: Study, kind: Kind, most: int) -> tuple[list[str], list[str]]:
    """Return the kind's own columns, with plain names for HITs of one unit, as requesters' scripts expect."""
    unit = Unit.objects.filter(study=study).order_by("position").values_list("content", flat=True).first()
    names = list(kind.exchange.mturk_inputs(unit or {})), kind.exchange.mturk_names()
    inputs, answers = (
        [
            _column_name(number, name, single=most <= 1)
            for number in range(1, max(1, most) + 1)
            for name in own
        ]
        for own in names
    )
    return inputs, answers


def _column_name(number: int, name: str, *, single: bool) -> str:
    return name if single else f"u{number}_{name}"


def _unit_cells(
    number: int, unit: Mapping[str, Any], given: tuple[Any, ...] | None, kind: Kind, *, single: bool
) -> dict[str, str]:
    content = unit["content"]
    names = ("unit", "image", *SHOWN, "control", *(["content"] if kind.is_open else []))
    inputs = {
        _column_name(number, name, single=single): cell
        for name, cell in kind.exchange.mturk_inputs(content).items()
    }
    inputs |= {f"u{number}_{name}": _cell(unit[name]) for name in names}
    answers: dict[str, str] = {}
    if given is not None:
        value, answer, seconds, comment = given
        if answer is not None:
            value = json.dumps(kind.exchange.to_file(answer, content=content), ensure_ascii=False)
            for name, cell in kind.exchange.mturk_cells(answer).items():
                answers[_column_name(number, name, single=single)] = cell
        answers |= {f"u{number}": _cell(value), f"t{number}": _cell(seconds), f"c{number}": comment}
    columns = {f"{INPUT}{name}": cell for name, cell in inputs.items()}
    return columns | {f"{ANSWER}{name}": cell for name, cell in answers.items()}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)


def _header(inputs: Sequence[str], answers: Sequence[str]) -> list[str]:
    named = [f"{INPUT}{name}" for name in inputs] + [f"{ANSWER}{name}" for name in answers]
    return [*COLUMNS, *named, *REVIEW_COLUMNS]


def _assignment_cells(study: Study, design: StudyDesign, assignment: Assignment) -> dict[str, str]:
    hit, session, crowd = assignment.hit, assignment.session, design.crowd
    state = assignment.before_exclusion or assignment.state
    submitted = assignment.submitted_at
    hit_name = (hit.external_id or hit.key) if hit is not None else ""
    reward = session.publication.reward_cents if session else crowd.reward_cents
    return {
        "HITId": (session.publication.external_id if session else "") or hit_name,
        "Title": crowd.title or study.name,
        "Description": crowd.description or design.question,
        "Keywords": crowd.keywords,
        "Reward": format_cents(reward) if reward is not None else "",
        "CreationTime": _time(study.generated_at),
        "MaxAssignments": str(hit.required) if hit is not None else "",
        "RequesterAnnotation": f"Study:{study.slug};",
        "AssignmentDurationInSeconds": str(crowd.lease_minutes * 60),
        "AssignmentId": assignment.external_id or str(assignment.pk),
        "WorkerId": assignment.worker.name,
        "AssignmentStatus": STATUS.get(Assignment.State(state), "Submitted"),
        "AcceptTime": _time(assignment.accepted_at),
        "SubmitTime": _time(submitted),
        "AutoApprovalTime": _time(session.auto_approval_at if session else None),
        "RequesterFeedback": assignment.reason,
        "WorkTimeInSeconds": str(int((submitted - assignment.accepted_at).total_seconds()))
        if submitted
        else "",
    }


def _time(moment: datetime | None) -> str:
    return "" if moment is None else format_time(moment)

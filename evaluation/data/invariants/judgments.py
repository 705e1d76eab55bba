"""Invariants of judgments and of results computed from them."""

from __future__ import annotations

from contextlib import suppress

from django.db.models import Count, Exists, F, OuterRef, Q
from pydantic import ValidationError

from annotation.models import Adjudication, Assignment, Judgment
from annotation.models.assignments import FINISHED_STATES
from evaluation.data.invariants.sentences import DESIGNED_SOURCE, ROWS_PER_BATCH, Sentences, sentences_about
from evaluation.data.judgment_sets.blocks import wrong_blocks
from evaluation.models import Analysis
from judgments.kinds import Kind, UnavailableKind, installed_kind
from judgments.models import HITUnit, Study
from judgments.studies.designs import design_of
from quorum.statistics.aggregation.pair_answers import SIDE_NAMES


def revisions_replace_their_own() -> Sentences:
    revisions = Judgment.objects.filter(replaces__isnull=False)
    wrong_rows = revisions.exclude(
        replaces__assignment=F("assignment"), replaces__unit=F("unit"), replaces__pk__lt=F("pk")
    )
    yield from sentences_about(
        wrong_rows,
        "judgment {pk} replaces judgment {replaces_id}, which is no earlier one of the same unit.",
        study="assignment__study",
    )


def blocks_say_what_the_rows_say() -> Sentences:
    for block in wrong_blocks():
        yield (
            f"Study {block.study.slug}: the stored columns of {block.what} {block.first + 1} to {block.last} are not "
            "those of the rows: one of them was changed. If the rows are right, `aggregate "
            f"{block.study.slug} --from-rows` stores the columns anew."
        )


def adjudications_are_of_judged_units() -> Sentences:
    rows = Adjudication.objects.exclude(unit__study=F("study"), unit__control=False)
    yield from sentences_about(rows, "adjudication {pk} is of a check question or of another study's item.")
    decisions = Adjudication.objects.filter(state=Adjudication.State.DECIDED)
    for row in decisions.select_related("study"):
        kind = _kind_if_readable(row.study)
        # For two candidates, a person decides only the side, not its strength or confidence.
        if kind is not None and row.value not in (SIDE_NAMES if kind.two_sided else kind.values):
            yield f"Study {row.study.slug}: adjudication {row.pk} decides {row.value}, which its kind does not know."


def judgments_belong_to_finished_work() -> Sentences:
    allowed_states = (*FINISHED_STATES, Assignment.State.APART)  # APART: finished, but unknown to the crowd
    early_rows = Judgment.objects.exclude(assignment__state__in=allowed_states).exclude(
        assignment__state=Assignment.State.INVALIDATED, assignment__before_exclusion__in=FINISHED_STATES
    )
    yield from sentences_about(
        early_rows,
        "judgment {pk} belongs to assignment {assignment_id}, which is {assignment__state}.",
        study="assignment__study",
    )
    hit_units = HITUnit.objects.filter(hit=OuterRef("assignment__hit"), unit=OuterRef("unit"))
    stray_rows = Judgment.objects.filter(assignment__hit__isnull=False).exclude(Exists(hit_units))
    yield from sentences_about(
        stray_rows,
        "judgment {pk} is on unit {unit__key}, which is not in its HIT.",
        study="assignment__study",
    )
    foreign_rows = Judgment.objects.exclude(assignment__study=F("unit__study"))
    yield from sentences_about(
        foreign_rows, "judgment {pk} is on unit {unit__key} of another study.", study="assignment__study"
    )


def a_worker_judges_a_unit_once() -> Sentences:
    repeated_rows = (
        Judgment.objects.current()
        .values("assignment__study__slug", "unit__key", "assignment__worker__name")
        .annotate(count=Count("pk"))
        .filter(count__gt=1)
        .order_by()
        .values_list("assignment__study__slug", "unit__key", "assignment__worker__name", "count")
    )
    for slug, unit, worker, count in repeated_rows.iterator(ROWS_PER_BATCH):
        yield f"Study {slug}: worker {worker} judged unit {unit} {count} times."


def _kind_if_readable(study: Study) -> Kind | None:
    """Return the study's kind with the options of its design, or without options if the design is unreadable.

    Another check reports unreadable designs. Return None if the kind is not installed.
    """
    kind = installed_kind(study.protocol)
    if isinstance(kind, UnavailableKind):
        return None
    with suppress(ValidationError):
        return kind.for_design(design_of(study))
    return kind


def values_are_allowed() -> Sentences:
    """Check that judgments have a valid value or open answer, and a side if the kind has sides."""
    for study in Study.objects.order_by("slug"):
        kind = _kind_if_readable(study)
        if kind is None:
            yield f"Study {study.slug}: protocol {study.protocol!r} is not known to this version."
            continue
        judgments = Judgment.objects.filter(assignment__study=study)
        if kind.is_open:  # JSON null and SQL NULL both mean no answer
            wrong_rows = judgments.filter(Q(answer=None) | Q(answer__isnull=True) | Q(value__isnull=False))
        else:
            values = judgments.order_by().values_list("value", flat=True).distinct()
            wrong_rows = judgments.filter(Q(value=None) | Q(value__in=set(values) - {None, *kind.values}))
        for pk, value in wrong_rows.values_list("pk", "value").iterator(ROWS_PER_BATCH):
            problem = "expected an answer and no value" if kind.is_open else "which its kind does not know"
            yield f"Study {study.slug}: judgment {pk} has the value {value}; {problem}."
        if study.source == DESIGNED_SOURCE:
            rows = judgments.filter(presented="") if kind.two_sided else judgments.exclude(presented="")
            for pk in rows.values_list("pk", flat=True).iterator(ROWS_PER_BATCH):
                expected = "expected which side was left" if kind.two_sided else "this kind has no sides"
                yield f"Study {study.slug}: judgment {pk} says {'no' if kind.two_sided else 'a'} side; {expected}."


def results_older_than_the_data() -> Sentences:
    analyses = Analysis.objects.filter(what=Analysis.Kind.AGGREGATION).order_by("study_id", "-created_at")
    checked_studies: set[int] = set()
    for slug, study, computed_at in analyses.values_list("study__slug", "study_id", "created_at"):
        if study in checked_studies:
            continue
        checked_studies.add(study)
        late_count = Assignment.objects.filter(
            study_id=study, state__in=FINISHED_STATES, submitted_at__gt=computed_at
        ).count()
        if late_count:
            yield f"Study {slug}: {late_count} assignments were submitted after its consensus was computed."

"""The invariants of what keeps answers trustworthy: layouts, revisions, quizzes, cases, adjudications, spared slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.db.models import Count, F, Q

from annotation.models import Adjudication, Assignment, Case, Judgment, QuizAttempt
from judgments.kinds import KINDS
from judgments.models import HIT, HITUnit, Study, Unit
from judgments.stopping import stops_early

ROWS_AT_ONCE = 2_000
Sentences = Iterator[str]


def layouts_show_units_of_the_hit() -> Sentences:
    """The order of an assignment names each place of its HIT at most once, and its sides are as many as its places."""
    sizes = dict(HITUnit.objects.values_list("hit").annotate(size=Count("pk")).order_by())
    work = Assignment.objects.filter(hit__isnull=False, study__source=Study.Source.DESIGNED)
    names = ("study__slug", "pk", "hit_id", "order", "flips")
    for slug, pk, hit, order, flips in work.values_list(*names).iterator(ROWS_AT_ONCE):
        size = sizes.get(hit, 0)
        if len(set(order)) != len(order) or not set(order) <= set(range(size)):
            yield f"Study {slug}: the order of assignment {pk} is none of the {size} units of its HIT."
        elif flips and len(flips) != (len(order) or size):
            yield f"Study {slug}: assignment {pk} has {len(flips)} sides for {len(order) or size} units."


def revisions_replace_their_own() -> Sentences:
    """A revision replaces an earlier judgment of the same assignment on the same unit."""
    revisions = Judgment.objects.filter(replaces__isnull=False)
    wrong = revisions.exclude(
        replaces__assignment=F("assignment"), replaces__unit=F("unit"), replaces__pk__lt=F("pk")
    )
    names = ("assignment__study__slug", "pk", "replaces_id")
    for slug, pk, other in wrong.values_list(*names).iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: judgment {pk} replaces judgment {other}, which is no earlier one of the same unit."


def work_that_is_held_was_never_sent() -> Sentences:
    """What is reserved or accepted has a lease and no time of submission."""
    held = Assignment.objects.filter(state__in=["reserved", "accepted"], study__source=Study.Source.DESIGNED)
    wrong = held.filter(Q(submitted_at__isnull=False) | Q(expires_at__isnull=True))
    for slug, pk, state in wrong.values_list("study__slug", "pk", "state").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: assignment {pk} is {state}, but was submitted or has no lease."


def slots_are_spared_where_studies_stop_early() -> Sentences:
    """Elsewhere every slot is asked for, but where somebody let open ones expire, which the log says."""
    for study in Study.objects.filter(hits__spared__gt=0).distinct().order_by("slug"):
        if not stops_early(study) and not study.events.filter(what="slots-expired").exists():
            count = HIT.objects.filter(study=study, spared__gt=0).count()
            yield f"Study {study.slug}: {count} HITs have spared slots, but the study does not stop early."


def quizzes_count_their_answers() -> Sentences:
    """Answers of an attempt stand at places that it has; a finished one has them all and no more right than asked."""
    rows = QuizAttempt.objects.values_list("study__slug", "pk", "items", "answers", "right", "finished_at")
    for slug, pk, items, answers, right, finished in rows.order_by("pk").iterator(ROWS_AT_ONCE):
        asked = {str(place) for place in range(1, len(items) + 1)}
        if not set(answers) <= asked or (finished is not None and set(answers) != asked):
            yield f"Study {slug}: quiz attempt {pk} asks {len(items)} things and holds {len(answers)} answers."
        if right is not None and right > len(items):
            yield f"Study {slug}: quiz attempt {pk} has {right} of {len(items)} right."


def quiz_items_stand_apart() -> Sentences:
    """An item of the quiz stands in no HIT: whoever passed knows its answer."""
    units = Unit.objects.filter(control_kind=Unit.ControlKind.QUIZ, places__isnull=False).distinct()
    for slug, key in units.values_list("study__slug", "key").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: quiz item {key} stands in a HIT."


def cases_name_their_exclusion() -> Sentences:
    """The exclusion of a case is of the same worker and study; a decided case says when and why."""
    cases = Case.objects.filter(exclusion__isnull=False)
    wrong = cases.exclude(exclusion__worker=F("worker"), exclusion__study=F("study"))
    for slug, pk in wrong.values_list("study__slug", "pk").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: case {pk} names the exclusion of somebody else."
    unsaid = Case.objects.exclude(state=Case.State.OPEN).filter(Q(decided_at__isnull=True) | Q(decision=""))
    for slug, pk, state in unsaid.values_list("study__slug", "pk", "state").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: case {pk} is {state}, but does not say when and why."


def adjudications_are_of_judged_units() -> Sentences:
    """Of the same study, no control items, and decided by an answer that the kind knows."""
    rows = Adjudication.objects.exclude(unit__study=F("study"), unit__control=False)
    for slug, pk in rows.values_list("study__slug", "pk").iterator(ROWS_AT_ONCE):
        yield f"Study {slug}: adjudication {pk} is of a control item or of another study's unit."
    decided = Adjudication.objects.filter(state=Adjudication.State.DECIDED)
    for slug, protocol, pk, value in decided.values_list("study__slug", "study__protocol", "pk", "value"):
        kind = KINDS.get(protocol)
        if kind is not None and value not in kind.values:
            yield f"Study {slug}: adjudication {pk} decides {value}, which its kind does not know."


QUALITY_CHECKS: tuple[Callable[[], Sentences], ...] = (
    layouts_show_units_of_the_hit,
    revisions_replace_their_own,
    work_that_is_held_was_never_sent,
    slots_are_spared_where_studies_stop_early,
    quizzes_count_their_answers,
    quiz_items_stand_apart,
    cases_name_their_exclusion,
    adjudications_are_of_judged_units,
)

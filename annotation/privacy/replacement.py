"""Erase people from a study by replacing them by substitute workers, whose random names say nothing about them.

These are the steps for all people of a study who are erased together:

1. End their work, and create their substitute workers.
2. Replace their names and texts in logs, jobs, and in what detectors found about other people.
3. Move or delete their rows.
4. Redact or delete their answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import TruncDay, TruncMinute

from annotation.crowds import backend_of
from annotation.crowds.base import Ability
from annotation.models import (
    Assignment,
    Case,
    CrowdCall,
    CrowdSession,
    Erasure,
    Exclusion,
    Invitation,
    Judgment,
    Participation,
    Seat,
    Worker,
)
from annotation.models.assignments import LIVE_STATES
from annotation.models.privacy import person_erased
from annotation.privacy.names import name_replacer
from annotation.privacy.personal_rows import (
    DELETED_MODELS,
    ERASED_PREFIX,
    ERASED_TEXT,
    MOVED_MODELS,
    PAID_PREFIX,
    PAYMENT_MODELS,
    TEXT_FIELDS,
    about_worker,
    appeals_of,
    find_log_entries,
    identifying_words,
    is_in_another_study,
    judgments_of,
    reports_of,
    rows_of,
)
from annotation.work.slots.release import release_slots
from annotation.work.stopping import lock_for_settling, reopen_slots
from annotation.work.system_pairs import recount_system_pairs
from judgments.models import CachedFigures, Job, Study, StudyEvent
from judgments.studies.codes import LETTERS, random_code
from judgments.studies.designs import installed_kind_of


@dataclass(frozen=True, slots=True)
class Substitution:
    """A person, and the substitute workers who get their rows.

    Attributes:
        stand_in: the worker who gets the answers.
        payee: the worker who gets the rows about pay, so that these do not show which answers were paid; ``stand_in``
            if there are no such rows.
        unconfirmed_ids: the row ids of the person's assignments that the crowd has not confirmed, which are read
            before ``_move_rows`` unlinks them from their sessions.
    """

    person: Worker
    stand_in: Worker
    payee: Worker
    unconfirmed_ids: Collection[UUID]


def replace_people(
    people: Collection[Worker], study: Study, way: str, *, with_texts: bool
) -> tuple[Counter[str], dict[str, str]]:
    """Replace people by substitute workers.

    Return the number of deleted rows by table, and the replacement of each word that names the people, such as
    ``{"Anna": "erased-mkrtqzsdwp"}``.

    Args:
        way: whether judgments are kept or erased (``Erasure.Extent``).
        with_texts: whether answers that are texts, and comments, are erased as well.
    """
    removed_counts = Counter[str]()
    replacements: dict[str, str] = {}
    substitutions = []
    for person in people:
        _end_work(study, person)
        substitution = _create_substitutes(study, person)
        substitutions.append(substitution)
        replacements |= {
            **dict.fromkeys(identifying_words(study, person), ERASED_TEXT),
            person.name: substitution.stand_in.name,
        }
        if with_texts:
            _remove_quotes(study, person)
    # Other people's names that contain the name, such as "Anna B", are replaced by themselves, so that they stay whole.
    # For several people, ``end_identities_of_study`` instead passes those with the longest names first.
    if len(people) == 1:
        (person,) = people
        namesakes = Worker.objects.filter(name__contains=person.name).exclude(name__in=replacements)
        replacements = {**{name: name for name in namesakes.values_list("name", flat=True)}, **replacements}
    _redact_notes(study, people, replacements)
    _rename_in_logs(study, replacements)
    for substitution in substitutions:
        person = substitution.person
        _move_rows(study, substitution)
        for model in DELETED_MODELS:
            removed_counts[model._meta.model_name or ""] += rows_of(model, study, person).delete()[0]
        if not is_in_another_study(study, person):
            person.delete()
        removed_counts["judgment"] += _erase_answers(study, substitution, way, with_texts=with_texts)
    person_erased.send(Study, study=study, replacements=replacements)
    return removed_counts, replacements


def _end_work(study: Study, worker: Worker) -> None:
    """Give back the HITs that the person holds, and end running sessions. ``_erase_answers`` deletes drafts."""
    work = Assignment.objects.filter(study=study, worker=worker)
    release_slots(work, Assignment.State.RETURNED)
    sessions = CrowdSession.objects.filter(study=study, worker=worker, status=CrowdSession.Status.WORKING)
    sessions.update(status=CrowdSession.Status.RETURNED)
    seats = Seat.objects.filter(study=study)  # hashes of the network addresses that took work
    seats.filter(Q(assignment__worker=worker) | Q(session__worker=worker)).delete()


def _redact_notes(study: Study, people: Collection[Worker], replacements: Mapping[str, str]) -> None:
    """Remove the notes on people's invitations, such as mail addresses, and replace names in the notes on others.

    A note that several invitations share is removed from all of them, since any of its words may be about one person.
    In the study's log, notes are found by their words, so they change there and on invitations alike.
    """
    invitations = Invitation.objects.filter(study=study)
    own_notes = set(invitations.filter(worker__in=people).values_list("note", flat=True))
    replace_names = name_replacer(replacements)
    for note in set(invitations.exclude(note="").values_list("note", flat=True)):
        new_note = ERASED_TEXT if note in own_notes else replace_names(note)[:200]
        if new_note != note:
            invitations.filter(note=note).update(note=new_note)
            for event in StudyEvent.objects.filter(study=study, what="invited", details__note=note):
                StudyEvent.objects.filter(pk=event.pk).redact(details=event.details | {"note": new_note})


def _unconfirmed_work(study: Study, worker: Worker) -> QuerySet[Assignment]:
    """Return the assignments that the crowd has not confirmed, which nobody can confirm after the erasure."""
    work = Assignment.objects.filter(study=study, worker=worker)
    if not study.platform or Ability.LIST not in backend_of(study).can:
        return work.none()  # work at such a crowd needs no confirmation, since the crowd lists none
    return work.filter(session__confirmed=False)


def _create_substitutes(study: Study, person: Worker) -> Substitution:
    """Create a person's substitute workers. Only rows about money, if there are any, need a second one."""

    def create_worker(prefix: str) -> Worker:
        return Worker.objects.create(
            name=f"{prefix}-{random_code(LETTERS, 10)}",
            source=person.source,
            study=person.study,
            platform=person.platform,
            created_at=study.opened_at or study.created_at,  # not when the person came
            erased=True,
        )

    stand_in = create_worker(ERASED_PREFIX)
    has_payments = any(rows_of(model, study, person).exists() for model in PAYMENT_MODELS)
    payee = create_worker(PAID_PREFIX) if has_payments else stand_in
    unconfirmed_ids = list(_unconfirmed_work(study, person).values_list("pk", flat=True))
    return Substitution(person, stand_in, payee, unconfirmed_ids)


def _remove_quotes(study: Study, worker: Worker) -> None:
    """Remove the person's texts from detectors' evidence, including evidence about other people."""
    answers = judgments_of(study, worker).values_list("answer", "comment")
    texts = {text for answer in answers for text in _texts_within(list(answer))}
    if not texts:
        return
    for model in (Case, Exclusion):
        for row in model._default_manager.filter(study=study, evidence__numbers__texts__isnull=False):
            quotes = row.evidence["numbers"]["texts"]
            redacted_quotes = [_redact_quote(quote, texts) for quote in quotes]
            if redacted_quotes != quotes:
                row.evidence["numbers"]["texts"] = redacted_quotes
                row.save(update_fields=["evidence"])


def _redact_quote(quote: dict[str, Any], texts: set[str]) -> dict[str, Any]:
    # a quote is such as {"own": "a dog", "other": "A dog.", "by": 7}: two texts, and the row id of the other's author
    return {key: ERASED_TEXT if value in texts else value for key, value in quote.items()}


def _texts_within(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value that are not empty."""
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, dict):
        yield from _texts_within(list(value.values()))
    elif isinstance(value, list):
        for member in value:
            yield from _texts_within(member)


def _rename_in_logs(study: Study, replacements: Mapping[str, str]) -> None:
    """Replace people's names in the study's log, in texts that staff and detectors wrote, and in jobs."""
    replace_names = name_replacer(replacements)
    for event in find_log_entries(study, replacements):
        StudyEvent.objects.filter(pk=event.pk).redact(
            words=replace_names(event.words)[:1000],
            why=replace_names(event.why)[:500],
            details=replace_names(event.details),
        )
    for model, fields in TEXT_FIELDS.items():  # all rows, since texts about other people may name this person
        for row in model._default_manager.filter(study=study).iterator():
            old_values = [getattr(row, name) for name in fields]
            new_values = replace_names(old_values)
            if new_values != old_values:
                for name, value in zip(fields, new_values, strict=True):
                    setattr(row, name, value)
                row.save(update_fields=fields)
    for job in Job.objects.filter(args__study=study.slug).iterator():
        old_values = [job.args, job.result, job.words, job.error]
        new_values = replace_names(old_values)
        if new_values != old_values:
            args, result, words, error = new_values
            # a name may equal the study's slug, which must stay
            Job.objects.filter(pk=job.pk).update(
                args={**args, "study": study.slug}, result=result, words=words[:200], error=error
            )
    CachedFigures.objects.filter(study=study).delete()


def _move_rows(study: Study, substitution: Substitution) -> None:
    """Move the person's rows to the substitute workers, without the values that could identify the person."""
    worker, payee = substitution.person, substitution.payee
    work = Assignment.objects.filter(study=study, worker=worker)
    CrowdCall.objects.filter(about_worker(worker), study=study).exclude(worker=None).update(worker=payee)
    sessions = CrowdSession.objects.filter(study=study, worker=worker)
    for call in CrowdCall.objects.filter(Q(worker=payee) | Q(session__in=sessions), study=study):
        call.payload = {  # keep numbers, but no texts, except the name of a qualification
            key: value
            for key, value in call.payload.items()
            if key == "qualification" or not isinstance(value, str | list | dict)
        }
        # Keep the number of the list of bonuses for a panel that has this bonus, so that no second list has it.
        call.answer = {"list": call.answer["list"]} if "list" in call.answer else {}
        call.why = ""
        call.save(update_fields=["payload", "answer", "why"])
    # the ledger keeps the session, but no longer shows for which answers it paid
    work.update(session=None)
    sessions.update(worker=payee, code="", receipt="", feedback="")
    Participation.objects.filter(study=study, worker=worker).update(
        joined_at=TruncDay("joined_at", tzinfo=UTC),
        consented_at=TruncDay("consented_at", tzinfo=UTC),
        completion_code="",
        cursor=0,  # where the search for work began; not needed any more
    )
    for model in MOVED_MODELS:
        rows_of(model, study, worker).update(worker=substitution.stand_in)
    invitations = Invitation.objects.filter(study=study, worker=worker)
    invitations.update(worker=None, note="", used_at=TruncDay("used_at", tzinfo=UTC))


def _erase_answers(study: Study, substitution: Substitution, way: str, *, with_texts: bool) -> int:
    """Delete or redact the stand-in's judgments and texts. Return the number of deleted judgments."""
    worker = substitution.stand_in
    work = Assignment.objects.filter(study=study, worker=worker)
    erases_all = way == Erasure.Extent.ALL or (with_texts and installed_kind_of(study).writes_captions)
    erased_work = work if erases_all else work.filter(pk__in=substitution.unconfirmed_ids)
    erased_rows = list(erased_work.select_for_update().order_by("pk").values_list("pk", "hit_id", "state"))
    assignment_ids = [pk for pk, _hit, _state in erased_rows]
    # hit is None only for imported judgments without a known page of work
    freed_slots = Counter(hit for _pk, hit, state in erased_rows if state in LIVE_STATES and hit is not None)
    judgments = Judgment.objects.filter(assignment__in=assignment_ids)
    deleted_count = judgments.count()
    lock_for_settling(study=study, hits=list(freed_slots))  # before ``reopen_slots`` locks the HITs
    judgments.erase()
    Assignment.objects.filter(pk__in=assignment_ids).update(
        state=Assignment.State.RETURNED, exclusion=None, before_exclusion="", submitted_at=None
    )
    if study.source == Study.Source.DESIGNED:  # imported pages of work have no slots to fill
        reopen_slots(study=study, counts_by_hit=freed_slots)
    recount_system_pairs(study)
    judgments_of(study, worker).redact(made_at=TruncMinute("made_at", tzinfo=UTC))
    reports_of(study, worker).update(created_at=TruncMinute("created_at", tzinfo=UTC))
    if with_texts:
        _redact_texts(study, worker)
    _cut_times_of_work(work)
    work.update(answers={}, answered_at=None, expires_at=None, gaps=[], reason="", external_id="")
    return deleted_count


def _cut_times_of_work(work: QuerySet[Assignment]) -> None:
    """Truncate the times of assignments to the minute, but keep their order, by which an arena can be drawn again."""
    for position, assignment in enumerate(
        work.only("pk", "accepted_at", "submitted_at").order_by("accepted_at", "pk")
    ):
        order_mark = timedelta(microseconds=position)
        Assignment.objects.filter(pk=assignment.pk).update(
            accepted_at=_cut_to_minute(assignment.accepted_at, order_mark),
            submitted_at=_cut_to_minute(assignment.submitted_at, order_mark),
        )


def _cut_to_minute(moment: datetime | None, order_mark: timedelta) -> datetime | None:
    """Truncate a time to the minute, as releases do, and add ``order_mark``.

    A more exact time could be matched with the crowd's own list.
    """
    return None if moment is None else moment.replace(second=0, microsecond=0) + order_mark


def _redact_texts(study: Study, worker: Worker) -> None:
    """Remove comments, texts in answers, reports and appeals, and the signals of how answers were typed."""
    kind = installed_kind_of(study)
    judgments = judgments_of(study, worker)
    for judgment in judgments.only("pk", "answer").iterator():
        values: dict[str, Any] = {"comment": "", "signals": {}}
        if judgment.answer is not None:
            values["answer"] = kind.without_texts(judgment.answer)
        Judgment.objects.filter(pk=judgment.pk).redact(**values)
    reports_of(study, worker).update(comment="")
    appeals_of(study, worker).delete()

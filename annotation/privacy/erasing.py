"""Erase a person from a study, while published data stay verifiable (docs/privacy.md).

The person's rows are assigned to a substitute worker with a random name, and everything that identifies the person
is deleted. Rows about money get another substitute, so that they cannot be linked to the answers. All of this is
one transaction. It queues a job that removes files afterwards.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import TruncDay, TruncMinute
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds import backend_of
from annotation.crowds.base import Ability
from annotation.crowds.panel.payouts import unlisted_bonuses
from annotation.crowds.people import erased_worker_hash, pseudonym
from annotation.models import (
    AppealNote,
    Assignment,
    Case,
    CrowdCall,
    CrowdSession,
    Demographics,
    Erasure,
    ErasureRequest,
    Exclusion,
    Invitation,
    Judgment,
    MoneyRequest,
    Participation,
    ProblemReport,
    Qualification,
    QuizAttempt,
    RawId,
    Seat,
    SpendingRequest,
    StudyAlarm,
    Worker,
    WrittenCaption,
)
from annotation.models.assignments import LIVE_STATES
from annotation.models.privacy import identifying_word_wanted, person_erased
from annotation.privacy.receipts import canonical_json, commitment_to, new_receipt, replacer
from annotation.work.slots.release import release_slots
from annotation.work.stopping import lock_for_settling, reopen_slots
from annotation.work.system_pairs import recount
from common.errors import ObjectNotFound, ServiceBusy, WrongState
from judgments.access.study_log import note_event
from judgments.jobs.queues import enqueue
from judgments.kinds import installed_kind
from judgments.models import CachedFigures, Job, Study, StudyEvent
from judgments.studies.codes import LETTERS, random_code
from judgments.studies.designs import design_of, installed_kind_of


def commitments(*, study: Study, worker: Worker, receipt: str) -> list[str]:
    """Return the sorted commitments to a worker's unrevised judgments in a study."""
    return sorted(commitment_to(receipt, row) for row in _judgment_rows(study, worker))


def _judgment_rows(study: Study, worker: Worker) -> Iterable[dict[str, Any]]:
    kind = installed_kind(study.protocol)
    judgments = Judgment.objects.of_study(study).filter(assignment__worker=worker, replaced_by=None)
    names = ("unit__key", "unit__content", "value", "answer", "assignment__submitted_at")
    for key, content, value, answer, submitted in judgments.values_list(*names).iterator():
        yield {
            "unit": key,
            "value": value,
            "answer": None if answer is None else kind.exchange.to_file(answer, content=content),
            "submitted_at": submitted and f"{submitted:%Y-%m-%dT%H:%M}:00Z",
        }


Way = Erasure.Extent
JOB = "finish_erasure"
ERASED_TEXT = "…"
ERASED, PAID = "erased", "paid"  # prefixes of the names of substitute workers
# Models whose rows are deleted, with their label on pages. A test checks that no model about people is forgotten.
DELETED_MODELS: Mapping[type[Model], str] = {
    RawId: gettext_noop("ids at the crowd"),
    Demographics: gettext_noop("demographics"),
    QuizAttempt: gettext_noop("quiz attempts"),
    Qualification: gettext_noop("qualifications"),
    ErasureRequest: gettext_noop("erasure requests"),
}
MOVED_MODELS: Mapping[type[Model], str] = {
    Participation: gettext_noop("participation in the study"),
    Assignment: gettext_noop("pages of work"),
    Exclusion: gettext_noop("exclusions"),
    Case: gettext_noop("flags"),
    StudyAlarm: gettext_noop("warnings of the study"),
    WrittenCaption: gettext_noop("captions that other participants judge"),
}
PAYMENT_MODELS: Mapping[type[Model], str] = {
    CrowdSession: gettext_noop("paid sessions"),
    CrowdCall: gettext_noop("requests to the crowd"),
}
# fields with texts that were written about people
TEXT_FIELDS: Mapping[type[Model], list[str]] = {
    Exclusion: ["why", "lifted_why", "evidence"],
    Case: ["evidence", "decision"],
    ErasureRequest: ["answer"],
    MoneyRequest: ["answer"],
    SpendingRequest: ["values", "words"],
}
UNLINKED_MODELS: Mapping[type[Model], str] = {Invitation: gettext_noop("invitation")}


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """The effects of an erasure.

    Attributes:
        removed, kept: the label of each group of rows, in words, and their number.
        in_other_studies: whether the person takes part in other studies of this installation, which keep the name.
        waits: why the person cannot be erased now; "" if they can.
    """

    worker: Worker
    removed: list[tuple[str, int]]
    kept: list[tuple[str, int]]
    in_other_studies: bool
    waits: str


@dataclass(frozen=True, slots=True)
class ErasureResult:
    """The result of an erasure.

    ``receipt`` is not stored. ``was_erased_before`` means that nothing was left to erase.
    """

    erasure: Erasure
    receipt: str = ""
    job: Job | None = None
    was_erased_before: bool = False
    names: Mapping[str, str] = field(default_factory=dict)


def erasure_mark_of(worker: Worker) -> str:
    return erased_worker_hash(worker.source, worker.platform, worker.name)


def find_person(study: Study, name: str) -> Worker | None:
    """Return the participant of a study with this name, pseudonym or crowd id; None if they were erased before.

    Raises:
        ObjectNotFound: nobody with this name took part.
    """
    name = name.strip()
    names = [name, pseudonym(study.platform, name)]
    person = people_of(study).filter(name__in=names).first()
    if person is None and erasure_of(study, name) is None:
        raise ObjectNotFound(
            _("Nothing was changed: no participant %(name)r took part in study %(slug)r.")
            % {"name": name[:80], "slug": study.slug}
        )
    return person


def people_of(study: Study) -> QuerySet[Worker]:
    """Return the participants of a study. The query uses subqueries, since joins would multiply the rows."""
    parts = (
        model._default_manager.filter(study=study) for model in (Participation, CrowdSession, Assignment)
    )
    return Worker.objects.filter(_in_any(rows.values("worker") for rows in parts))


def _in_any(parts: Iterable[QuerySet[Any, Any]]) -> Q:
    return reduce(or_, (Q(pk__in=part) for part in parts))


def erasure_of(study: Study, name: str) -> Erasure | None:
    marks = [
        erased_worker_hash(source, platform, identity)
        for source, platform, identity in _possible_identities(study, name.strip())
    ]
    return Erasure.objects.filter(study=study, mark__in=marks).first()


def _possible_identities(study: Study, name: str) -> list[tuple[str, str, str]]:
    crowd, platform = Worker.Source.CROWD, study.platform
    return [
        (Worker.Source.LOCAL, "", name),
        (Worker.Source.IMPORTED, "", name),
        (crowd, platform, name),
        (crowd, platform, pseudonym(platform, name)),
    ]


def preview_erasure(*, study: Study, worker: Worker, way: str) -> ErasurePreview:
    judgments = _judgments(study, worker)
    going = judgments if way == Way.ALL else _texts_only(study, judgments)
    written = judgments.exclude(comment="").count()
    named = dict.fromkeys((worker.name, *_identifying_words(study, worker)), ERASED_TEXT)
    removed = [(label, _rows(model, study, worker).count()) for model, label in DELETED_MODELS.items()]
    removed += [
        (gettext_noop("judgments"), going.count()),
        (gettext_noop("comments"), written),
        (gettext_noop("texts of problem reports"), _reports(study, worker).exclude(comment="").count()),
        (gettext_noop("messages in appeals"), _appeals(study, worker).count()),
        (gettext_noop("log entries with the name (the name is replaced)"), len(_entries(study, named))),
    ]
    staying = [
        (label, _rows(model, study, worker).count())
        for model, label in {**MOVED_MODELS, **PAYMENT_MODELS}.items()
    ]
    staying.insert(0, (gettext_noop("judgments"), judgments.count() - going.count()))
    return ErasurePreview(
        worker=worker,
        removed=[(_(label), n) for label, n in removed if n],
        kept=[(_(label), n) for label, n in staying if n],
        in_other_studies=_is_in_another_study(study, worker),
        waits=why_not_erasable(study, worker),
    )


def why_not_erasable(study: Study, worker: Worker) -> str:
    """Return why the person cannot be erased now; "" if they can."""
    if worker.erased and worker.name.startswith(PAID):
        return _("%(name)s is already erased. The name is kept only for payments.") % {"name": worker.name}
    if not worker.is_person and (worker.source == Worker.Source.REHEARSAL or worker.anonymous):
        return _("%(name)s is not a person. The answers are simulated, or were published without names.") % {
            "name": worker.name
        }
    if any(rows.filter(worker=worker).exists() for rows in _undecided_work(study)):
        return _(
            "Work of this participant is waiting for approval. Approve or reject it first, so that the participant is "
            "paid."
        )
    if _calls_under_way(study).filter(_work_of(worker)).exists():
        return _(
            "A request to the crowd about this participant is not done yet. Wait until it is done, or resolve it."
        )
    if _bonuses_to_list(study).filter(_work_of(worker)).exists():
        return _(
            "A bonus for this participant is not in a list for the panel yet. Create the list first, so that the "
            "participant is paid."
        )
    return ""


def cannot_be_erased_now(study: Study) -> Q:
    """Return a filter for participants who cannot be erased now; see ``why_not_erasable``."""
    parts: list[QuerySet[Any, Any]] = [rows.values("worker") for rows in _undecided_work(study)]
    for calls in (_calls_under_way(study), _bonuses_to_list(study)):
        parts.append(calls.filter(worker__isnull=False).values("worker"))
        parts.append(calls.filter(session__isnull=False).values("session__worker"))
    return _in_any(parts)


def _undecided_work(study: Study) -> list[QuerySet[Any]]:
    sessions = CrowdSession.objects.filter(study=study, status=CrowdSession.Status.SUBMITTED)
    work = Assignment.objects.filter(study=study, state=Assignment.State.SUBMITTED)
    return [sessions, work] if design_of(study).crowd.reward_cents else [sessions]


def _calls_under_way(study: Study) -> QuerySet[CrowdCall]:
    return CrowdCall.objects.filter(study=study, state__in=["waiting", "started", "parked"])


def _bonuses_to_list(study: Study) -> QuerySet[CrowdCall]:
    """Return the unlisted bonuses that a list can still include, because the person's id is stored."""
    return unlisted_bonuses(study).filter(worker__in=RawId.objects.values("worker"))


@contextmanager
def _growing_chain() -> Iterator[None]:
    """Open a transaction. Raise ServiceBusy if another transaction adds to the chain of erasures at the same time."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        if "previous" in str(error):
            raise ServiceBusy(
                _("Nothing was changed: another participant is being erased. Try again later.")
            ) from None
        raise


@_growing_chain()
def erase_person(
    *,
    study: Study,
    worker: Worker,
    way: str = Way.IDENTITY,
    withdraw: bool = False,
    by: User | None = None,
    asked_at: datetime | None = None,
    listed_row: Mapping[str, Any] | None = None,
    texts: bool = True,
) -> ErasureResult:
    """Erase a person from a study permanently. Raise WrongState if something must be done first.

    Args:
        way: whether the person's judgments are kept under a random name, or erased as well.
        withdraw: whether the files of releases are deleted on this server; their rows and hashes are kept.
        asked_at: when the person asked for it.
        listed_row: a row of ``erasure_list``, to repeat its erasure after a backup was restored.
        texts: whether answers that are texts, and comments, are erased as well. The scheduled removal of names
            keeps them.
    """
    locked = next(iter(_lock_workers(study, [worker])), None)
    if locked is None:
        raise ServiceBusy(_("Nothing was changed: somebody else erased the participant at the same moment."))
    refusal = why_not_erasable(study, locked)
    if refusal:
        raise WrongState(_("Nothing was changed. %(why)s") % {"why": refusal})
    receipt = new_receipt() if texts and listed_row is None else ""
    proofs = commitments(study=study, worker=locked, receipt=receipt) if receipt else []
    name, mark = locked.name, erasure_mark_of(locked)
    removed, replacements = _replace([locked], study, way, texts=texts)
    content = {
        "asked_at": asked_at and asked_at.isoformat(),
        "removed": {table: count for table, count in removed.items() if count},
        "commitments": proofs,
        "releases": _releases(study),
        "withdrawn": withdraw,
    }
    erasure = keep_erasure(study=study, row=listed_row or {"mark": mark, "way": way, "content": content})
    note_event(
        study=study,
        what="erased",
        sentence="A person was erased, with all their judgments."
        if way == Way.ALL
        else "A person was erased; their judgments stay under a random name.",
        by=by,
        way=way,
        digest=erasure.digest,
        removed=dict(removed),
    )
    job = enqueue(kind=JOB, args={"study": study.slug, "withdraw": withdraw}, user=by)
    return ErasureResult(erasure, receipt, job, names={name: replacements[name]})


@transaction.atomic
def end_identities(*, study: Study, workers: Collection[Worker]) -> int:
    """Remove the names of people at the promised time, but keep texts and judgments. Return the number of people."""
    keys = {worker.pk for worker in _lock_workers(study, workers)}
    people = list(Worker.objects.filter(pk__in=keys).exclude(cannot_be_erased_now(study)).order_by("pk"))
    if not people or not Study.objects.filter(pk=study.pk, state=Study.State.CLOSED).exists():
        return 0
    marks = [erasure_mark_of(worker) for worker in people]
    _replace(people, study, Way.IDENTITY, texts=False)
    for mark in marks:
        content = {"retention": True, "removed": {}, "commitments": [], "releases": _releases(study)}
        keep_erasure(study=study, row={"mark": mark, "way": Way.IDENTITY, "content": content})
    enqueue(kind=JOB, args={"study": study.slug, "withdraw": False})
    return len(people)


def _lock_workers(study: Study, workers: Collection[Worker]) -> list[Worker]:
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    keys = [worker.pk for worker in workers]
    # wait for a simultaneous submission, for which the worker must be paid first
    work = Assignment.objects.filter(study=study, worker__in=keys)
    list(work.select_for_update().order_by("pk").values_list("pk"))
    return list(Worker.objects.select_for_update().filter(pk__in=keys).order_by("pk"))


def _releases(study: Study) -> list[dict[str, Any]]:
    return [dict(row) for row in study.releases.order_by("pk").values("version", "sha256")]


def _replace(
    people: Collection[Worker], study: Study, way: str, *, texts: bool
) -> tuple[Counter[str], dict[str, str]]:
    """Replace people by substitute workers.

    Return the number of deleted rows by table, and the replacement of each word that names the people.
    """
    removed = Counter[str]()
    replacements: dict[str, str] = {}
    stand_ins = []
    for worker in people:
        _end_work(study, worker)
        unnamed = list(_unconfirmed_work(study, worker).values_list("pk", flat=True))
        stand_in, payee = _stand_ins(study, worker)
        stand_ins.append((worker, stand_in, payee, unnamed))
        replacements |= {
            **dict.fromkeys(_identifying_words(study, worker), ERASED_TEXT),
            worker.name: stand_in.name,
        }
        if texts:
            _forget_quotes(study, worker)
    if len(people) == 1:  # with several people, replace the longest names first
        (person,) = people
        others = Worker.objects.filter(name__contains=person.name).exclude(name__in=replacements)
        replacements = {**{name: name for name in others.values_list("name", flat=True)}, **replacements}
    _rename_in_logs(study, replacements)
    for worker, stand_in, payee, unnamed in stand_ins:
        _move(study, worker, stand_in, payee)
        for model in DELETED_MODELS:
            removed[model._meta.model_name or ""] += _rows(model, study, worker).delete()[0]
        if not _is_in_another_study(study, worker):
            worker.delete()
        removed["judgment"] += _erase_answers(study, stand_in, way, unnamed=unnamed, texts=texts)
    person_erased.send(Study, study=study, replacements=replacements)
    return removed, replacements


def keep_erasure(*, study: Study, row: Mapping[str, Any]) -> Erasure:
    """Append a row to the chain of erasures. A row from a list keeps its original time."""
    # lock the first row, since the chain grows by one row at a time
    Erasure.objects.select_for_update().order_by("pk").first()
    last = Erasure.objects.order_by("-pk").first()
    at = datetime.fromisoformat(row["at"]) if "at" in row else timezone.now()
    erasure = Erasure(
        study=study,
        mark=row["mark"],
        way=row["way"],
        content=row["content"],
        previous=last.digest if last else "",
        at=at,
    )
    erasure.digest = digest_of(erasure)
    erasure.save()
    return erasure


def digest_of(row: Erasure) -> str:
    content = [row.study.slug, row.mark, row.way, row.content, row.previous, row.at.isoformat()]
    return hashlib.sha256(canonical_json(content)).hexdigest()


def _work_of(worker: Worker) -> Q:
    return Q(worker=worker) | Q(session__worker=worker)


def _judgments(study: Study, worker: Worker) -> Any:
    return Judgment.objects.of_study(study).filter(assignment__worker=worker)


def _reports(study: Study, worker: Worker) -> QuerySet[ProblemReport]:
    return ProblemReport.objects.filter(assignment__study=study, assignment__worker=worker)


def _appeals(study: Study, worker: Worker) -> QuerySet[AppealNote]:
    return AppealNote.objects.filter(assignment__study=study, assignment__worker=worker)


def _rows(model: type[Model], study: Study, worker: Worker) -> QuerySet[Any]:
    rows = model._default_manager.filter(worker=worker)
    if model is RawId:
        of_study = Q(session__study=study)
        return rows.filter(of_study if _is_in_another_study(study, worker) else of_study | Q(session=None))
    if model is Qualification:
        return rows.none() if _is_in_another_study(study, worker) else rows
    if model is WrittenCaption:
        here = Q(judgment__assignment__study=study)
        return rows.filter(here if _is_in_another_study(study, worker) else here | Q(judgment=None))
    if model is CrowdCall:
        return CrowdCall.objects.filter(_work_of(worker), study=study)
    return rows.filter(study=study)


def _is_in_another_study(study: Study, worker: Worker) -> bool:
    """Return whether the person takes part in another study. There they keep their name."""
    others = (Participation, CrowdSession, Assignment, CrowdCall)
    return any(model._default_manager.filter(worker=worker).exclude(study=study).exists() for model in others)


def _end_work(study: Study, worker: Worker) -> None:
    """Return the HITs that the person holds, and end running sessions. Drafts are deleted later, with the texts."""
    work = Assignment.objects.filter(study=study, worker=worker)
    release_slots(work, Assignment.State.RETURNED)
    working = CrowdSession.objects.filter(study=study, worker=worker, status=CrowdSession.Status.WORKING)
    working.update(status=CrowdSession.Status.RETURNED)
    seats = Seat.objects.filter(study=study)
    seats.filter(Q(assignment__worker=worker) | Q(session__worker=worker)).delete()


def _texts_only(study: Study, judgments: Any) -> Any:
    """Return the judgments if their answers are texts that the person wrote, else none."""
    return judgments if installed_kind_of(study).writes_captions else judgments.none()


def _unconfirmed_work(study: Study, worker: Worker) -> QuerySet[Assignment]:
    """Return the assignments that the crowd has not confirmed. They stay excluded permanently."""
    work = Assignment.objects.filter(study=study, worker=worker)
    if not study.platform or Ability.LIST not in backend_of(study).can:
        return work.none()
    return work.filter(session__confirmed=False)


def _erase_answers(study: Study, worker: Worker, way: str, *, unnamed: Collection[UUID], texts: bool) -> int:
    """Delete or redact the judgments and related texts. Return the number of deleted judgments."""
    work = Assignment.objects.filter(study=study, worker=worker)
    everything = way == Way.ALL or (texts and installed_kind_of(study).writes_captions)
    erased_work = work if everything else work.filter(pk__in=unnamed)
    ended = list(erased_work.select_for_update().order_by("pk").values_list("pk", "hit_id", "state"))
    keys = [pk for pk, _hit, _state in ended]
    freed = Counter(hit for _pk, hit, state in ended if state in LIVE_STATES and hit is not None)
    judgments = Judgment.objects.filter(assignment__in=keys)
    removed = judgments.count()
    lock_for_settling(study=study, hits=list(freed))
    judgments.erase()
    returned = Assignment.State.RETURNED
    Assignment.objects.filter(pk__in=keys).update(
        state=returned, exclusion=None, before_exclusion="", submitted_at=None
    )
    if study.source == Study.Source.DESIGNED:
        reopen_slots(study=study, freed=freed)
    recount(study)
    _judgments(study, worker).redact(made_at=TruncMinute("made_at", tzinfo=UTC))
    _reports(study, worker).update(created_at=TruncMinute("created_at", tzinfo=UTC))
    if texts:
        _redact_texts(study, worker)
    pages = work.only("pk", "accepted_at", "submitted_at").order_by("accepted_at", "pk")
    for number, assignment in enumerate(pages):
        # keep the order of pages, by which an arena can be drawn again
        offset = timedelta(microseconds=number)
        accepted, submitted = _cut_to_minute(assignment.accepted_at), _cut_to_minute(assignment.submitted_at)
        Assignment.objects.filter(pk=assignment.pk).update(
            accepted_at=accepted and accepted + offset, submitted_at=submitted and submitted + offset
        )
    work.update(answers={}, answered_at=None, expires_at=None, gaps=[], reason="", external_id="")
    return removed


def _cut_to_minute(moment: datetime | None) -> datetime | None:
    """Truncate a time to the minute, as releases do. A more exact time could be matched with the crowd's own list."""
    return moment and moment.replace(second=0, microsecond=0)


def _redact_texts(study: Study, worker: Worker) -> None:
    kind, judgments = installed_kind_of(study), _judgments(study, worker)
    for judgment in judgments.only("pk", "answer").iterator():
        values: dict[str, Any] = {"comment": "", "signals": {}}
        if judgment.answer is not None:
            values["answer"] = kind.without_texts(judgment.answer)
        Judgment.objects.filter(pk=judgment.pk).redact(**values)
    _reports(study, worker).update(comment="")
    _appeals(study, worker).delete()


def _forget_quotes(study: Study, worker: Worker) -> None:
    """Remove the person's texts from detectors' evidence, including evidence about other people."""
    texts = {
        text
        for pair in _judgments(study, worker).values_list("answer", "comment")
        for text in _texts_within(list(pair))
    }
    if not texts:
        return
    for model in (Case, Exclusion):
        for row in model._default_manager.filter(study=study, evidence__numbers__texts__isnull=False):
            quoted = row.evidence["numbers"]["texts"]
            redacted = [
                {key: ERASED_TEXT if value in texts else value for key, value in entry.items()}
                for entry in quoted
            ]
            if redacted != quoted:
                row.evidence["numbers"]["texts"] = redacted
                row.save(update_fields=["evidence"])


def _texts_within(answer: Any) -> Iterator[str]:
    if isinstance(answer, str):
        if answer:
            yield answer
    elif isinstance(answer, dict | list):
        for part in answer.values() if isinstance(answer, dict) else answer:
            yield from _texts_within(part)


def _identifying_words(study: Study, worker: Worker) -> list[str]:
    """Return the words that identify the person, except the name."""
    answers = identifying_word_wanted.send(Study, study=study, worker=worker)
    identifying: set[str] = {worker.shown_name, *(word for _receiver, word in answers if word)} - {
        worker.name
    }
    identifying |= set(RawId.objects.filter(worker=worker).values_list("value", flat=True))
    identifying |= set(
        Participation.objects.filter(study=study, worker=worker).values_list("completion_code", flat=True)
    )
    return sorted(identifying - {""})


def _stand_ins(study: Study, worker: Worker) -> tuple[Worker, Worker]:
    """Create the substitute workers of a person: one for answers, and one for rows about money.

    If there are no rows about money, return the first one twice.
    """

    def make(start: str) -> Worker:
        return Worker.objects.create(
            name=f"{start}-{random_code(LETTERS, 10)}",
            source=worker.source,
            study=worker.study,
            platform=worker.platform,
            created_at=study.opened_at or study.created_at,
            erased=True,
        )

    stand_in = make(ERASED)
    paid = any(_rows(model, study, worker).exists() for model in PAYMENT_MODELS)
    return stand_in, make(PAID) if paid else stand_in


def _move(study: Study, worker: Worker, stand_in: Worker, payee: Worker) -> None:
    work = Assignment.objects.filter(study=study, worker=worker)
    CrowdCall.objects.filter(_work_of(worker), study=study).exclude(worker=None).update(worker=payee)
    of_sessions = CrowdSession.objects.filter(study=study, worker=worker)
    for call in CrowdCall.objects.filter(Q(worker=payee) | Q(session__in=of_sessions), study=study):
        call.payload = {
            key: value
            for key, value in call.payload.items()
            if key == "qualification" or not isinstance(value, str | list | dict)
        }
        # Keep the number of the bonus's list, so that the bonus does not appear in another one.
        call.answer = {"list": call.answer["list"]} if "list" in call.answer else {}
        call.why = ""
        call.save(update_fields=["payload", "answer", "why"])
    # the ledger keeps the session, but no longer shows for which answers it paid
    work.update(session=None)
    of_sessions.update(worker=payee, code="", receipt="", feedback="")
    for part in Participation.objects.filter(study=study, worker=worker):
        part.joined_at = part.joined_at.replace(hour=0, minute=0, second=0, microsecond=0)
        if part.consented_at:
            part.consented_at = part.consented_at.replace(hour=0, minute=0, second=0, microsecond=0)
        part.completion_code, part.cursor = "", 0
        part.save(update_fields=["joined_at", "consented_at", "completion_code", "cursor"])
    for model in MOVED_MODELS:
        _rows(model, study, worker).update(worker=stand_in)
    invitations = Invitation.objects.filter(study=study, worker=worker)
    invitations.update(worker=None, note="", used_at=TruncDay("used_at", tzinfo=UTC))


def _entries(study: Study, replacements: Mapping[str, str]) -> list[StudyEvent]:
    replace_words = replacer(replacements)
    return [
        event
        for event in StudyEvent.objects.filter(study=study).iterator()
        if replace_words([event.words, event.why, event.details]) != [event.words, event.why, event.details]
    ]


def _rename_in_logs(study: Study, replacements: Mapping[str, str]) -> None:
    replace_words = replacer(replacements)
    for event in _entries(study, replacements):
        StudyEvent.objects.filter(pk=event.pk).redact(
            words=replace_words(event.words)[:1000],
            why=replace_words(event.why)[:500],
            details=replace_words(event.details),
        )
    for model, fields in TEXT_FIELDS.items():  # also in texts about other people that name this person
        for row in model._default_manager.filter(study=study).iterator():
            before = [getattr(row, name) for name in fields]
            after = replace_words(before)
            if after != before:
                for name, value in zip(fields, after, strict=True):
                    setattr(row, name, value)
                row.save(update_fields=fields)
    for job in Job.objects.filter(args__study=study.slug).iterator():
        before = [job.args, job.result, job.words, job.error]
        after = replace_words(before)
        if after != before:
            Job.objects.filter(pk=job.pk).update(
                args={**after[0], "study": study.slug}, result=after[1], words=after[2][:200], error=after[3]
            )
    CachedFigures.objects.filter(study=study).delete()

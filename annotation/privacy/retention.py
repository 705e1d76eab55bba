"""Identities that end: ``retention.identities_days`` after a study's closing, or when a participant asks for it.

The promise is in the frozen design, so that nobody changes it afterwards; a reopened study counts from its last
closing. Answers stay, texts too. Unpaid people stay known until they are paid. The list of erasures, without names,
repeats them after a copy was restored. The operations on personal data are here too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from rest_framework import serializers

from annotation.crowds.people import forget_raw_ids
from annotation.models import Assignment, Case, Erasure, ErasureRequest, Participation, QualityRule, Worker
from annotation.privacy.consent import change_consent
from annotation.privacy.erasing import (
    Erased,
    cannot_be_erased_now,
    end_identities,
    erase_person,
    erasure_of,
    find_person,
    keep_erasure,
    mark_of,
    people_of,
    why_not_erasable,
)
from annotation.quality.flags import unpause_worker
from annotation.work.claims import release_slots
from annotation.work.joining import find_worker, require_participation
from common.errors import QuorumError, WrongState
from common.parameters import Parameters, Reason
from common.rows import batched
from judgments.access.roles import Right, note_event
from judgments.jobs import enqueue
from judgments.models import Job, Study
from judgments.operations import Outcome, operation
from judgments.studies.generation import Progress, no_progress
from judgments.studies.studies import design_of

JOB = "end_retention"
REMINDED = timedelta(days=14)  # before the end
BATCH_SIZE = 50  # people in a transaction, in which nobody else writes to SQLite


@dataclass(frozen=True, slots=True)
class Due:
    """The end of identities.

    Attributes:
        days: the design's promise; 0 for none.
        at: the time; None while the study is not closed.
        people: how many are known now.
        waiting: how many of them must be paid or settled first.
    """

    days: int
    at: datetime | None
    people: int
    waiting: int

    @property
    def soon(self) -> bool:
        return self.at is not None and bool(self.people) and self.at - REMINDED <= timezone.now()

    @property
    def over(self) -> bool:
        return self.at is not None and bool(self.people) and self.at <= timezone.now()


def retention_of(study: Study) -> Due:
    days = design_of(study).retention.identities_days
    closed = study.closed_at if days and study.state == Study.State.CLOSED else None
    return Due(
        days=days,
        at=closed and closed + timedelta(days=days),
        people=known_people(study).count(),
        waiting=known_people(study).filter(cannot_be_erased_now(study)).count() if days else 0,
    )


def known_people(study: Study) -> QuerySet[Worker]:
    """Return the people of a study with a name or pseudonym of their own."""
    people = people_of(study).filter(erased=False, anonymous=False)
    return people.exclude(source=Worker.Source.REHEARSAL)


def end_retention(*, study: Study, progress: Progress = no_progress) -> int:
    """Remove people's identities once the promised time is over. Return their number. It may be interrupted."""
    if not retention_of(study).over:
        return 0
    # a name that is part of another one is renamed in the log after it
    people = list(
        known_people(study).exclude(cannot_be_erased_now(study)).order_by(Length("name").desc(), "pk")
    )
    done = 0
    for batch in batched(people, BATCH_SIZE):
        done += end_identities(study=study, workers=batch)
        progress(done / len(people), f"{done:,} of {len(people):,} people")
    forget_raw_ids(study=study)  # also of people who never came
    if done:
        message = f"The promised time is over: {done} people stand under random names now."
        note_event(study=study, what="retention-ended", sentence=message, people=done)
    return done


def erase_expired_identities() -> None:
    promised = Study.objects.filter(
        state=Study.State.CLOSED, design__retention__identities_days__gt=0, closed_at__isnull=False
    )
    for study in promised:
        due = retention_of(study)
        if not due.over or due.waiting == due.people:
            continue
        if not Job.objects.under_way().filter(kind=JOB, args__study=study.slug).exists():
            enqueue(kind=JOB, args={"study": study.slug})


NOT_OFFERED, ON_REQUEST, AT_ONCE = "no", "on-request", "at-once"


def leave(*, study: Study, worker: Worker) -> Erased | ErasureRequest:
    """Let a participant leave: erase them at once, or store their request. Asking twice changes nothing.

    If they are still to be paid, an erasure that the design offers at once becomes a request.
    """
    offered = design_of(study).erasure
    if offered.offered == NOT_OFFERED or not worker.is_person:
        raise WrongState(_("Nothing was changed: please write to the researchers of this study."))
    require_participation(study=study, worker=worker)
    if offered.offered == AT_ONCE and not why_not_erasable(study, worker):
        return erase_person(study=study, worker=worker, way=offered.way, asked_at=timezone.now())
    return _ask(study, worker)


@transaction.atomic
def _ask(study: Study, worker: Worker) -> ErasureRequest:
    request, created = ErasureRequest.objects.get_or_create(study=study, worker=worker)
    if not created and request.state == ErasureRequest.State.WAITING:
        return request
    if not created:
        request.state, request.answer, request.decided_at = ErasureRequest.State.WAITING, "", None
        request.asked_at = timezone.now()
        request.save()
    release_slots(
        Assignment.objects.filter(study=study, worker=worker, session=None), Assignment.State.RETURNED
    )
    Participation.objects.filter(study=study, worker=worker, standing=Participation.Standing.ACTIVE).update(
        standing=Participation.Standing.PAUSED
    )
    note_event(study=study, what="erasure-asked", sentence="A participant asks to be erased.")
    return request


def request_of(study: Study, worker: Worker) -> ErasureRequest | None:
    return ErasureRequest.objects.filter(study=study, worker=worker).first()


NAMES = ("mark", "way", "content", "at", "previous", "digest")


@dataclass(frozen=True, slots=True)
class Replayed:
    """Numbers of repeated, added and known erasures; and studies that are not here.

    ``waiting`` has the reasons for people who must be paid first: repeat the call afterwards.
    """

    again: int
    entered: int
    known: int
    unknown: list[str]
    waiting: list[str] = field(default_factory=list)


def erasure_list() -> Iterator[dict[str, Any]]:
    """Yield every erasure, oldest first, as ``replay`` reads it; none names a person."""
    for row in Erasure.objects.select_related("study").order_by("pk"):
        yield {
            "study": row.study.slug,
            **{name: getattr(row, name) for name in NAMES},
            "at": row.at.isoformat(),
        }


def restored_after_erasure() -> Iterator[tuple[Erasure, Worker]]:
    """Yield people who take part in a study that they were erased from, and did before: a copy was restored.

    Somebody who came later, perhaps under the same name, is another person, or wants to take part again.
    """
    studies = Study.objects.filter(pk__in=Erasure.objects.values("study"))
    for study in studies:
        erased = {row.mark: row for row in Erasure.objects.filter(study=study).select_related("study")}
        for worker in people_of(study).iterator():
            row = erased.get(mark_of(worker))
            if row is not None and worker.created_at <= row.at:
                yield row, worker


def replay(lines: Path) -> Replayed:
    """Repeat the erasures of a list, each in its own transaction; a repeated call goes on.

    Raises:
        QuorumError: the file is no such list; nothing is changed.
    """
    rows = _read(lines)
    again = entered = known = 0
    unknown: list[str] = []
    waiting: list[str] = []
    by_mark: dict[int, dict[str, list[int]]] = {}
    for row in rows:
        study = Study.objects.filter(slug=row["study"]).first()
        if study is None:
            unknown.append(row["study"])
            continue
        at = datetime.fromisoformat(row["at"])
        stored = Erasure.objects.filter(study=study, mark=row["mark"], at=at).exists()
        if study.pk not in by_mark:
            marks = by_mark.setdefault(study.pk, {})
            for worker in people_of(study):
                marks.setdefault(mark_of(worker), []).append(worker.pk)
        keys = by_mark[study.pk].get(row["mark"], ())
        people = list(people_of(study).filter(pk__in=keys, created_at__lte=at)) if keys else []
        try:
            for person in people:
                erase_person(
                    study=study,
                    worker=person,
                    way=row["way"],
                    withdraw=row["content"].get("withdrawn", False),
                    listed_row=None if stored else row,
                    texts=not row["content"].get("retention", False),
                )
        except WrongState as error:
            waiting.append(f"{study.slug}: {error}")
            continue
        again += bool(people)
        if not people and not stored:
            keep_erasure(study=study, row=row)
            entered += 1
        known += stored and not people
    return Replayed(again, entered, known, unknown, waiting)


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError):
        rows = None
    if rows is None or not all(isinstance(row, dict) and {"study", *NAMES} <= row.keys() for row in rows):
        raise QuorumError(
            f"{path} is no list of erasures; expected lines of `erase_person --list`. Nothing was changed."
        )
    return rows


LONGEST_NAME = 200
WORKER = "Name or pseudonym, or the crowd’s own id."


class EraseRequest(Parameters):
    """The person, and what goes with them."""

    worker = serializers.CharField(max_length=LONGEST_NAME, label="Participant", help_text=WORKER)
    way = serializers.ChoiceField(
        choices=Erasure.Way.choices,
        required=False,
        initial=Erasure.Way.IDENTITY.value,
        label="What is erased",
        help_text="Only who they are (identity, the default), or their judgments as well (all).",
    )
    withdraw = serializers.BooleanField(
        default=False,
        label="Remove the files of releases from this server",
        help_text="Also remove the files of releases from this server; their versions and hashes stay.",
    )
    confirm = serializers.CharField(
        max_length=LONGEST_NAME,
        label="Type the name again",
        help_text="The same name again: nothing can be brought back.",
    )


@operation("erase-person", "Erase a person", parameters=EraseRequest, right=Right.OWN, scope="workers")
def erase(
    *,
    study: Study,
    by: User | None,
    worker: str,
    confirm: str,
    way: str = Erasure.Way.IDENTITY,
    withdraw: bool = False,
) -> Outcome:
    """Remove a person's identity from a study, for good. Their judgments stay without a name, or go as well."""
    if confirm.strip() != worker.strip():
        raise WrongState(pgettext("staff", "Nothing was erased: the name typed again is another one."))
    person = find_person(study, worker)
    if person is None:
        before = erasure_of(study, worker)
        assert before is not None
        message = pgettext("staff", "Nothing was changed: the person was erased already, on %(day)s.")
        return Outcome(
            message % {"day": date_format(timezone.localtime(before.at))}, Erased(before, already=True)
        )
    request = request_of(study, person)
    done = erase_person(
        study=study,
        worker=person,
        way=way,
        withdraw=withdraw,
        by=by,
        asked_at=request.asked_at if request else None,
    )
    message = pgettext(
        "staff",
        "The person is erased. Receipt, shown once: %(receipt)s. Give it to the person: it proves which rows of "
        "published releases were theirs.",
    )
    return Outcome(message % {"receipt": done.receipt}, done)


class DeclineRequest(Reason):
    """Whose request is declined."""

    worker = serializers.CharField(max_length=LONGEST_NAME, help_text=WORKER)


@operation(
    "decline-erasure",
    "Decline a request to be erased",
    parameters=DeclineRequest,
    right=Right.OWN,
    scope="workers",
)
@transaction.atomic
def decline_request(*, study: Study, by: User | None, worker: str, why: str) -> Outcome:
    """Decline a participant's request. They read the reason on their own page."""
    person = find_worker(study, worker)
    waiting = ErasureRequest.objects.filter(study=study, worker=person, state=ErasureRequest.State.WAITING)
    if not waiting.update(state=ErasureRequest.State.DECLINED, answer=why, decided_at=timezone.now()):
        raise WrongState(
            pgettext("staff", "Nothing was changed: %(name)s has no request that waits.")
            % {"name": person.name}
        )
    flags = Case.objects.filter(study=study, worker=person, state=Case.State.OPEN)
    if not flags.filter(action=QualityRule.Action.PAUSE).exists():  # another pause is not ours to end
        unpause_worker(study=study, worker=person)
    note_event(
        study=study, what="erasure-declined", sentence="A request to be erased was declined.", why=why, by=by
    )
    return Outcome(pgettext("staff", "The request is declined; the person reads why."))


class ConsentRequest(Reason):
    """The new text, in full, and in other languages of the participants' pages."""

    consent = serializers.CharField(
        max_length=20_000,
        trim_whitespace=False,
        style={"base_template": "textarea.html"},
        label="Consent",
        help_text="The new text; it may use Markdown.",
    )
    translations = serializers.DictField(
        child=serializers.CharField(max_length=20_000, allow_blank=True, trim_whitespace=False),
        required=False,
        help_text="By language; a language that is left out shows the text above.",
    )


@operation("change-consent", "Change the consent text", parameters=ConsentRequest)
def change(
    *, study: Study, by: User | None, consent: str, why: str, translations: Mapping[str, str] | None = None
) -> Outcome:
    """Make a new version of the consent text. Participants agree to it before they begin another page of work."""
    version = change_consent(study=study, text=consent, translations=translations, why=why, by=by)
    if version is None:
        return Outcome(pgettext("staff", "The text is the same as before; nothing was changed."))
    message = pgettext("staff", "The consent text has version %(n)s. Who comes back is asked again.")
    return Outcome(message % {"n": version.number}, version)

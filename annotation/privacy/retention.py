"""Remove identities ``retention.identities_days`` after a study was closed.

The promise is part of the frozen design, so nobody can change it later. For a reopened study the time counts from
its last closing. Answers are kept, including texts. Unpaid people remain identified until they are paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from annotation.crowds.raw_ids import forget_raw_ids
from annotation.models import Worker
from annotation.privacy.erasing import end_identities
from annotation.privacy.people import cannot_be_erased_now, people_of
from common.rows.batches import batched
from judgments.access.study_log import note_event
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress

END_RETENTION_JOB = "end_retention"  # the kind of the job
REMINDER_PERIOD = timedelta(days=14)  # a reminder is shown this long before the removal
BATCH_SIZE = 50  # number of people in a transaction, during which nobody else can write to SQLite


@dataclass(frozen=True, slots=True)
class RetentionEnd:
    """When the identities of a study's participants will be removed.

    Attributes:
        days: the number of days in the design; 0 if identities are never removed.
        removal_time: the time of removal; None if there is none, or while the study is not closed.
        people_count: number of people who are identified now.
        unsettled_count: how many of them cannot be erased yet, since something must be paid or decided first.
    """

    days: int
    removal_time: datetime | None
    people_count: int
    unsettled_count: int

    @property
    def is_near(self) -> bool:
        """Whether identities are to be removed soon, or are overdue."""
        return self._is_due_by(timezone.now() + REMINDER_PERIOD)

    @property
    def is_over(self) -> bool:
        """Whether identities are to be removed now."""
        return self._is_due_by(timezone.now())

    def _is_due_by(self, moment: datetime) -> bool:
        return self.removal_time is not None and bool(self.people_count) and self.removal_time <= moment


def retention_of(study: Study) -> RetentionEnd:
    """Return when the identities of a study's people will be removed, counted from its last closing."""
    days = design_of(study).retention.identities_days
    removal_time = None
    if days and study.state == Study.State.CLOSED and study.closed_at is not None:
        removal_time = study.closed_at + timedelta(days=days)
    return RetentionEnd(
        days=days,
        removal_time=removal_time,
        people_count=known_people(study).count(),
        unsettled_count=known_people(study).filter(cannot_be_erased_now(study)).count() if days else 0,
    )


def known_people(study: Study) -> QuerySet[Worker]:
    """Return the participants of a study who still have a name or pseudonym of their own."""
    people = people_of(study).filter(erased=False, anonymous=False)
    return people.exclude(source=Worker.Source.REHEARSAL)


def end_identities_of_study(*, study: Study, progress: Progress = no_progress) -> int:
    """Remove people's identities if the promised time is over. Return the number of these people.

    An interrupted call can be repeated.
    """
    if not retention_of(study).is_over:
        return 0
    # the longest names first: if a name is part of another one, the log must lose the longer one before
    people = list(
        known_people(study).exclude(cannot_be_erased_now(study)).order_by(Length("name").desc(), "pk")
    )
    ended_count = 0
    for batch in batched(people, BATCH_SIZE):
        ended_count += end_identities(study=study, workers=batch)
        progress(ended_count / len(people), f"{ended_count:,} of {len(people):,} people")
    forget_raw_ids(study=study)  # also of people whom the crowd named, but who never came
    if ended_count:
        message = f"The promised time is over: {ended_count} people stand under random names now."
        note_event(study=study, what="retention-ended", sentence=message, people=ended_count)
    return ended_count


def enqueue_expired_retentions() -> None:
    """Queue a job for each closed study whose promised time is over and that has people who can be erased now."""
    studies = Study.objects.filter(
        state=Study.State.CLOSED, design__retention__identities_days__gt=0, closed_at__isnull=False
    )
    for study in studies:
        retention = retention_of(study)
        if not retention.is_over or retention.unsettled_count == retention.people_count:
            continue
        if not Job.objects.under_way().filter(kind=END_RETENTION_JOB, args__study=study.slug).exists():
            enqueue(kind=END_RETENTION_JOB, args={"study": study.slug})

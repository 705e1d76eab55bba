"""When studies are compared with their crowds: in their turn, and soon after a crowd says that something happened."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.utils import timezone

from annotation.models import CrowdCall, Publication
from judgments.jobs import enqueue
from judgments.models import Job, Study

SYNC = "sync_crowd"  # the kind of the job
SOONEST = timedelta(minutes=1)  # between two that a crowd's word starts
QUIET = 12  # times the usual pause, where a study is closed and only somebody's decision is waited for
UNDER_WAY = (Job.State.QUEUED, Job.State.RUNNING)


def ask_to_sync(*, study: Study, by: User | None = None, soonest: timedelta | None = None) -> Job | None:
    """A job that compares the study with its crowd; None where one waits already, or the last one began within
    ``soonest``."""
    jobs = Job.objects.filter(kind=SYNC, args__study=study.slug)
    if jobs.filter(state=Job.State.QUEUED).exists():
        return None
    if soonest is not None and jobs.filter(created_at__gt=timezone.now() - soonest).exists():
        return None
    return enqueue(kind=SYNC, args={"study": study.slug}, user=by)


def sync_what_is_due() -> list[str]:
    """Ask for a comparison of every study that has something up at a crowd, or calls to carry out, and was not
    compared for ``CROWD_SYNC_SECONDS``; the slugs. Harmless at any time."""
    every = timedelta(seconds=settings.CROWD_SYNC_SECONDS)
    up = Publication.objects.filter(study=OuterRef("pk"), state__in=["planned", "published", "expired"])
    calls = CrowdCall.objects.filter(study=OuterRef("pk"), state__in=["waiting", "started"])
    asked = []
    for study in (
        Study.objects.exclude(place__in=["", "local"]).filter(Exists(up) | Exists(calls)).order_by("pk")
    ):
        pause = every if study.state == Study.State.OPEN else every * QUIET
        if CrowdCall.objects.filter(study=study, state__in=["waiting", "started"]).exists():
            pause = every
        jobs = Job.objects.filter(kind=SYNC, args__study=study.slug)
        if jobs.filter(state__in=UNDER_WAY).exists():
            continue
        if ask_to_sync(study=study, soonest=pause) is not None:
            asked.append(study.slug)
    return asked


def note_hint(*, place: str, external_id: str) -> bool:
    """A crowd said that something happened to a publication: it is looked at soon. Whether it is one of ours."""
    publication = (
        Publication.objects.filter(place=place, external_id=external_id).select_related("study").first()
    )
    if publication is None:
        return False
    Publication.objects.filter(pk=publication.pk).update(hinted_at=timezone.now())
    ask_to_sync(study=publication.study, soonest=SOONEST)
    return True

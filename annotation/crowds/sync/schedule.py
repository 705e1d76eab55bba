"""Decide when studies are synchronised with their crowds, and queue the jobs."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from annotation.crowds import BACKENDS, Ability, UnavailableBackend, backend_of
from annotation.crowds.sync.decisions import deletable_publications
from annotation.models import CrowdCall, Publication
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study
from judgments.operations import FollowUp

SYNC = "sync_crowd"  # the job's kind
MIN_HINT_INTERVAL = timedelta(minutes=1)  # time between two syncs started by hints
CLOSED_INTERVAL_FACTOR = 12  # factor of the usual interval in a closed study that only waits for decisions


def ask_to_sync(*, study: Study, by: User | None = None, min_interval: timedelta | None = None) -> Job | None:
    """Queue a sync. Return None if one is queued already, or the last one began within ``min_interval``."""
    jobs = Job.objects.filter(kind=SYNC, args__study=study.slug)
    if jobs.filter(state=Job.State.QUEUED).exists():
        return None
    if min_interval is not None and jobs.filter(created_at__gt=timezone.now() - min_interval).exists():
        return None
    return enqueue(kind=SYNC, args={"study": study.slug}, user=by)


def sync_if_calls_wait(study: Study, by: User | None) -> None:
    if CrowdCall.objects.filter(study=study, state=CrowdCall.State.WAITING).exists():
        ask_to_sync(study=study, by=by)


# The follow-up of operations that write many messages: nobody waits for them, and a queued sync sends them.
SYNC_LATER = FollowUp(carry_out=lambda study: "", enqueue=sync_if_calls_wait)


def sync_what_is_due() -> list[str]:
    """Queue a sync of every study that is due for one (``CROWD_SYNC_SECONDS``); return their slugs."""
    usual_interval = timedelta(seconds=settings.CROWD_SYNC_SECONDS)
    unfinished = Publication.objects.filter(
        study=OuterRef("pk"), state__in=["planned", "published", "expired"]
    )
    calls = CrowdCall.objects.filter(study=OuterRef("pk"), state__in=["waiting", "started"])
    studies = Study.objects.exclude(platform__in=["", "local"]).annotate(is_busy=Exists(calls))
    deleting_crowds = [backend.name for backend in BACKENDS if Ability.DELETE in backend.can]
    has_deletable = Q(
        Exists(deletable_publications().filter(study=OuterRef("pk"))),
        design__crowd__backend__in=deleting_crowds,
    )
    slugs = []
    for study in studies.filter(Exists(unfinished) | Q(is_busy=True) | has_deletable).order_by("pk"):
        if isinstance(backend_of(study), UnavailableBackend):
            continue
        if Job.objects.under_way().filter(kind=SYNC, args__study=study.slug).exists():
            continue
        only_waits = study.state != Study.State.OPEN and not study.is_busy
        interval = usual_interval * (CLOSED_INTERVAL_FACTOR if only_waits else 1)
        if ask_to_sync(study=study, min_interval=interval) is not None:
            slugs.append(study.slug)
    return slugs


def record_notification(*, platform: str, external_id: str) -> bool:
    """Record that an external HIT may have changed. Return False if it is unknown."""
    rows = Publication.objects.filter(platform=platform, external_id=external_id)
    publication = rows.select_related("study").first()
    if publication is None:
        return False
    rows.update(hinted_at=timezone.now())
    ask_to_sync(study=publication.study, min_interval=MIN_HINT_INTERVAL)
    return True

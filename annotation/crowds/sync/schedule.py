"""Decide when studies are synchronised with their crowds, and queue the jobs that do it."""

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

SYNC = "sync_crowd"  # the kind of the jobs
MIN_NOTIFICATION_INTERVAL = timedelta(minutes=1)  # minimum time between two syncs that notifications start
# a closed study that only waits for decisions is synchronised this much less often
CLOSED_INTERVAL_FACTOR = 12


def queue_sync(*, study: Study, by: User | None = None, min_interval: timedelta | None = None) -> Job | None:
    """Queue a sync of the study.

    Return its job; None if a sync is queued already, or if the last one was queued less than ``min_interval`` ago.
    """
    jobs = Job.objects.filter(kind=SYNC, args__study=study.slug)
    if jobs.filter(state=Job.State.QUEUED).exists():
        return None
    if min_interval is not None and jobs.filter(created_at__gt=timezone.now() - min_interval).exists():
        return None
    return enqueue(kind=SYNC, args={"study": study.slug}, user=by)


def queue_sync_if_calls_wait(study: Study, by: User | None) -> None:
    if CrowdCall.objects.filter(study=study, state=CrowdCall.State.WAITING).exists():
        queue_sync(study=study, by=by)


def _do_nothing_now(study: Study) -> str:
    return ""  # no message about what was done


# The follow-up of an operation that only writes outbox messages. A command does nothing more; a page queues the sync
# that sends them.
SYNC_LATER = FollowUp(carry_out=_do_nothing_now, enqueue=queue_sync_if_calls_wait)


def queue_due_syncs() -> list[str]:
    """Queue a sync of every study whose last sync is at least ``CROWD_SYNC_SECONDS`` ago; return their slugs.

    Only studies with unfinished publications, with messages to send, or with publications to delete need a sync. If a
    study is not open and has no messages to send, the interval is ``CLOSED_INTERVAL_FACTOR`` times as long. Studies
    whose crowd is off, or whose sync is under way, are left out.
    """
    usual_interval = timedelta(seconds=settings.CROWD_SYNC_SECONDS)
    unfinished_publications = Publication.objects.filter(
        study=OuterRef("pk"), state__in=["planned", "published", "expired"]
    )
    calls = CrowdCall.objects.filter(study=OuterRef("pk"), state__in=["waiting", "started"])
    studies_at_crowds = Study.objects.exclude(platform__in=["", "local"]).annotate(is_busy=Exists(calls))
    deleting_crowds = [backend.name for backend in BACKENDS if Ability.DELETE in backend.can]
    has_deletable_publication = Q(
        Exists(deletable_publications().filter(study=OuterRef("pk"))),
        design__crowd__backend__in=deleting_crowds,
    )
    slugs = []
    for study in studies_at_crowds.filter(
        Exists(unfinished_publications) | Q(is_busy=True) | has_deletable_publication
    ).order_by("pk"):
        if isinstance(backend_of(study), UnavailableBackend):
            continue
        if Job.objects.under_way().filter(kind=SYNC, args__study=study.slug).exists():
            continue
        only_waits = study.state != Study.State.OPEN and not study.is_busy
        interval = usual_interval * (CLOSED_INTERVAL_FACTOR if only_waits else 1)
        if queue_sync(study=study, min_interval=interval) is not None:
            slugs.append(study.slug)
    return slugs


def record_notification(*, platform: str, external_id: str) -> bool:
    """Record that an offer at a crowd (external HIT) may have changed, and queue a sync. Return False if unknown."""
    publications = Publication.objects.filter(platform=platform, external_id=external_id)
    publication = publications.select_related("study").first()
    if publication is None:
        return False
    publications.update(hinted_at=timezone.now())
    queue_sync(study=publication.study, min_interval=MIN_NOTIFICATION_INTERVAL)
    return True

"""The people of a study: find them, also if they were erased, and say who cannot be erased now."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.crowds.panel.payouts import unlisted_bonuses
from annotation.crowds.people import erasure_mark, pseudonym
from annotation.models import Assignment, CrowdCall, CrowdSession, Erasure, Participation, RawId, Worker
from annotation.privacy.personal_rows import PAID_PREFIX, work_of
from common.errors import ObjectNotFound
from judgments.models import Study
from judgments.studies.designs import design_of


def people_of(study: Study) -> QuerySet[Worker]:
    """Return the participants of a study. The query uses subqueries, since joins would multiply the rows."""
    querysets = (
        model._default_manager.filter(study=study) for model in (Participation, CrowdSession, Assignment)
    )
    return Worker.objects.filter(_is_in_any(rows.values("worker") for rows in querysets))


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


def erasure_of(study: Study, name: str) -> Erasure | None:
    """Return the erasure of the person with this name, pseudonym or crowd id; None if there is none."""
    marks = [
        erasure_mark(source, platform, identity)
        for source, platform, identity in _possible_identities(study, name.strip())
    ]
    return Erasure.objects.filter(study=study, mark__in=marks).first()


def _possible_identities(study: Study, name: str) -> list[tuple[str, str, str]]:
    """Return the source, platform and name of each worker to whom ``name`` may have belonged."""
    crowd, platform = Worker.Source.CROWD, study.platform
    return [
        (Worker.Source.LOCAL, "", name),
        (Worker.Source.IMPORTED, "", name),
        (crowd, platform, name),
        (crowd, platform, pseudonym(platform, name)),
    ]


def erasure_mark_of(worker: Worker) -> str:
    return erasure_mark(worker.source, worker.platform, worker.name)


def why_not_erasable(study: Study, worker: Worker) -> str:
    """Return why the person cannot be erased now; "" if they can."""
    if worker.erased and worker.name.startswith(PAID_PREFIX):
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
    if _calls_under_way(study).filter(work_of(worker)).exists():
        return _(
            "A request to the crowd about this participant is not done yet. Wait until it is done, or resolve it."
        )
    if _bonuses_to_list(study).filter(work_of(worker)).exists():
        return _(
            "A bonus for this participant is not in a list for the panel yet. Create the list first, so that the "
            "participant is paid."
        )
    return ""


def cannot_be_erased_now(study: Study) -> Q:
    """Return a filter for participants who cannot be erased now; see ``why_not_erasable``."""
    worker_ids: list[QuerySet[Any, Any]] = [rows.values("worker") for rows in _undecided_work(study)]
    for calls in (_calls_under_way(study), _bonuses_to_list(study)):
        worker_ids.append(calls.filter(worker__isnull=False).values("worker"))
        worker_ids.append(calls.filter(session__isnull=False).values("session__worker"))
    return _is_in_any(worker_ids)


def _undecided_work(study: Study) -> list[QuerySet[Any]]:
    sessions = CrowdSession.objects.filter(study=study, status=CrowdSession.Status.SUBMITTED)
    work = Assignment.objects.filter(study=study, state=Assignment.State.SUBMITTED)
    return [sessions, work] if design_of(study).crowd.reward_cents else [sessions]


def _calls_under_way(study: Study) -> QuerySet[CrowdCall]:
    return CrowdCall.objects.filter(study=study, state__in=["waiting", "started", "parked"])


def _bonuses_to_list(study: Study) -> QuerySet[CrowdCall]:
    """Return the unlisted bonuses that a list can still include, because the person's id is stored."""
    return unlisted_bonuses(study).filter(worker__in=RawId.objects.values("worker"))


def _is_in_any(worker_ids: Iterable[QuerySet[Any, Any]]) -> Q:
    return reduce(or_, (Q(pk__in=ids) for ids in worker_ids))

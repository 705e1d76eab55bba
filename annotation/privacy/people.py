"""Find the people of a study, even if they were erased, and determine who cannot be erased now.

A person must be paid before they are erased. ``why_not_erasable`` checks this for one person, ``cannot_be_erased_now``
for all people in a query.
"""

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
from annotation.privacy.personal_rows import PAID_PREFIX, about_worker
from common.errors import ObjectNotFound
from judgments.models import Study
from judgments.studies.designs import design_of


def people_of(study: Study) -> QuerySet[Worker]:
    """Return the participants of a study. The query uses subqueries, since joins would multiply the rows."""
    models = (Participation, CrowdSession, Assignment)
    id_queries = [model._default_manager.filter(study=study).values("worker") for model in models]
    return Worker.objects.filter(_is_in_any(id_queries))


def find_person(study: Study, name: str) -> Worker | None:
    """Return the participant of a study with this name, pseudonym or crowd id; None if they have been erased.

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
    """Return the source, platform and name of each worker to whom ``name`` may belong."""
    crowd = Worker.Source.CROWD
    platform = study.platform
    return [
        (Worker.Source.LOCAL, "", name),
        (Worker.Source.IMPORTED, "", name),
        (crowd, platform, name),
        (crowd, platform, pseudonym(platform, name)),
    ]


def erasure_mark_of(worker: Worker) -> str:
    """Return the keyed hash by which the worker is recognised after an erasure."""
    return erasure_mark(worker.source, worker.platform, worker.name)


def why_not_erasable(study: Study, worker: Worker) -> str:
    """Return why the person cannot be erased now; "" if they can."""
    if worker.erased and worker.name.startswith(PAID_PREFIX):
        return _("%(name)s is already erased. The name is kept only for payments.") % {"name": worker.name}
    # other imported workers are people, though they never came here
    if not worker.is_person and (worker.source == Worker.Source.REHEARSAL or worker.anonymous):
        return _("%(name)s is not a person. The answers are simulated, or were published without names.") % {
            "name": worker.name
        }
    if any(rows.filter(worker=worker).exists() for rows in _undecided_work(study)):
        return _(
            "Work of this participant is waiting for approval. Approve or reject it first, so that the participant is "
            "paid."
        )
    if _calls_under_way(study).filter(about_worker(worker)).exists():
        return _(
            "A request to the crowd about this participant is not done yet. Wait until it is done, or resolve it."
        )
    if _bonuses_to_list(study).filter(about_worker(worker)).exists():
        return _(
            "A bonus for this participant is not in a list for the panel yet. Create the list first, so that the "
            "participant is paid."
        )
    return ""


def cannot_be_erased_now(study: Study) -> Q:
    """Return a filter for participants who cannot be erased now; see ``why_not_erasable``."""
    id_queries: list[QuerySet[Any, Any]] = [rows.values("worker") for rows in _undecided_work(study)]
    for calls in (_calls_under_way(study), _bonuses_to_list(study)):
        id_queries.append(calls.filter(worker__isnull=False).values("worker"))
        id_queries.append(calls.filter(session__isnull=False).values("session__worker"))
    return _is_in_any(id_queries)


def _undecided_work(study: Study) -> list[QuerySet[Any]]:
    """Return the sessions that wait for a decision and, if the study pays, the assignments that do."""
    sessions = CrowdSession.objects.filter(study=study, status=CrowdSession.Status.SUBMITTED)
    work = Assignment.objects.filter(study=study, state=Assignment.State.SUBMITTED)
    return [sessions, work] if design_of(study).crowd.reward_cents else [sessions]


def _calls_under_way(study: Study) -> QuerySet[CrowdCall]:
    return CrowdCall.objects.filter(study=study, state__in=["waiting", "started", "parked"])  # parked: failed


def _bonuses_to_list(study: Study) -> QuerySet[CrowdCall]:
    """Return the unlisted bonuses that a list can still include, because the person's id is stored."""
    return unlisted_bonuses(study).filter(worker__in=RawId.objects.values("worker"))


def _is_in_any(worker_id_queries: Iterable[QuerySet[Any, Any]]) -> Q:
    """Return a filter for workers whose row id is in one of the subqueries."""
    return reduce(or_, (Q(pk__in=worker_ids) for worker_ids in worker_id_queries))

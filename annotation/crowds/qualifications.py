"""Give people qualifications and take qualifications away, in the database and at the crowd.

Designs require or forbid qualifications by name. Quorum checks people who join by a link or come from a panel without
an API. Mechanical Turk and Prolific check people themselves, so each change is sent to them, too.
"""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction

from annotation.crowds import backend_for, backend_of
from annotation.crowds.base import Ability
from annotation.crowds.outbox.messages import ask_to_qualify
from annotation.crowds.panel.links import ID_PATTERN
from annotation.crowds.people import pseudonym
from annotation.models import Assignment, Qualification, RawId, Worker
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.design.requirements import is_qualification
from judgments.models import Study
from judgments.studies.designs import design_of


@transaction.atomic
def give_qualification(
    *, study: Study, workers: Collection[Worker], name: str, value: int = 1, by: User | None = None
) -> None:
    """Give people a qualification, or take it away with ``value`` 0, in the database and at their crowd.

    Before the study is first opened, nothing is sent to the crowd; opening the study then sends the qualification.
    """
    name = name.strip()
    if not is_qualification(name):
        raise WrongState(
            f"Nobody was qualified: {name!r} is no name of a qualification; expected letters, digits, dots, hyphens "
            "and underscores, 80 at most."
        )
    crowd_checks_people = Ability.QUALIFY in backend_of(study).can
    if crowd_checks_people and not value and not study.platform:
        _refuse_to_take_away(study, workers, name)
    for worker in workers:
        _store_qualification(worker, name, value)
        if crowd_checks_people and worker.platform and worker.platform == study.platform:
            ask_to_qualify(study=study, worker=worker, qualification=name, value=value, by=by)
    people = "One participant" if len(workers) == 1 else f"{len(workers)} participants"
    message = f"{people} {'got' if value else 'lost'} the qualification {name}."
    note_event(study=study, what="qualified", sentence=message, by=by, qualification=name, value=value)


def _refuse_to_take_away(study: Study, workers: Collection[Worker], name: str) -> None:
    """Raise WrongState if another study may have sent the qualification to the crowd.

    Call this function for a study that was never opened: such a study cannot tell its crowd about the change.
    """
    platforms = Qualification.objects.filter(name=name, worker__in=workers).values("worker__platform")
    opened_study = Study.objects.filter(platform__in=platforms).exclude(platform="").order_by("-pk").first()
    if opened_study is not None:
        raise WrongState(
            f"Nobody lost the qualification {name}: study {study.slug!r} was not opened yet, and its crowd may have "
            f"heard of it. Take it away on the page of a study that was opened there, such as {opened_study.slug!r}."
        )


def _store_qualification(worker: Worker, name: str, value: int) -> None:
    # the database records only whether a person has the qualification
    if value:
        Qualification.objects.get_or_create(worker=worker, name=name)
    else:
        Qualification.objects.filter(worker=worker, name=name).delete()


@transaction.atomic
def workers_by_crowd_ids(*, study: Study, ids: Collection[str]) -> list[Worker]:
    """Return the workers with these ids at the study's crowd. Create workers for new ids."""
    backend = backend_for(design_of(study))
    if not backend.sends_people:
        raise WrongState("Nobody was qualified: people who join by the link have names; give their names.")
    bad_id = next((crowd_id for crowd_id in ids if not ID_PATTERN.fullmatch(crowd_id)), None)
    if bad_id is not None:
        raise WrongState(f"Nobody was qualified: {bad_id[:60]!r} is no id of a person at {backend.title}.")
    platform = study.platform or backend.platform(design_of(study))
    id_name = backend.person_of(design_of(study))
    workers = []
    for crowd_id in ids:
        worker, _created = Worker.objects.get_or_create(
            source=Worker.Source.CROWD, platform=platform, name=pseudonym(platform, crowd_id)
        )
        RawId.objects.get_or_create(worker=worker, session=None, name=id_name, defaults={"value": crowd_id})
        workers.append(worker)
    return workers


def grant_qualification(*, assignment: Assignment) -> None:
    """Give the worker the qualification of a study that grants one. Call this in the transaction of the submission."""
    study = assignment.study
    name = design_of(study).workers.grants
    worker = assignment.worker
    if not worker.is_person or Qualification.objects.filter(worker=worker, name=name).exists():
        return
    _store_qualification(worker, name, 1)
    if Ability.QUALIFY in backend_of(study).can and worker.platform:
        ask_to_qualify(study=study, worker=worker, qualification=name)

"""Opening a study to its crowd, and closing it."""

from __future__ import annotations

from django.db import transaction

from annotation.backends import BACKENDS, CrowdBackend
from annotation.services.claims import expire_overdue, free_reserved
from annotation.services.rules import copy_rules
from judgments.errors import WrongState
from judgments.models import Study
from judgments.requirements import not_stated
from judgments.services.studies import design_of, mark_closed, mark_open


@transaction.atomic
def open_study(*, study: Study) -> str:
    """Let workers in; returns one sentence that says where they go. Opening an open study changes nothing.

    Raises:
        WrongState: there are no HITs yet, the answers are simulated or imported, this version cannot publish to the
            study's crowd, or that crowd cannot state what the study asks of its workers.
    """
    design = design_of(study)
    unsaid = not_stated(design.workers, design.crowd.backend)
    if unsaid:
        raise WrongState(
            f"Study {study.slug!r} asks for workers with {unsaid[0]}, which the crowd {design.crowd.backend!r} can "
            "neither state nor check; change its requirements or its crowd."
        )
    backend = _backend_of(study)
    if study.simulated:
        raise WrongState(
            f"Study {study.slug!r} holds the rehearsal crowd's answers; duplicate it and open the copy to people."
        )
    mark_open(study=study)
    copy_rules(study=study)
    return backend.publish(study)


@transaction.atomic
def close_study(*, study: Study) -> None:
    """Offer no more work; who holds a HIT may still submit it within the lease. Leases that ended are closed too, and
    what was only fetched ahead: nobody comes to take what they held.

    Raises:
        WrongState: the study was never opened.
    """
    backend = _backend_of(study)
    mark_closed(study=study)
    backend.expire(study)
    expire_overdue(study=study)
    free_reserved(study=study)


def _backend_of(study: Study) -> CrowdBackend:
    name = design_of(study).crowd.backend
    if name not in BACKENDS:
        raise WrongState(
            f"Study {study.slug!r} is for the crowd {name!r}, which this version cannot publish to; it can: "
            f"{', '.join(BACKENDS)}."
        )
    return BACKENDS[name]

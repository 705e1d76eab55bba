"""The known crowds."""

from __future__ import annotations

from annotation.crowds.base import Ability, CrowdBackend, LocalBackend
from annotation.crowds.mturk.backend import MTurkBackend
from annotation.crowds.panel.backend import ExternalBackend
from annotation.crowds.prolific.backend import ProlificBackend
from common.errors import WrongState
from common.features import of_features
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.studies import design_of

BACKENDS: tuple[CrowdBackend, ...] = (
    LocalBackend(),
    ExternalBackend(),
    ProlificBackend(),
    MTurkBackend(),
    *(crowd() for crowd in of_features("crowds")),
)


def backend_for(design: StudyDesign) -> CrowdBackend:
    """Return the crowd backend of a design; raise WrongState if this version has none."""
    for backend in BACKENDS:
        if backend.serves(design):
            return backend
    raise WrongState(
        f"Study {design.slug!r} is for the crowd {design.crowd.backend!r}, which this version cannot publish to; it "
        f"can: {', '.join(backend.name for backend in BACKENDS)}."
    )


def backend_of(study: Study) -> CrowdBackend:
    return backend_for(design_of(study))


__all__ = ["BACKENDS", "Ability", "CrowdBackend", "backend_for", "backend_of"]

"""The crowd backends: those of the platform, and those that features declare (``crowds`` in their ``apps.py``)."""

from __future__ import annotations

from annotation.crowds.base import Ability, CrowdBackend, LocalBackend
from annotation.crowds.mturk.backend import MTurkBackend
from annotation.crowds.panel.backend import ExternalBackend
from annotation.crowds.unavailable import UnavailableBackend
from common.features import lazy_registry, of_apps, of_features
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.designs import design_of

BACKENDS: tuple[CrowdBackend, ...] = lazy_registry(
    lambda: (LocalBackend(), ExternalBackend(), MTurkBackend(), *(crowd() for crowd in of_features("crowds")))
)


def backend_for(design: StudyDesign) -> CrowdBackend:
    """Return the crowd backend of a design; an ``UnavailableBackend`` if its feature is off or not installed."""
    name = design.crowd_name
    for backend in BACKENDS:
        if backend.name == name:
            return backend
    feature, backend_class = of_apps("crowds").get(name, ("", None))  # also of features that are off
    return UnavailableBackend(name, feature, backend_class() if backend_class else None)


def backend_of(study: Study) -> CrowdBackend:
    return backend_for(design_of(study))


__all__ = ["BACKENDS", "Ability", "CrowdBackend", "UnavailableBackend", "backend_for", "backend_of"]

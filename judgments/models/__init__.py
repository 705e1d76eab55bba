"""Data, study design, units, HITs, control items, and jobs as rows."""

from judgments.models.access import ApiToken, StudyEvent, StudyRole
from judgments.models.datasets import Caption, Dataset, DatasetRole, Item, Output, PublishedPair, System
from judgments.models.jobs import CachedFigures, Job
from judgments.models.studies import (
    HIT,
    CandidatePair,
    DrawState,
    HITUnit,
    OutcomeBounds,
    SavedPreset,
    Study,
    SystemPair,
    Unit,
)

__all__ = [
    "HIT",
    "ApiToken",
    "CachedFigures",
    "CandidatePair",
    "Caption",
    "Dataset",
    "DatasetRole",
    "DrawState",
    "HITUnit",
    "Item",
    "Job",
    "OutcomeBounds",
    "Output",
    "PublishedPair",
    "SavedPreset",
    "Study",
    "StudyEvent",
    "StudyRole",
    "System",
    "SystemPair",
    "Unit",
]

"""Data, study design, units, HITs, control items, and jobs as rows."""

from judgments.models.access import ApiToken, StudyEvent, StudyRole
from judgments.models.datasets import Caption, Dataset, DatasetRole, Item, Output, PublishedPair, System
from judgments.models.jobs import CachedFigures, Job
from judgments.models.studies import HIT, CandidatePair, HITUnit, OutcomeBounds, SavedPreset, Study, Unit

__all__ = [
    "HIT",
    "ApiToken",
    "CachedFigures",
    "CandidatePair",
    "Caption",
    "Dataset",
    "DatasetRole",
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
    "Unit",
]

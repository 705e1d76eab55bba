"""Data, study design, units, HITs, control items, and jobs as rows."""

from judgments.models.access import StudyEvent, StudyRole
from judgments.models.datasets import Caption, Dataset, Item, Output, PublishedPair, System
from judgments.models.figures import KeptFigures
from judgments.models.jobs import Job
from judgments.models.outlooks import Outlook
from judgments.models.presets import SavedPreset
from judgments.models.studies import HIT, CandidatePair, HITUnit, Study, Unit
from judgments.models.tokens import ApiToken

__all__ = [
    "HIT",
    "ApiToken",
    "CandidatePair",
    "Caption",
    "Dataset",
    "HITUnit",
    "Item",
    "Job",
    "KeptFigures",
    "Outlook",
    "Output",
    "PublishedPair",
    "SavedPreset",
    "Study",
    "StudyEvent",
    "StudyRole",
    "System",
    "Unit",
]

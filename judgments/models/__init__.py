"""What is asked: data, study design, units, HITs, control items; and long work as rows."""

from judgments.models.datasets import Caption, Dataset, Item, Output, PublishedPair, System
from judgments.models.jobs import Job
from judgments.models.outlooks import Outlook
from judgments.models.studies import HIT, CandidatePair, HITUnit, Study, Unit

__all__ = [
    "HIT",
    "CandidatePair",
    "Caption",
    "Dataset",
    "HITUnit",
    "Item",
    "Job",
    "Outlook",
    "Output",
    "PublishedPair",
    "Study",
    "System",
    "Unit",
]

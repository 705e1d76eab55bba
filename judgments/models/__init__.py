"""The models of data, study design, units, HITs, control items and jobs."""

from judgments.models.access import ApiToken, StudyEvent, StudyRole
from judgments.models.arenas import DrawState, SystemPair
from judgments.models.datasets import (
    Caption,
    Dataset,
    DatasetRole,
    Item,
    Output,
    PublishedPair,
    System,
    SystemContent,
)
from judgments.models.jobs import CachedFigures, Job
from judgments.models.studies import SavedPreset, Study
from judgments.models.units import HIT, CandidatePair, HITUnit, OutcomeBounds, Unit

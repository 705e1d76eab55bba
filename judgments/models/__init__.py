"""Data, study design, units, HITs, control items, and jobs as rows."""

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
from judgments.models.studies import (
    HIT,
    ApiToken,
    CachedFigures,
    CandidatePair,
    DrawState,
    HITUnit,
    Job,
    OutcomeBounds,
    SavedPreset,
    Study,
    StudyEvent,
    StudyRole,
    SystemPair,
    Unit,
)

"""Files -> typed records. Pure: no database, no Django, nothing is written."""

from judgments.importers.errors import ImportProblem
from judgments.importers.sources import (
    CANDIDATE_FORMATS,
    DATASET_FORMATS,
    JUDGMENT_FORMATS,
    TABLE_FORMATS,
    CandidateSource,
    DatasetSource,
    JudgmentSource,
    open_candidates,
    open_dataset,
    open_judgments,
)

__all__ = [
    "CANDIDATE_FORMATS",
    "DATASET_FORMATS",
    "JUDGMENT_FORMATS",
    "TABLE_FORMATS",
    "CandidateSource",
    "DatasetSource",
    "ImportProblem",
    "JudgmentSource",
    "open_candidates",
    "open_dataset",
    "open_judgments",
]

"""Read files as typed records, without the database."""

from judgments.importers.results.judgments import ResultColumns
from judgments.importers.sources import (
    CANDIDATE_FORMATS,
    DATASET_FORMATS,
    JUDGMENT_FORMATS,
    RESULT_FORMATS,
    TABLE_FORMATS,
    CandidateSource,
    DatasetSource,
    JudgmentSource,
    open_candidates,
    open_dataset,
    open_judgments,
)
from judgments.importers.tables import read_pairs
from judgments.importers.textio import ImportProblem
from judgments.importers.trec import read_runs

__all__ = [
    "CANDIDATE_FORMATS",
    "DATASET_FORMATS",
    "JUDGMENT_FORMATS",
    "RESULT_FORMATS",
    "TABLE_FORMATS",
    "CandidateSource",
    "DatasetSource",
    "ImportProblem",
    "JudgmentSource",
    "ResultColumns",
    "open_candidates",
    "open_dataset",
    "open_judgments",
    "read_pairs",
    "read_runs",
]

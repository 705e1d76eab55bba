"""METEOR 1.5 for English, without Java (Denkowski and Lavie 2014)."""

from evaluation.metrics.meteor.matching import ALL, STAGE_CHOICES
from evaluation.metrics.meteor.scoring import (
    MeteorStatistics,
    meteor_scores,
    meteor_statistics,
    pooled,
    stages_named,
    stages_there,
)
from evaluation.metrics.meteor.tables import Tables, find_tables

__all__ = [
    "ALL",
    "STAGE_CHOICES",
    "MeteorStatistics",
    "Tables",
    "find_tables",
    "meteor_scores",
    "meteor_statistics",
    "pooled",
    "stages_named",
    "stages_there",
]

"""The agreement figures that H13 prints for Flickr8k, computed again from the released files.

Pure: no database, no Django. H13 section 4.2.1 reports alpha among the experts, appendix A (Table 10)
Cohen's kappa between the crowd's and the experts' relevance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.statistics.aggregation import mean_grade, relevance_vote
from evaluation.statistics.agreement import (
    AgreementResult,
    ThresholdAgreement,
    alpha_of_judgments,
    threshold_kappa,
)
from judgments.importers import open_judgments

PUBLISHED_ALPHA = 0.81
PUBLISHED_KAPPA = 0.79
CROWD_AT_LEAST = 0.66
EXPERTS_AT_LEAST = 3.33


@dataclass(frozen=True, slots=True)
class Flickr8kAgreement:
    """Expert alpha at two levels; kappa with unseen pairs as not relevant, and over seen pairs alone."""

    alpha_interval: AgreementResult
    alpha_ordinal: AgreementResult
    kappa: ThresholdAgreement
    kappa_seen: ThresholdAgreement


def flickr8k_agreement(folder: Path, *, resamples: int, seed: int) -> Flickr8kAgreement:
    """Read the expert and the crowd file of a Flickr8k folder and compare them.

    Raises ImportProblem for a file that is missing or damaged.
    """
    experts = [
        (row.unit, row.worker, row.value) for row in open_judgments("flickr8k-expert", folder).judgments()
    ]
    units, raters, grades = zip(*experts, strict=True)
    crowd = [(row.unit, row.value) for row in open_judgments("flickr8k-crowd", folder).judgments()]
    votes = relevance_vote(*zip(*crowd, strict=True))
    share_of = dict(zip(votes.units.tolist(), votes.share.tolist(), strict=True))
    means = mean_grade(units, grades)
    shares = np.array([share_of.get(unit, math.nan) for unit in means.units.tolist()])

    def compare(missing: str) -> ThresholdAgreement:
        return threshold_kappa(
            shares,
            means.mean,
            CROWD_AT_LEAST,
            EXPERTS_AT_LEAST,
            missing=missing,
            resamples=resamples,
            seed=seed,
        )

    return Flickr8kAgreement(
        alpha_interval=alpha_of_judgments(units, raters, grades, "interval", resamples=resamples, seed=seed),
        alpha_ordinal=alpha_of_judgments(units, raters, grades, "ordinal", resamples=resamples, seed=seed),
        kappa=compare("no"),
        kappa_seen=compare("leave-out"),
    )

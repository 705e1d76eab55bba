"""manage.py flickr8k_agreement FOLDER: H13's agreement figures from the released files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.flickr8k_agreement import (
    CROWD_AT_LEAST,
    EXPERTS_AT_LEAST,
    PUBLISHED_ALPHA,
    PUBLISHED_KAPPA,
    Flickr8kAgreement,
    flickr8k_agreement,
)
from evaluation.provenance import without_nan
from evaluation.statistics.agreement import AgreementResult, ThresholdAgreement
from evaluation.statistics.errors import StatisticsError
from evaluation.statistics.resampling import RESAMPLES, Estimate
from judgments.errors import QuorumError
from judgments.files import check_place, write_json
from judgments.management.base import QuorumCommand

HELP = """\
The agreement figures of Hodosh, Young and Hockenmaier 2013 (H13) on Flickr8k, computed from the files
the authors released and printed beside the published ones, with 95 % bootstrap intervals over pairs and
the convention behind each number in words. No database is needed. FOLDER holds ExpertAnnotations.txt and
CrowdFlowerAnnotations.txt.
"""


class Command(QuorumCommand):
    """Computes the figures, prints them with their conventions, and writes them as JSON on request."""

    help = HELP
    example = "manage.py flickr8k_agreement data/flickr8k"
    named_errors = (QuorumError, StatisticsError)
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="the two files' folder")
        parser.add_argument("--output", type=Path, metavar="PATH", help="write the figures as JSON here")
        parser.add_argument(
            "--resamples", type=int, default=RESAMPLES, help="of the bootstrap (default %(default)s)"
        )
        parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (default %(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        output: Path | None = options["output"]
        if output is not None:
            check_place(output)
        figures = flickr8k_agreement(options["folder"], resamples=options["resamples"], seed=options["seed"])
        if output is not None:
            write_json(output, _document(figures))
        for line in _report(figures):
            self.stdout.write(line)
        if output is not None:
            self.stdout.write(f"Written to {output}.")


def _document(figures: Flickr8kAgreement) -> dict[str, Any]:
    document: dict[str, Any] = without_nan(asdict(figures))
    document["alpha_interval"]["published"] = PUBLISHED_ALPHA
    document["kappa"]["published"] = PUBLISHED_KAPPA
    return document


def _report(figures: Flickr8kAgreement) -> list[str]:
    alpha, ordinal = figures.alpha_interval, figures.alpha_ordinal
    kappa, seen = figures.kappa, figures.kappa_seen
    rule = f"crowd >= {CROWD_AT_LEAST}, experts' mean >= {EXPERTS_AT_LEAST}"
    return [
        "Experts among themselves: Krippendorff's alpha",
        f"  published              {PUBLISHED_ALPHA:.2f}   (H13 section 4.2.1; the level is not stated)",
        f"  interval level         {_alpha(alpha)}",
        f"  ordinal level          {_alpha(ordinal)}",
        f"  Convention: {alpha.units:,} pairs with {alpha.judgments // alpha.units} grades each. Each line's"
        " grades are sorted, so the columns",
        "  are not persons; alpha does not mind. The released grades do not reach the published figure.",
        "",
        f"Crowd against experts: Cohen's kappa ({rule})",
        f"  published              {PUBLISHED_KAPPA:.2f}   (H13 Table 10 a)",
        f"  unseen = not relevant  {_kappa(kappa)}",
        f"  seen pairs only        {_kappa(seen)}",
        f"  Convention: all {kappa.n:,} pairs the experts graded; the {kappa.filled:,} that the filter kept"
        " from the crowd count as",
        "  not relevant. A score that reaches its threshold but for rounding counts as reaching it.",
        "",
        f"The crowd's answers against the experts' ({rule}, unseen = not relevant)",
        f"  precision {_estimate(kappa.precision)}",
        f"  recall    {_estimate(kappa.recall)}",
        f"  F1        {_estimate(kappa.f1)}",
        f"  both {kappa.both:,}, crowd only {kappa.first_only:,}, experts only {kappa.second_only:,},"
        f" neither {kappa.neither:,}",
        "",
        f"Intervals: {alpha.confidence:.0%} percentile bootstrap over pairs, {alpha.resamples:,} resamples,"
        f" seed {alpha.seed}.",
    ]


def _alpha(result: AgreementResult) -> str:
    return f"{_estimate(Estimate(result.value, result.low, result.high))}  n = {result.units:,} pairs"


def _kappa(result: ThresholdAgreement) -> str:
    return f"{_estimate(result.kappa)}  n = {result.n:,} pairs"


def _estimate(estimate: Estimate) -> str:
    return f"{estimate.value:.3f}  [{estimate.low:.3f}, {estimate.high:.3f}]"

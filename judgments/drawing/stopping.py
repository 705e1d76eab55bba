"""When a study stops asking about a unit (docs/stopping.md). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evaluation.statistics.aggregation.stopping import expected_votes, leads_enough, simulate_stopping
from judgments.drawing.draws import rng_for
from judgments.kinds import KINDS, Kind

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign
    from judgments.design.tables import Stopping
    from judgments.models import Study

ASSUMED = 0.8  # chance of an answer to be right that a plan counts with


def stops_early(study: Study) -> bool:
    """Whether the study's design leaves out units whose outcome is settled."""
    return bool(study.design.get("stopping", {}).get("rule", "none") != "none")


def stopping_in_words(design: StudyDesign) -> str:
    """The rule and its settings as a signature has them."""
    rule = design.stopping
    margin = f"-{rule.margin}-from-{rule.minimum}" if rule.rule == "margin" else ""
    return f"{rule.rule}{margin},full-depth-{rule.full_depth:g}"


def unit_range(kind: Kind, stopping: Stopping, values: Sequence[int], remaining: int) -> tuple[int, int]:
    """The lowest and highest outcome that ``values`` and up to ``remaining`` more answers can come to.

    Under the rule "margin" a lead that is large enough counts as the last word.
    """
    if stopping.rule == "margin":
        first, second = ([count for _, count in Counter(values).most_common(2)] + [0, 0])[:2]
        if leads_enough(first, second, minimum=stopping.minimum, margin=stopping.margin):
            return kind.outcome_range(values, 0)
    return kind.outcome_range(values, remaining)


def full_depth_hits(design: StudyDesign, hits: int) -> frozenset[int]:
    """Which of ``hits`` HITs, numbered from 0, get all their judgments: the design's share, drawn with its seed, and at
    least one where there is a share at all.

    Whole HITs are drawn, and not single units: their units are a random part of all, as units are packed at random,
    and the other HITs can then end as a whole, which is what is paid for.
    """
    share = design.stopping.full_depth
    count = min(hits, max(1, round(share * hits))) if share else 0
    return frozenset(rng_for(design.seed, "full depth").permutation(hits)[:count].tolist())


def expected_share(design: StudyDesign, *, references: int, accuracy: float = ASSUMED) -> float:
    """The share of its votes on units that a study is expected to use, if each answer is right with this chance.

    Args:
        references: units of a candidate pair; 1 where units stand alone.
    """
    stopping, votes = design.stopping, design.judgments_per_unit
    if stopping.rule == "none" or references < 1:
        return 1.0
    kind = KINDS[design.protocol]
    if references > 1:
        share = simulate_stopping(
            accuracy=accuracy, references=references, votes=votes, pairs=400, rule=stopping.rule,
            minimum=stopping.minimum, margin=stopping.margin, seed=design.seed,
        ).share  # fmt: skip
    else:

        def range_of(first: int, second: int, remaining: int) -> tuple[int, int]:
            values = [kind.values[0]] * first + [kind.values[-1]] * second
            return unit_range(kind, stopping, values, remaining)

        # where the two answers are not alike (relevance), units of either truth are as many
        asked = [expected_votes(range_of, votes=votes, accuracy=one) for one in (accuracy, 1 - accuracy)]
        share = sum(asked) / 2 / votes
    return stopping.full_depth + (1 - stopping.full_depth) * share

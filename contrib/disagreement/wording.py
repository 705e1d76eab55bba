"""Describe a study's disagreement in sentences, for the page and the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from common.amounts import coefficient, p_in_text, percent

SIGNIFICANCE_LEVEL = 0.05
# Stored names of the baselines: all answers are equally likely, or each item has the overall shares of answers.
UNIFORM_BASELINE, CONSTANT_BASELINE = "equally likely", "same for all"


def describe_disagreement(disagreement: Mapping[str, Any]) -> str:
    """Return sentences on the entropy of answers, the best metric, and groups of participants.

    No prediction can have a lower cross-entropy than the mean entropy of the answers, which is called the floor. The
    value ``above_floor`` of a predictor is its cross-entropy minus the floor.

    Args:
        disagreement: a result of ``compute_disagreement``.
    """
    entropy = disagreement["entropy"]
    sentences = [
        _(
            "The mean entropy of people's answers to an item is %(floor)s nats (highest possible "
            "value: %(most)s)."
        )
        % {"floor": coefficient(entropy["floor"]), "most": coefficient(entropy["most"])}
    ]
    constant_row = next((row for row in disagreement["predictors"] if row["name"] == CONSTANT_BASELINE), None)
    # Metrics that scored other items cannot be compared with the constant prediction.
    metrics = [
        row
        for row in disagreement["predictors"]
        if constant_row
        and row["what"] == "metric"
        and row["n"] == constant_row["n"]
        and row["above_floor"] is not None
    ]
    if metrics and constant_row:
        # predictors are sorted, best first
        best_metric, excess = metrics[0], constant_row["above_floor"]
        share = (excess - best_metric["above_floor"]) / excess if excess > 0 else 0.0
        sentences.append(
            _(
                "A constant prediction has a higher cross-entropy than this entropy. The best metric, %(metric)s, "
                "removes %(share)s of the difference."
            )
            % {"metric": best_metric["name"], "share": percent(min(max(share, 0.0), 1.0))}
        )
    groups = disagreement.get("groups", {})
    if groups and not groups["reason"]:
        sentences.append(describe_groups(groups))
    return " ".join(sentences)


def describe_groups(groups: Mapping[str, Any]) -> str:
    """Return whether participants form two groups (``compare_groups``) and the agreement within and between these."""
    if groups["p"] > SIGNIFICANCE_LEVEL:
        return _("There is no evidence of more than one group of participants (%(p)s).") % {
            "p": p_in_text(groups["p"])
        }
    first, second = groups["groups"]
    sentence = _("Participants form two groups, of sizes %(first)s and %(second)s (%(p)s).") % {
        "first": first["raters"],
        "second": second["raters"],
        "p": p_in_text(groups["p"]),
    }
    if None in (first["within"], second["within"], groups["between"]):
        return sentence
    agreement = _(
        "Two participants of the same group agree on %(one)s (first group) and %(other)s (second group) of items. Two "
        "participants of different groups agree on %(between)s."
    ) % {
        "one": percent(first["within"]),
        "other": percent(second["within"]),
        "between": percent(groups["between"]),
    }
    return f"{sentence} {agreement}"

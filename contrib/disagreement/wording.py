"""Sentences about a study's disagreement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from common.amounts import coefficient, p_in_text, percent

SIGNIFICANCE_LEVEL = 0.05
EQUALLY, ALWAYS = "equally likely", "same for all"


def describe_disagreement(result: Mapping[str, Any]) -> str:
    entropy, sentences = result["entropy"], []
    sentences.append(
        _(
            "The mean entropy of people's answers to an item is %(floor)s nats (highest possible "
            "value: %(most)s)."
        )
        % {"floor": coefficient(entropy["floor"]), "most": coefficient(entropy["most"])}
    )
    always = next((row for row in result["predictors"] if row["name"] == ALWAYS), None)
    # On other items, the gain over overall shares would not be comparable.
    metrics = [
        row
        for row in result["predictors"]
        if always and row["what"] == "metric" and row["n"] == always["n"] and row["above_floor"] is not None
    ]
    if metrics and always:
        best, whole_difference = metrics[0], always["above_floor"]
        share = (whole_difference - best["above_floor"]) / whole_difference if whole_difference > 0 else 0.0
        sentences.append(
            _(
                "A constant prediction is worse than this entropy. The best metric, %(metric)s, removes "
                "%(share)s of the difference."
            )
            % {"metric": best["name"], "share": percent(min(max(share, 0.0), 1.0))}
        )
    groups = result.get("groups", {})
    if groups and not groups["reason"]:
        sentences.append(describe_groups(groups))
    return " ".join(sentences)


def describe_groups(groups: Mapping[str, Any]) -> str:
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
    pairs = _(
        "Two participants of the same group agree on %(one)s (first group) and %(other)s (second group) of items. Two "
        "participants of different groups agree on %(between)s."
    ) % {
        "one": percent(first["within"]),
        "other": percent(second["within"]),
        "between": percent(groups["between"]),
    }
    return f"{sentence} {pairs}"

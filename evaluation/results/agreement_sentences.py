"""Sentences about the agreement of judges, from the figures that ``evaluation.results.agreement`` stores as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import npgettext

from common.amounts import coefficient, interval_in_text, p_in_text, percent, thousands
from evaluation.results.consensus.clusters import scope_sentence
from quorum.statistics.agreement.coefficient import CARELESS_NOTE, careless_numbers
from quorum.statistics.crossed import RATER


def components_sentence(components: Mapping[str, Any]) -> str:
    """Return sentences on the variance components and the effect of doubling the study; "" if these are unknown."""
    if not components.get("twice"):
        return ""
    total = components["item"] + components["rater"] + components["residual"]
    shares = {name: percent(components[name] / total) for name in ("item", "rater", "residual")}
    sentence = (
        _(
            "The variance of the answers has three parts: %(item)s between items, %(rater)s between participants, and "
            "%(residual)s residual. The residual includes differences between texts of one item."
        )
        % shares
    )
    if not round(components["standard_error"], 9):  # zero but for rounding errors
        reason = _(
            "All items have the same mean answer. These answers therefore cannot show whether "
            "more items, participants or answers would make the mean more precise."
        )
        return f"{sentence} {reason}"
    errors = {"error": components["standard_error"], **components["twice"]}
    gain = _(
        "The standard error of the mean answer is %(error)s. With twice as many items, it would be %(items)s. "
        "With twice as many participants, it would be %(raters)s. With twice as many answers per participant and "
        "item, it would be %(judgments)s."
    ) % {name: coefficient(value, 3) for name, value in errors.items()}
    return f"{sentence} {gain}"


def alpha_note(alpha: Mapping[str, Any]) -> str:
    """Return the note on alpha, which is stored in English, in the reader's language."""
    note, raters = alpha.get("note") or "", alpha.get("clusters", {}).get(RATER)
    if not note:
        return ""
    numbers = None
    if raters and alpha["low"] is not None:
        numbers = careless_numbers(alpha["value"], alpha["low"], raters, alpha["confidence"])
    # The note may end with CARELESS_NOTE, on people who answer at random. Its numbers are filled in when translated.
    if numbers is None or not note.endswith(careless_note := CARELESS_NOTE % numbers):
        return _(note)
    other_note = note.removesuffix(careless_note).removesuffix("; ")
    translated_careless_note = _(CARELESS_NOTE) % numbers
    return f"{_(other_note)}; {translated_careless_note}" if other_note else translated_careless_note


def side_sentence(bias: Mapping[str, Any], *, random_sides: bool) -> str:
    """Return sentences on the share of choices of the left option, or "" if ``bias`` is empty.

    They say p if ``random_sides``, because only then half of the choices are expected to be of the left option.
    """
    if not bias:
        return ""
    placeholders = {
        "share": percent(bias["value"]),
        "answers": npgettext("of", "%(n)s answer", "%(n)s answers", bias["n"]) % {"n": thousands(bias["n"])},
        "ends": interval_in_text(bias, percent),
    }
    sentence = (
        _("The left side was chosen in %(share)s of %(answers)s (95 %% interval %(ends)s).") % placeholders
    )
    if random_sides and bias["p"] is not None:
        sentence = _(
            "The left side was chosen in %(share)s of %(answers)s (95 %% interval %(ends)s, %(p)s). Sides "
            "are random, so 50 %% is expected."
        ) % (placeholders | {"p": p_in_text(bias["p"])})
    return f"{sentence} {scope_sentence(bias)}".strip()

"""The settings by which systems are ranked: parameters of the command, the page and the call over HTTP."""

from __future__ import annotations

from rest_framework import serializers

from common.parameters import Parameters
from quorum.statistics.aggregation.preferences.models import MODELS

DEFAULT_MODEL = MODELS[0]
NO_CONTROL, LENGTH_CONTROL = "none", "length"  # covariates of pairs, whose effect the strengths leave out
# Whether judgments are weighted by the chances by which they were drawn.
WEIGHTED, UNWEIGHTED = ("drawn", "none")


class StrengthsRequest(Parameters):
    """The model and the settings by which systems are ranked (contrib/strengths/README.md)."""

    model = serializers.ChoiceField(
        MODELS,
        required=False,
        initial=DEFAULT_MODEL,
        label="Model",
        help_text="Of pairs: adjacent (with ties, Davidson's) or cumulative (with ties, Rao and Kupper's); default: "
        "adjacent. The best of several has Luce's.",
    )
    control = serializers.ChoiceField(
        [NO_CONTROL, LENGTH_CONTROL],
        required=False,
        initial=NO_CONTROL,
        label="Control for",
        help_text="length: strengths of texts of equal length; default: none.",
    )
    weights = serializers.ChoiceField(
        [WEIGHTED, UNWEIGHTED],
        required=False,
        initial=WEIGHTED,
        label="Weights",
        help_text="drawn: one over the chance of what was drawn with unequal chances, in an arena the pair of systems, "
        "or an item chosen by its usefulness; none: all judgments count alike.",
    )
    order_effect = serializers.BooleanField(
        required=False,
        initial=False,
        label="Without side bias",
        help_text="Of pairs: fit the advantage of standing on the left, and give strengths without it.",
    )

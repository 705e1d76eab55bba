"""The settings by which systems are ranked: parameters of the command, the page and the call over HTTP."""

from __future__ import annotations

from rest_framework import serializers

from common.parameters import Parameters
from quorum.statistics.aggregation.preferences.models import MODELS

DEFAULT_MODEL = MODELS[0]
NO_CONTROL, LENGTH_CONTROL = "none", "length"  # covariates of pairs, whose effect the strengths leave out
# Whether judgments are weighted by 1 / the probability with which they were sampled.
WEIGHTED, UNWEIGHTED = ("drawn", "none")


class StrengthsRequest(Parameters):
    """The model and the settings by which systems are ranked (contrib/strengths/README.md)."""

    model = serializers.ChoiceField(
        MODELS,
        required=False,
        initial=DEFAULT_MODEL,
        label="Model",
        help_text="Model for pairs: adjacent (with ties, Davidson's model) or cumulative (with ties, Rao and Kupper's "
        "model); default: adjacent. The best of several texts has Luce's model.",
    )
    control = serializers.ChoiceField(
        [NO_CONTROL, LENGTH_CONTROL],
        required=False,
        initial=NO_CONTROL,
        label="Control for",
        help_text="length: strengths as if all texts were equally long; none: no adjustment (default).",
    )
    weights = serializers.ChoiceField(
        [WEIGHTED, UNWEIGHTED],
        required=False,
        initial=WEIGHTED,
        label="Weights",
        help_text="drawn (default): a judgment has the weight 1 / p, where p is the probability with which its pair of "
        "systems (in an arena) or its item (if items were chosen by usefulness) was sampled; none: equal weights.",
    )
    order_effect = serializers.BooleanField(
        required=False,
        initial=False,
        label="Without side bias",
        help_text="Only for pairs: estimate the advantage of the text on the left, and give strengths without it.",
    )

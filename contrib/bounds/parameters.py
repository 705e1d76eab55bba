"""The parameters of the command, the page and the call that compute the bounds of metrics on a dataset."""

from __future__ import annotations

from rest_framework import serializers

from common.parameters import KeysField
from evaluation.results.operations import MAX_SEED, MetricsRequest

# The metrics of Wang and Gaizauskas 2016 (WG16), section 3: smoothed sentence BLEU, F of the ROUGE script, METEOR,
# CIDEr of unstemmed words, and CIDEr-D without the factor 10.
WG16_METRICS = (
    *(f"bleu-{order}|smoothing:nist" for order in range(1, 5)),
    *("rouge-1", "rouge-l-155", "rouge-w", "rouge-su4", "meteor", "cider-nostem", "cider-d|scale:1"),
)
# This tokenizer lower-cases texts, removes punctuation and splits hyphenated words.
WG16_TOKENIZER = "h13"


class LeaveOneOutRequest(MetricsRequest):
    """The metrics, the tokenizer, and the captions that are scored."""

    metrics = KeysField(
        required=False,
        min_length=1,
        initial=list(WG16_METRICS),
        help_text="Names of metrics, with options (default: those of WG16, as they compute them).",
    )
    tokenizer = serializers.CharField(
        required=False,
        initial=WG16_TOKENIZER,
        label="Tokenizer",
        help_text=f"Tokenizer: ptb, space, h13, rouge or v15 (default: {WG16_TOKENIZER}).",
    )
    split = serializers.CharField(
        required=False, max_length=20, help_text="Items of this split alone (default: all)."
    )
    item = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Name of the item whose captions are ranked by each metric (default: the first).",
    )
    others = KeysField(
        required=False,
        min_length=1,
        help_text="Names of other datasets whose captions also replace captions, as unrelated texts (default: none).",
    )
    captions = serializers.IntegerField(
        required=False,
        min_value=1,
        help_text="Number of captions of each item, chosen at random, that unrelated texts replace (default: all).",
    )
    seed = serializers.IntegerField(
        required=False, min_value=0, max_value=MAX_SEED, help_text="Seed of the random numbers (default: 0)."
    )

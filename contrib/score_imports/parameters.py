"""The parameters of an import of scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _lazy
from rest_framework import serializers

from common.parameters import KeysField, Parameters
from evaluation.models import ImportedMetric

if TYPE_CHECKING:
    from judgments.importers import ColumnMapping

UNKNOWN_RULES = ("refuse", "leave-out")


class ImportScoresRequest(Parameters):
    """The metrics of the imported scores, and how the scores are read."""

    metric = KeysField(
        required=False,
        help_text="Name of the metric, or names of several, each with its own column (default for a folder or file of "
        "mt-metrics-eval: all metrics in it).",
    )
    better = serializers.ChoiceField(
        choices=ImportedMetric.Better.choices,
        default=ImportedMetric.Better.HIGHER.value,
        help_text="Which scores are better (default: higher).",
    )
    unknown = serializers.ChoiceField(
        choices=UNKNOWN_RULES,
        default=UNKNOWN_RULES[0],
        help_text="What becomes of rows about images, captions or systems that the dataset lacks (default: refuse).",
    )
    replace = serializers.BooleanField(default=False, help_text="Replace earlier scores of the same metric.")
    map = serializers.CharField(
        required=False,
        label=_lazy("Columns"),
        help_text="The file's column for each column of Quorum, such as image=filename,score=comet.",
    )
    where = serializers.CharField(
        required=False, help_text="Read only rows with this value in the column, such as language=de."
    )
    missing = serializers.CharField(
        required=False, help_text="Words that mean an empty cell, such as NA,None."
    )
    header_row = serializers.CharField(
        required=False, help_text="Number of the line with the header, if a title stands above it."
    )


def pop_mapping(values: dict[str, Any], path: Path) -> ColumnMapping | None:
    """Remove the options about columns from a request's values, and return the mapping that they describe.

    Return None if the values have no such option.

    Args:
        path: the file with the columns, for error messages.
    """
    # imported lazily, since commands start without the importers
    from judgments.importers.options import mapping_of

    names = ("map", "where", "missing", "header_row")
    return mapping_of({name: values.pop(name, None) for name in names}, path)

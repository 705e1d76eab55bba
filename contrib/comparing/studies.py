"""Compare the judgments of two studies, and store the comparison. If one study is large, a job compares them."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.snapshots import has_many_assignments
from common.errors import ObjectNotFound
from contrib.comparing.sources.comparison import LEAVE_OUT, MISSING_RULES, compare_sources
from contrib.comparing.sources.studies import source_of_study
from contrib.comparing.sources.wording import describe_compared_sources
from evaluation.errors import EvaluationError
from judgments.cached_figures import FiguresPending, cached_figures
from judgments.figures import FiguresDefinition, add_figures_by_prefix, version_of
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of

FIGURES_PREFIX = "comparison"
MANY_UNITS = 3_000  # number of units that takes about a second for a slider, the slowest kind


def comparable_studies(study: Study, among: QuerySet[Study]) -> QuerySet[Study]:
    """Return the other studies of the same dataset that can have judgments and ask for numbers."""
    numeric_protocols = [name for name, kind in KINDS.items() if not kind.is_open]
    has_judgments = Q(source=Study.Source.IMPORTED) | Q(state__in=[Study.State.OPEN, Study.State.CLOSED])
    studies = among.filter(has_judgments, dataset=study.dataset_id, protocol__in=numeric_protocols)
    return studies.exclude(pk=study.pk).order_by("name", "pk")


def compare_studies(*, first: Study, second: Study, missing: str = LEAVE_OUT) -> dict[str, Any]:
    """Compare two studies without storing the result. Raise EvaluationError if they cannot be compared."""
    comparison = compare_sources(
        source_of_study(first), source_of_study(second), missing=missing, seed=design_of(first).seed
    )
    with translation.override("en"):  # in English, since the result is stored for readers of any language
        return comparison | {"in_words": describe_compared_sources(comparison)}


def cached_comparison(*, first: Study, second: Study, missing: str) -> dict[str, Any]:
    """Return the comparison of two studies. If one of them is large, a job computes it.

    Raises:
        FiguresPending: the job is running.
        EvaluationError: the studies cannot be compared.
    """
    if missing not in MISSING_RULES:
        raise EvaluationError(
            _("The rule for missing items is %(missing)r; expected %(known)s.")
            % {"missing": missing, "known": " or ".join(MISSING_RULES)}
        )
    comparison = cached_figures(first, _comparison_figures(second, missing))
    # The second study may have the row id of a deleted study, with which the first was compared earlier.
    if comparison.value is None or comparison.value["of"] != _identify_study(second):
        raise FiguresPending
    if comparison.value["refused"]:
        raise EvaluationError(comparison.value["refused"])
    result: dict[str, Any] = comparison.value["result"]
    return result | {"made_at": comparison.made_at, "again": comparison.is_recomputing}


def _comparison_figures(second: Study, missing: str) -> FiguresDefinition[dict[str, Any]]:
    """Return the definition of the figures of a first study that compare it with ``second``."""

    def compute(first: Study) -> dict[str, Any]:
        figures: dict[str, Any] = {"of": _identify_study(second), "result": None, "refused": ""}
        try:
            figures["result"] = compare_studies(first=first, second=second, missing=missing)
        except EvaluationError as error:
            figures["refused"] = str(error)
        return figures

    return FiguresDefinition(
        f"{FIGURES_PREFIX}:{second.pk}:{missing}",
        compute,
        rows=_count_rows,
        version=lambda first: [version_of(first), version_of(second), _identify_study(second)],
        always_needs_job=lambda first: _is_large(first) or _is_large(second),
    )


def _figures_by_name(name: str) -> FiguresDefinition[dict[str, Any]]:
    """Return the definition of figures by their name, which ``_comparison_figures`` made.

    Raise ObjectNotFound if the second study no longer exists.
    """
    _prefix, pk, missing = name.split(":")
    second = Study.objects.select_related("dataset").filter(pk=int(pk)).first()
    if second is None:
        raise ObjectNotFound(_("The study to compare with no longer exists."))
    return _comparison_figures(second, missing)


def _identify_study(study: Study) -> list[str]:
    """Return values that no other study has, even if it gets the same row id."""
    return [study.slug, str(study.created_at)]


def _count_rows(figures: dict[str, Any]) -> int:
    """Return how many judgments were compared."""
    result = figures["result"]
    return int(result["first"]["judgments"] + result["second"]["judgments"]) if result else 0


def _is_large(study: Study) -> bool:
    if study.units.order_by()[:MANY_UNITS].count() >= MANY_UNITS:
        return True
    return bool(Study.objects.filter(has_many_assignments(study), pk=study.pk).exists())


add_figures_by_prefix(FIGURES_PREFIX, _figures_by_name)

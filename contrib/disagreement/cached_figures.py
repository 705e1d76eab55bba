"""Cache the figures of a study's disagreement, which a job computes, and remove them with the demographics."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists
from django.utils.translation import gettext as _

from annotation.models import Demographics
from contrib.disagreement.analysis import compute_disagreement
from contrib.disagreement.rater_groups import DEMOGRAPHIC_PREFIX
from contrib.disagreement.soft_labels import check_soft_labels
from evaluation.errors import EvaluationError
from evaluation.models import Analysis, Prediction
from judgments.access.rights import Person, Right, has_right
from judgments.cached_figures import FiguresPending, cached_figures
from judgments.figures import FiguresDefinition, add_figures
from judgments.models import CachedFigures, Study
from quorum.statistics.inputs import StatisticsError


def cached_disagreement(study: Study, by: Person) -> dict[str, Any]:
    """Return the result of ``compute_disagreement`` that a job stored, and start the job if the result is outdated.

    Results by demographics are returned only to people who may change the study.

    Raises:
        FiguresPending: there are no current figures. The job that computes them is queued or running, or failed less
            than a minute ago; later calls start it again.
        EvaluationError: the study has no results, or its answers have no soft labels.
    """
    check_soft_labels(study)
    if not Analysis.objects.filter(study=study, what=Analysis.Kind.AGGREGATION).exists():
        raise EvaluationError(
            _("Study %(slug)r has no results yet; compute them first.") % {"slug": study.slug}
        )
    figures = cached_figures(study, DISAGREEMENT)
    if figures.value is None:
        raise FiguresPending
    if figures.value["refused"]:
        raise EvaluationError(figures.value["refused"])
    result: dict[str, Any] = figures.value["result"]
    # "known" has a row for each known grouping of participants. Its "by" names what forms the groups.
    if "known" not in result or has_right(by, Right.CHANGE, study):
        return result
    return result | {
        "known": [row for row in result["known"] if not row["by"].startswith(DEMOGRAPHIC_PREFIX)]
    }


def _compute_result(study: Study) -> dict[str, Any]:
    try:
        return {"refused": "", "result": compute_disagreement(study=study)}
    except (EvaluationError, StatisticsError) as error:
        return {"refused": str(error), "result": None}


def _version(study: Study) -> object:
    """Return a value that changes when the figures must be computed again.

    It has the newest analyses, whether there are demographics, and the imported predictions. A few analyses are enough,
    since a new one, or one that was computed again, is always the newest.
    """
    newest_analyses = Analysis.objects.filter(
        study=study, what__in=[Analysis.Kind.AGGREGATION, Analysis.Kind.META_EVALUATION, Analysis.Kind.JUDGES]
    ).order_by("-created_at", "-pk")
    # A job that read demographics before they were deleted may store its figures afterwards. The figures are then
    # outdated, as they say in their version that there are demographics. This is a column of the analyses, so that
    # each page makes one query less; without an analysis there are no figures.
    has_demographics = Exists(Demographics.objects.filter(study=study))
    rows = newest_analyses.values_list("pk", "created_at", has_demographics)[:3]
    analyses = [[pk, str(created_at), demographics_exist] for pk, created_at, demographics_exist in rows]
    predictions = Prediction.objects.filter(study=study).order_by("pk").values_list("pk", flat=True)
    version = [str(study.created_at), analyses]
    # Without predictions, the version is as before they could be imported, so that older figures stay current.
    return [*version, list(predictions)] if predictions else version


DISAGREEMENT = add_figures(
    FiguresDefinition(
        "disagreement",
        _compute_result,
        rows=lambda figures: figures["result"]["judgments"] if figures["result"] else 0,  # 0: refused
        version=_version,
        never_expires=True,  # they depend on the version alone
        always_needs_job=lambda study: True,  # the test of groups draws a hundred samples
    )
)


def remove_personal_figures(*, study: Study, **_signal: Any) -> None:
    """Delete the cached figures of a study whose demographics were deleted, since the figures may be based on them."""
    CachedFigures.objects.filter(study=study, name=DISAGREEMENT.name).delete()

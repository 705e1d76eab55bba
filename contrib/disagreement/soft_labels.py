"""The soft labels of a study: the distribution of people's used answers to each unit."""

from __future__ import annotations

from django.utils.translation import gettext as _

from evaluation.data.judgment_sets.records import MAX_OUTCOMES, JudgmentTable, has_few_outcomes
from evaluation.errors import EvaluationError
from judgments.models import Study
from judgments.studies.designs import kind_of
from quorum.statistics.disagreement import SoftLabels, soft_labels


def soft_labels_of(study: Study, judgments: JudgmentTable) -> SoftLabels:
    """Return the distributions of people's used answers.

    Raise EvaluationError as ``check_soft_labels`` does, or if no judgment is used.
    """
    check_soft_labels(study)
    is_counted = judgments.is_counted
    if not is_counted.any():
        raise EvaluationError(
            _("Study %(slug)r has no judgments that are used in results; expected at least one.")
            % {"slug": study.slug}
        )
    return soft_labels(
        judgments.unit[is_counted], judgments.value[is_counted], labels=kind_of(study).outcomes
    )


def has_soft_labels(study: Study) -> bool:
    return has_few_outcomes(kind_of(study))


def check_soft_labels(study: Study) -> None:
    """Raise EvaluationError unless each answer in the study is one of a few labels."""
    if not has_soft_labels(study):
        raise EvaluationError(
            _(
                "Study %(slug)r has no soft labels: answers of protocol %(protocol)s can have too "
                "many values; expected at most %(most)s."
            )
            % {"slug": study.slug, "protocol": study.protocol, "most": MAX_OUTCOMES}
        )

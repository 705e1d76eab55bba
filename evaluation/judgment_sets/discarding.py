"""What was made of a study's units, which can then not be discarded."""

from __future__ import annotations

from django.utils.translation import gettext as _

from evaluation.judgment_sets.blocks import forget_blocks
from evaluation.models import BoardSnapshot, Judge, Prediction, Release
from judgments.models import Study


def what_was_computed(study: Study) -> str:
    """Return in a sentence what refers to the study's units or names them; or ""."""
    about = {"slug": study.slug}
    if Judge.objects.filter(study=study).exists():
        return _("A judge answers study %(slug)r; remove the judge first, or duplicate the study.") % about
    if Prediction.objects.filter(study=study).exists():
        return _("Predictions were imported for study %(slug)r; duplicate the study instead.") % about
    if Release.objects.filter(study=study).exists():
        return _("Study %(slug)r was released; duplicate the study instead.") % about
    return ""


def forget_columns(study: Study) -> None:
    """Delete copies of the study's units."""
    forget_blocks(study)
    BoardSnapshot.objects.filter(study=study).delete()

"""How much work there is in a study, told in a moment however much it is."""

from __future__ import annotations

from django.db.models import Exists

from annotation.models import Assignment
from judgments.models import Study

MUCH = 5_000  # pages of work


def much_work(study: Study) -> Exists:
    """Whether counting over its judgments is nothing for a page to wait for."""
    return Exists(Assignment.objects.filter(study=study).order_by()[MUCH - 1 : MUCH])

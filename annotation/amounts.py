"""How much work there is in a study, told in a moment however much it is."""

from __future__ import annotations

from annotation.models import Assignment
from judgments.models import Study

MUCH = 5_000  # pages of work


def much_work(study: Study) -> bool:
    """Whether counting over its judgments is nothing for a page to wait for."""
    return Assignment.objects.filter(study=study).order_by()[:MUCH].count() >= MUCH

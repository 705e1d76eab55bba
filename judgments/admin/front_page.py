"""The admin's first page."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.http import HttpRequest

from judgments.access.roles import may_view, takes_part, visible_rows
from judgments.models import Dataset, Job, Study
from judgments.studies.study_page import QUIET_JOBS, first_page

NEWEST = 8


def front_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Show the page in four queries."""
    user = request.user
    if takes_part(user) or user.has_perm("judgments.view_study") or user.has_perm("judgments.add_study"):
        studies = Study.objects.visible_to(user)
        newest = studies.select_related("dataset").annotate(warned=Count("alarms"))
        by_state = dict(studies.order_by().values_list("state").annotate(n=Count("pk")))
        context |= {
            "states": [(label, by_state.get(value, 0)) for value, label in Study.State.choices],
            "studies": [
                {"study": study, "link": first_page(study)}
                # said again: a query that groups drops the model's own order
                for study in newest.order_by("-created_at", "slug")[:NEWEST]
            ],
            "may_add_study": user.has_perm("judgments.add_study"),
        }
    if may_view(user, Dataset):
        context |= {
            "datasets": visible_rows(Dataset.objects.all(), user).count(),
            "may_add_dataset": user.has_perm("judgments.add_dataset"),
        }
    if user.is_active and user.is_staff:
        under_way = Job.objects.under_way().exclude(kind__in=QUIET_JOBS)
        context["jobs"] = list(visible_rows(under_way, user)[:NEWEST])
    return context

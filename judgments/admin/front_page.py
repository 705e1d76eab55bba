"""The admin's first page: what goes on, and what to do next."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.http import HttpRequest

from judgments.admin.study_pages import first_page
from judgments.models import Dataset, Job, Study

NEWEST = 8


def front_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Studies by state, datasets and work under way, as far as this person may look; four queries."""
    user = request.user
    if user.has_perm("judgments.view_study"):
        by_state = dict(Study.objects.order_by().values_list("state").annotate(n=Count("pk")))
        context |= {
            "states": [(label, by_state.get(value, 0)) for value, label in Study.State.choices],
            "studies": [
                {"study": study, "link": first_page(study)}
                for study in Study.objects.select_related("dataset").annotate(warned=Count("alarms"))[:NEWEST]
            ],
            "may_add_study": user.has_perm("judgments.add_study"),
        }
    if user.has_perm("judgments.view_dataset"):
        context |= {
            "datasets": Dataset.objects.count(),
            "may_add_dataset": user.has_perm("judgments.add_dataset"),
        }
    if user.has_perm("judgments.view_job"):
        context["jobs"] = list(Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])[:NEWEST])
    return context

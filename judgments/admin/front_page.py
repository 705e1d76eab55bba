"""The admin's first page: an account's studies, and what waits for a person."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.http import HttpRequest
from django.utils.translation import gettext

from judgments.access.roles import Person, may_view, rights_in, takes_part, visible_rows
from judgments.admin.base import BoundedPaginator
from judgments.models import Dataset, Job, Study
from judgments.studies.needs_page import next_action, waiting_for_a_person, with_needs, with_progress
from judgments.studies.study_page import QUIET_JOBS, first_page

ON_A_PAGE = 20


def own_studies(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Show the page at a constant number of queries."""
    user = request.user
    context["title"] = gettext("Your studies")
    if takes_part(user) or user.has_perm("judgments.view_study") or user.has_perm("judgments.add_study"):
        studies = Study.objects.visible_to(user)
        shown = with_needs(with_progress(studies.select_related("dataset")))
        page = BoundedPaginator(shown.order_by("-created_at", "slug"), ON_A_PAGE).get_page(
            request.GET.get("page")
        )
        by_state = dict(studies.order_by().values_list("state").annotate(n=Count("pk")))
        context |= {
            "states": [(label, by_state.get(value, 0)) for value, label in Study.State.choices],
            "page": page,
            "studies": _entries(user, list(page.object_list)),
            "may_add_study": user.has_perm("judgments.add_study"),
        }
    if may_view(user, Dataset):
        context |= {
            "datasets": visible_rows(Dataset.objects.all(), user).count(),
            "may_add_dataset": user.has_perm("judgments.add_dataset"),
        }
    if user.is_active and user.is_staff:
        under_way = Job.objects.under_way().exclude(kind__in=QUIET_JOBS)
        context["jobs"] = list(visible_rows(under_way, user)[:ON_A_PAGE])
    return context


def _entries(user: Person, studies: list[Study]) -> list[dict[str, Any]]:
    rights, entries = rights_in(user, studies), []
    for study in studies:
        waiting = waiting_for_a_person(study, rights[study.pk])
        entries.append(
            {
                "study": study,
                "link": first_page(study),
                "waiting": waiting,
                "next": next_action(study, waiting, rights[study.pk]),
            }
        )
    return entries

"""The pages "Access" and "Log" of a study."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.http import urlencode

from judgments.admin.base import MOST_OFFERED, BoundedPaginator, signed_in
from judgments.admin.operations import add_operation
from judgments.importers.textio import guard_formula
from judgments.models import Study, StudyEvent, StudyRole
from judgments.operations import give, take
from judgments.studies.study_page import Context, Group, StudyPage, add_page

ON_A_PAGE = 50
LONGEST_NAME = 150  # characters
AT_ONCE = 1_000  # rows of a download
ROLES = [
    ("viewer", "looks at all pages, results and files"),
    ("reviewer", "also approves, rejects, excludes, decides disputes and answers participants"),
    ("designer", "also changes the design, opens, closes and spends the budget"),
    ("owner", "also gives roles and deletes the study"),
]
COLUMNS = ["at", "what", "words", "why", "by", "details"]


def show_people(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    roles = (
        StudyRole.objects.filter(study=study).select_related("user", "given_by").order_by("given_at", "pk")
    )
    page = BoundedPaginator(roles, ON_A_PAGE).get_page(request.GET.get("page"))
    context |= offered_accounts() if context["may_own"] else {}
    context |= {
        "page": page,
        "people": page.object_list,
        "roles": ROLES,
        "me": signed_in(request),
    }
    return TemplateResponse(request, "judgments/study/people.html", context)


def offered_accounts() -> Context:
    accounts = list(
        User.objects.filter(is_active=True, is_staff=True).order_by("username")[: MOST_OFFERED + 1]
    )
    return {"accounts": accounts[:MOST_OFFERED], "many_accounts": len(accounts) > MOST_OFFERED}


def show_log(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    events = StudyEvent.objects.filter(study=study)
    kinds = list(events.order_by("what").values_list("what", flat=True).distinct()[:MOST_OFFERED])
    people = list(User.objects.filter(pk__in=events.values("by")).order_by("username")[:MOST_OFFERED])
    page = BoundedPaginator(_filter_events(request, events).select_related("by"), ON_A_PAGE).get_page(
        request.GET.get("page")
    )
    asked = {name: request.GET[name] for name in ("what", "by") if request.GET.get(name)}
    context |= {
        "page": page,
        "events": [
            {"event": event, "details": _details_in_lines(event.details)} for event in page.object_list
        ],
        "kinds": kinds,
        "people": people,
        "what": request.GET.get("what", ""),
        "by": request.GET.get("by", ""),
        "query": urlencode(asked),
        "all": not asked,
    }
    return TemplateResponse(request, "judgments/study/log.html", context)


def _filter_events(request: HttpRequest, events: QuerySet[StudyEvent]) -> QuerySet[StudyEvent]:
    what, by = request.GET.get("what", ""), request.GET.get("by", "")
    if what:
        events = events.filter(what=what)
    if by == "platform":
        return events.filter(by=None)
    if by:
        known = by.isdecimal() and len(by) < 19
        return events.filter(by=int(by)) if known else events.none()
    return events


def _details_in_lines(details: dict[str, Any]) -> str:
    return json.dumps(details, ensure_ascii=False, indent=2, sort_keys=True) if details else ""


def download_log(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    """Stream the log: ``?as=csv`` or ``?as=jsonl``."""
    events = (
        _filter_events(request, StudyEvent.objects.filter(study=study)).select_related("by").order_by("pk")
    )
    rows = (_as_row(event) for event in events.iterator(chunk_size=AT_ONCE))
    writers = {"csv": (_csv_lines, "text/csv"), "jsonl": (_json_lines, "application/x-ndjson")}
    name = request.GET.get("as", "csv")
    if name not in writers:
        raise Http404
    write, kind = writers[name]
    answer = StreamingHttpResponse(write(rows), content_type=f"{kind}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{study.slug}-log.{name}"'
    return answer


def _as_row(event: StudyEvent) -> dict[str, Any]:
    return {
        "at": event.at.isoformat(timespec="seconds"),
        "what": event.what,
        "words": event.words,
        "why": event.why,
        "by": event.by.get_username() if event.by else None,
        "details": event.details,
    }


class _Echo:
    """A file whose ``write`` returns the line."""

    def write(self, line: str) -> str:
        return line


def _csv_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    for row in rows:
        cells = row | {"details": json.dumps(row["details"], ensure_ascii=False, sort_keys=True)}
        yield writer.writerow([guard_formula(cells[name] or "") for name in COLUMNS])


def _json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"


add_page(StudyPage(name="people", label="Access", order=80, view=show_people, group=Group.SHARE))
add_page(StudyPage(name="log", label="Log", order=81, view=show_log, group=Group.SHARE))
add_page(StudyPage(name="log-file", label="", order=82, view=download_log))
for _operation in (give, take):
    add_operation(_operation, label=_operation.summary, beside=False, leads_to=lambda study: "people")

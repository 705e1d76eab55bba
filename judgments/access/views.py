"""The pages "Access" and "Log" of a study: who may do what, and what was done."""

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

from common.files import guard_formula
from common.rows.ids import is_row_id
from judgments.admin.base import BoundedPaginator, signed_in
from judgments.admin.columns import format_json
from judgments.admin.filters import MAX_CHOICES
from judgments.models import Study, StudyEvent, StudyRole
from judgments.studies.operations import grant_role_operation, revoke_role_operation
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

PAGE_SIZE = 50
ROWS_PER_BATCH = 1_000

# roles in a study, from the least to the most powerful, with what each may do
ROLES = [
    ("viewer", "can view all pages, results and files"),
    (
        "reviewer",
        "can also approve and reject work, exclude participants, decide disputes and answer participants",
    ),
    ("designer", "can also change the design, open and close the study, and spend the budget"),
    ("owner", "can also give roles and delete the study"),
]

LOG_COLUMNS = ["at", "what", "words", "why", "by", "details"]  # keys of ``_log_row``


@study_page("people", "Access", order=80, section=StudySection.SHARE, help="roles.md#roles")
def show_people(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    roles = StudyRole.objects.filter(study=study).select_related("user", "given_by")
    page = BoundedPaginator(roles.order_by("given_at", "pk"), PAGE_SIZE).get_page(request.GET.get("page"))
    context |= offered_accounts() if context["may_own"] else {}
    context |= {"page": page, "study_roles": page.object_list, "roles": ROLES}
    context["own_account"] = signed_in(request)
    return TemplateResponse(request, "judgments/study/people.html", context)


def offered_accounts() -> Context:
    """Return the accounts that can get a role, and whether there are more of them than the page offers."""
    staff = User.objects.filter(is_active=True, is_staff=True).order_by("username")
    accounts = list(staff[: MAX_CHOICES + 1])
    return {"accounts": accounts[:MAX_CHOICES], "has_more_accounts": len(accounts) > MAX_CHOICES}


@study_page("log", "Log", order=81, section=StudySection.SHARE, help="roles.md#the-log")
def show_log(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    events = StudyEvent.objects.filter(study=study)
    event_codes = list(events.order_by("what").values_list("what", flat=True).distinct()[:MAX_CHOICES])
    accounts = list(User.objects.filter(pk__in=events.values("by")).order_by("username")[:MAX_CHOICES])
    filtered_events = _filter_events(request, events).select_related("by")
    page = BoundedPaginator(filtered_events, PAGE_SIZE).get_page(request.GET.get("page"))
    filters = {name: request.GET[name] for name in ("what", "by") if request.GET.get(name)}
    context |= {
        "page": page,
        "events": [
            {"event": event, "details": event.details and format_json(event.details)}
            for event in page.object_list
        ],
        "event_codes": event_codes,
        "accounts": accounts,
        "selected_code": request.GET.get("what", ""),
        "selected_account": request.GET.get("by", ""),
        "filter_query": urlencode(filters),
        "is_filtered": bool(filters),
    }
    return TemplateResponse(request, "judgments/study/log.html", context)


def _filter_events(request: HttpRequest, events: QuerySet[StudyEvent]) -> QuerySet[StudyEvent]:
    """Return the entries with the code ``?what=`` and the account ``?by=``, which is a row id or "platform"."""
    code, by = request.GET.get("what", ""), request.GET.get("by", "")
    if code:
        events = events.filter(what=code)
    if by == "platform":
        return events.filter(by=None)
    if by:
        return events.filter(by=int(by)) if is_row_id(by) else events.none()
    return events


@study_page("log-file", order=82)
def download_log(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    """Stream the log: ``?as=csv`` or ``?as=jsonl``."""
    events = _filter_events(request, StudyEvent.objects.filter(study=study)).select_related("by")
    rows = (_log_row(event) for event in events.order_by("pk").iterator(chunk_size=ROWS_PER_BATCH))
    writers = {"csv": (_csv_lines, "text/csv"), "jsonl": (_json_lines, "application/x-ndjson")}
    format = request.GET.get("as", "csv")
    if format not in writers:
        raise Http404
    write, content_type = writers[format]
    response = StreamingHttpResponse(write(rows), content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-log.{format}"'
    return response


def _log_row(event: StudyEvent) -> dict[str, Any]:
    return {
        "at": event.at.isoformat(timespec="seconds"),
        "what": event.what,
        "words": event.words,
        "why": event.why,
        "by": event.by.get_username() if event.by else None,
        "details": event.details,
    }


class _LineWriter:
    """A file-like object for ``csv.writer`` whose ``write`` returns the line."""

    def write(self, line: str) -> str:
        return line


def _csv_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_LineWriter())
    yield writer.writerow(LOG_COLUMNS)
    for row in rows:
        cells = row | {"details": json.dumps(row["details"], ensure_ascii=False, sort_keys=True)}
        yield writer.writerow([guard_formula(cells[name] or "") for name in LOG_COLUMNS])


def _json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"


# the buttons of the page "Access", which shows errors above all forms and not beside one
for _operation in (grant_role_operation, revoke_role_operation):
    add_operation(_operation, label=_operation.summary, inline=False, leads_to=lambda study: "people")

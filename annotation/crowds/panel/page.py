"""The page "Panel" of a study: links and codes for the panel, its list compared with our sessions, and lists to pay by.

An uploaded list is not stored: until it is confirmed, it travels in the page, signed. A large one is kept until a job
has read it and its page was shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core import signing
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotation.crowds.outbox.delivery import carry_out_calls
from annotation.crowds.panel.backend import (
    PanelIds,
    address_back,
    code_for,
    entry_path,
    link_key,
    panel_title,
    signed_links,
)
from annotation.crowds.panel.reconciling import (
    LIST_COLUMNS,
    ComparedSubmission,
    ListProblem,
    PanelListLine,
    as_csv,
    bonus_list,
    book_list,
    compare_panel_list,
    listed_bonuses,
    pay_pages,
    payment_list,
    read_submissions,
    unpaid_pages,
)
from annotation.crowds.people import forget_raw_ids
from annotation.models import CrowdSession, Publication, RawId
from annotation.money.orders import confirmable
from common.errors import WrongState
from common.incoming import MOST_REQUEST_BYTES
from common.incoming.bounded_files import TextRefused, uploaded_text
from common.incoming.json_documents import load_json
from judgments.access.roles import Right
from judgments.admin.base import row_or_404, signed_in
from judgments.admin.jobs import RESULT_PAGES
from judgments.datasets import uploads
from judgments.design.panel_links import session_parameter
from judgments.design.panels import OUTCOMES, PANEL_PRESETS
from judgments.design.study_design import StudyDesign
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study
from judgments.operations import Outcome
from judgments.studies.designs import design_of
from judgments.studies.frame_page import study_context
from judgments.studies.pages import Context, StudyPlace, StudyStep
from judgments.studies.studies import find_study
from judgments.studies.study_page import add_step, study_page, study_page_address

SALT = "quorum.panel-list"  # of a list that travels in the page
LIST_SECONDS = 3600  # seconds in which such a list can be confirmed
MOST_BYTES = 5_000_000  # of an uploaded list
READ_LIST = "read_panel_list"  # the kind of job
MOST_LINES_SHOWN = 300  # lines of each group on the page; the list to download has all
# outcome of a session -> when it comes about
OUTCOME_WORDS = {
    "completed": gettext_noop("all pages of work of the session are submitted"),
    "screened-out": gettext_noop("a requirement, the quiz or a detector screened the participant out"),
    "timed-out": gettext_noop("the participant was away too long, and the place went to somebody else"),
    "returned": gettext_noop("the participant returned the session, or did not consent"),
    "full": gettext_noop("no place was left"),
}
# verdict on a session, title and explanation of the group, in the order of the page
VERDICT_GROUPS = (
    ("pay", gettext_noop("To pay"), gettext_noop("Finished here, not yet approved there.")),
    ("no", gettext_noop("Not to pay"), gettext_noop("Each with its reason.")),
    ("wait", gettext_noop("In progress"), gettext_noop("Nothing to do yet.")),
    ("paid", gettext_noop("Paid"), gettext_noop("Approved there.")),
    (
        "only-there",
        gettext_noop("Only in the panel’s list"),
        gettext_noop("No session here matches them."),
    ),
    ("only-here", gettext_noop("Only here"), gettext_noop("Missing from the list.")),
)


def has_panel(study: Study) -> bool:
    return str(study.design.get("crowd", {}).get("backend", "")) == "external"


@study_page(
    "panel",
    "Panel",
    order=42,
    shown=has_panel,
    group=StudyPlace.LIVE,
    before=StudyPlace.LAUNCH,
    help="crowds/panels.md",
)
def show_panel(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    if "job" in request.GET:
        return _show_read_list(request, study, request.GET["job"])
    return TemplateResponse(
        request, "admin/annotation/study_panel.html", context | _panel_context(request, study)
    )


def _panel_context(request: HttpRequest, study: Study) -> dict[str, Any]:
    design = design_of(study)
    link = _address(request) + entry_path(study, design)
    last, unlisted = listed_bonuses(study)
    partial = unpaid_pages(study) if study.platform else []
    return {
        "design": design,
        "panel_title": panel_title(design),
        "link": link,
        "outcomes": [_outcome(study, design, outcome) for outcome in OUTCOMES],
        "pay_cents": design.crowd.reward_cents * design.panel.hits,
        "places": _places(study),
        "kinds": LIST_COLUMNS,
        "partial": len(partial),
        "partial_cents": sum(part.cents for part in partial),
        "bonus_lists": range(1, last + 1),
        "unlisted": unlisted,
        "raw_ids": RawId.objects.filter(worker__crowd_sessions__study=study).distinct().count(),
        "undecided": CrowdSession.objects.filter(study=study, status="submitted").count(),
        "needs_address": _needs_address(design),
        "link_key": link_key(study) if design.panel.signature else "",
        "signs_sessions": bool(session_parameter(design.panel)),
    }


def _address(request: HttpRequest) -> str:
    return settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")


def _places(study: Study) -> int:
    up = Publication.objects.filter(study=study, hit=None, state=Publication.State.PUBLISHED)
    return up.aggregate(n=Sum("places"))["n"] or 0


def _outcome(study: Study, design: StudyDesign, outcome: str) -> dict[str, str]:
    code = code_for(study, design, outcome)
    shown = PanelIds(worker="WORKER", session="SESSION")
    return {
        "name": outcome,
        "when": _(OUTCOME_WORDS[outcome]),
        "code": "" if design.panel.personal_codes else code,
        "back": address_back(design, outcome, code=code, ids=shown),
    }


def _needs_address(design: StudyDesign) -> bool:
    """Return whether people who are done return to an address that only the panel's own page tells."""
    addresses = PANEL_PRESETS[design.panel.preset].addresses
    return design.panel.preset in ("connect", "sona") and not (
        addresses or design.panel.addresses.get("completed")
    )


def _reconcile(request: HttpRequest, study: Study) -> HttpResponse:
    columns = {kind: request.POST.get(f"column-{kind}", "").strip() for kind in LIST_COLUMNS}
    upload = request.FILES.get("list")
    if "job" in request.POST:
        return _leave_to_job(
            request, study, _job_of(request, study, request.POST["job"]).args["upload"], columns
        )
    if upload is not None and MOST_REQUEST_BYTES < (upload.size or 0) <= MOST_BYTES:
        upload.name = "list.csv"
        return _leave_to_job(request, study, uploads.keep([upload]), columns)
    text = _text_of(request)
    try:
        submissions = read_submissions(text, design_of(study).panel, columns=columns)
    except ListProblem as problem:
        sealed = signing.dumps(text, salt=SALT, compress=True) if problem.columns else ""
        page = {"problem": str(problem), "columns": problem.columns, "hidden": ("text", sealed)}
        return _show_problem(request, study, page)
    return _show_list(request, study, submissions)


def _leave_to_job(request: HttpRequest, study: Study, upload: str, columns: dict[str, str]) -> HttpResponse:
    args = {"study": study.slug, "upload": upload, "columns": columns}
    job = enqueue(kind=READ_LIST, args=args, user=signed_in(request))
    return redirect("admin:judgments_job_change", job.pk)


def _job_of(request: HttpRequest, study: Study, pk: str) -> Job:
    """Return a job of this person that read a list of the study."""
    jobs = Job.objects.filter(kind=READ_LIST, state=Job.State.DONE, args__study=study.slug)
    return row_or_404(jobs.filter(created_by=signed_in(request)), pk)


def _show_read_list(request: HttpRequest, study: Study, pk: str) -> HttpResponse:
    """Show once what a job read."""
    upload = _job_of(request, study, pk).args["upload"]
    try:
        shown = load_json(uploads.job_file(upload).read_text())
        if "rows" not in shown:
            return _show_problem(request, study, shown | {"hidden": ("job", pk)})
        uploads.discard_upload(upload)
        return _show_list(request, study, [PanelListLine(*row) for row in shown["rows"]])
    except FileNotFoundError:
        return _show_problem(
            request, study, {"problem": _("The uploaded list has expired; please upload it again.")}
        )
    except WrongState as error:
        return _show_problem(request, study, {"problem": str(error)})


def _show_problem(request: HttpRequest, study: Study, problem: dict[str, Any]) -> HttpResponse:
    page = _page(request, study) | problem
    return TemplateResponse(request, "admin/annotation/study_panel.html", page, status=400)


def _show_list(request: HttpRequest, study: Study, submissions: Sequence[PanelListLine]) -> HttpResponse:
    page = _page(request, study)
    compared = compare_panel_list(study=study, submissions=submissions)
    rows = [submission.as_json() for submission in submissions]
    page |= {
        "subtitle": _("The panel's list"),
        "groups": [
            {"title": _(title), "about": _(about), "rows": group[:MOST_LINES_SHOWN], "count": len(group)}
            for name, title, about in VERDICT_GROUPS
            if (group := [row for row in compared if row.verdict == name])
        ],
        "odd": sum(row.odd for row in compared),
        "count": len(submissions),
        "pay": sum(row.verdict == "pay" for row in compared),
        "to_approve": sum(_to_approve(row) for row in compared),
        "books": sum(bool(row.books or row.unmatched) for row in compared),
        "sealed": signing.dumps([study.pk, rows], salt=SALT, compress=True),
    }
    return TemplateResponse(request, "admin/annotation/study_reconcile.html", page)


def _to_approve(row: ComparedSubmission) -> bool:
    return row.verdict == "pay" and row.here is not None and row.here.status == CrowdSession.Status.SUBMITTED


def _page(request: HttpRequest, study: Study) -> dict[str, Any]:
    context = study_context(admin.site, request, study, active="panel")
    return context | _panel_context(request, study)


def _text_of(request: HttpRequest) -> str:
    upload = request.FILES.get("list")
    if upload is None:
        try:
            return str(signing.loads(request.POST.get("text", ""), salt=SALT, max_age=LIST_SECONDS))
        except signing.BadSignature:
            raise WrongState(_("Nothing was compared: choose the panel's list (a CSV file) first.")) from None
    try:
        return uploaded_text(upload, most=MOST_BYTES)
    except TextRefused as error:
        raise WrongState(_("Nothing was compared: %(error)s") % {"error": error}) from None


def _sealed_list(request: HttpRequest, study: Study) -> list[PanelListLine]:
    try:
        pk, rows = signing.loads(request.POST.get("sealed", ""), salt=SALT, max_age=LIST_SECONDS)
        if pk == study.pk:
            return [PanelListLine(*row) for row in rows]
    except (signing.BadSignature, ValueError, TypeError):
        pass
    raise WrongState(
        _("Nothing was changed: the list that was shown is more than an hour old; upload it again.")
    )


def _book(request: HttpRequest, study: Study) -> HttpResponse:
    booked = book_list(
        study=study,
        submissions=_sealed_list(request, study),
        approve="approve" in request.POST,
        by=signed_in(request),
    )
    if booked.changed:
        message = (
            _(
                "Recorded: %(approved)s approved, %(rejected)s rejected, %(ended)s ended, %(unmatched)s "
                "paid there that do not count here. Uploading the same list again changes nothing."
            )
            if booked.unmatched
            else _(
                "Recorded: %(approved)s approved, %(rejected)s rejected, %(ended)s ended. Uploading the "
                "same list again changes nothing."
            )
        )
        messages.success(
            request,
            message % asdict(booked),
        )
    else:
        messages.info(request, _("Nothing was changed: everything in the list was recorded before."))
    return redirect(study_page_address(study, "panel"))


def _payment_list(request: HttpRequest, study: Study) -> HttpResponse:
    with translation.override("en"):  # the file is English, as the command writes it
        compared = compare_panel_list(study=study, submissions=_sealed_list(request, study))
    return _download(payment_list(study, compared), f"{study.slug}-payments.csv")


def _bonus_list(request: HttpRequest, study: Study) -> HttpResponse:
    wanted = request.POST.get("number", "")
    number, lines = bonus_list(
        study=study,
        number=int(wanted) if wanted.isdecimal() and len(wanted) < 6 else 0,
        by=signed_in(request),
    )
    return _download(lines, f"{study.slug}-bonuses-{number}.csv")


def _download(rows: Sequence[Sequence[object]], name: str) -> HttpResponse:
    response = HttpResponse(as_csv(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _signed_links(request: HttpRequest, study: Study) -> HttpResponse:
    lines = signed_links(study=study, people=request.POST.get("people", ""), address=_address(request))
    return _download([("id", "link"), *lines], f"{study.slug}-links.csv")


@confirmable("pay-pages")
def _pay_for_pages(*, study: Study, by: User | None, why: str) -> Outcome:
    count = pay_pages(study=study, why=why, by=by)
    message = ngettext(
        "One bonus is recorded; it will be in the next bonus list.",
        "%(count)s bonuses are recorded; they will be in the next bonus list.",
        count,
    )
    return Outcome(message % {"count": count})


def _pay_pages(request: HttpRequest, study: Study) -> HttpResponse:
    outcome = _pay_for_pages(study=study, by=signed_in(request), why=request.POST.get("why", ""))
    if not outcome.waits:
        carry_out_calls(study=study)
    messages.success(request, outcome.message)
    return redirect(study_page_address(study, "panel"))


def _forget(request: HttpRequest, study: Study) -> HttpResponse:
    if request.POST.get("typed", "").strip() != study.slug:
        raise WrongState(
            _("Nothing was deleted: type %(slug)s to say that you mean it.") % {"slug": study.slug}
        )
    gone = forget_raw_ids(study=study, by=signed_in(request))
    message = ngettext("One raw id is deleted.", "%(gone)s raw ids are deleted.", gone)
    messages.success(request, message % {"gone": gone})
    return redirect(study_page_address(study, "panel"))


RESULT_PAGES[READ_LIST] = lambda job: study_page_address(find_study(job.args["study"]), "panel")
add_step(
    StudyStep(name="reconcile", label="Compare with the panel's list", run=_reconcile, permission=Right.VIEW)
)
add_step(
    StudyStep(
        name="payment-list", label="Download the payment list", run=_payment_list, permission=Right.VIEW
    )
)
add_step(StudyStep(name="signed-links", label="Make signed links", run=_signed_links))
add_step(StudyStep(name="book-list", label="Book the panel's list", run=_book))
add_step(StudyStep(name="bonus-list", label="Make a bonus list", run=_bonus_list))
add_step(
    StudyStep(name="pay-pages", label="Pay for pages of work of sessions that ended early", run=_pay_pages)
)
add_step(StudyStep(name="forget-ids", label="Delete raw ids", run=_forget))

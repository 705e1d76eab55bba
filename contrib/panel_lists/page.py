"""The page on which staff compare a panel's list of submissions with the sessions, book it, and download the payments.

An uploaded list is not stored: the page of the comparison contains the list, signed, in a hidden field, and the form
that books the list posts it back. A large list is stored until a job has read it and a page has shown the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.contrib import admin, messages
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds.panel.page import csv_download
from annotation.crowds.panel.page_context import panel_context
from annotation.models import CrowdSession
from common.errors import WrongState
from common.incoming import MAX_REQUEST_BYTES
from common.incoming.bounded_files import TextRefused, uploaded_text
from common.incoming.json_documents import load_json
from contrib.panel_lists.booking import book_list
from contrib.panel_lists.comparison import ComparedSubmission, compare_panel_list
from contrib.panel_lists.payments import payment_list
from contrib.panel_lists.submission_list import LIST_COLUMNS, ListProblem, PanelListLine, read_submissions
from judgments.access.rights import Right
from judgments.admin.base import row_or_404, signed_in
from judgments.admin.jobs import RESULT_PAGES
from judgments.datasets import uploads
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study
from judgments.studies.designs import design_of
from judgments.studies.frame_page import study_context
from judgments.studies.pages import Context, PagePart, StudyStep, never_shown
from judgments.studies.studies import find_study
from judgments.studies.study_page import add_page_part, add_step, study_page, study_page_address

SALT = "quorum.panel-list"  # for the signature of a list in the page
LIST_SECONDS = 3600  # seconds for which the signature is valid
MAX_LIST_BYTES = 5_000_000  # maximum size of an uploaded list
READ_LIST = "read_panel_list"  # the kind of the job that reads a large list
MAX_SHOWN_LINES = 300  # maximum number of lines of each group on the page; the list to download has all
# Each group of the page, in order: the verdict on its submissions, its title and its explanation.
VERDICT_GROUPS = (
    ("pay", gettext_noop("To be paid"), gettext_noop("Finished here, not yet approved at the panel.")),
    ("no", gettext_noop("Not to be paid"), gettext_noop("Each row gives the reason.")),
    ("wait", gettext_noop("In progress"), gettext_noop("Nothing to do yet.")),
    ("paid", gettext_noop("Paid"), gettext_noop("Approved at the panel.")),
    (
        "only-there",
        gettext_noop("Only in the panel’s list"),
        gettext_noop("No session of this study matches these submissions."),
    ),
    (
        "only-here",
        gettext_noop("Only on this site"),
        gettext_noop("These sessions are missing from the panel’s list."),
    ),
)


def _reconcile_list(request: HttpRequest, study: Study) -> HttpResponse:
    """Compare an uploaded list: at once or, if it is large, after a job has read it.

    The form posts "job", the row id of a job, if that job could not find the columns and the person has now named them.
    """
    columns = {kind: request.POST.get(f"column-{kind}", "").strip() for kind in LIST_COLUMNS}
    uploaded_file = request.FILES.get("list")
    if "job" in request.POST:
        upload = _find_list_job(request, study, request.POST["job"]).args["upload"]
        return _start_list_job(request, study, upload, columns)
    if uploaded_file is not None and MAX_REQUEST_BYTES < (uploaded_file.size or 0) <= MAX_LIST_BYTES:
        uploaded_file.name = "list.csv"  # since ``store_upload`` refuses some names
        return _start_list_job(request, study, uploads.store_upload([uploaded_file]), columns)
    text = _read_list_text(request)  # refuses larger files
    try:
        submissions = read_submissions(text, design_of(study).panel, columns=columns)
    except ListProblem as problem:
        sealed_text = signing.dumps(text, salt=SALT, compress=True) if problem.columns else ""
        return _show_problem(request, study, str(problem), problem.columns, text=sealed_text)
    return _show_list(request, study, submissions)


def _start_list_job(request: HttpRequest, study: Study, upload: str, columns: dict[str, str]) -> HttpResponse:
    args = {"study": study.slug, "upload": upload, "columns": columns}
    job = enqueue(kind=READ_LIST, args=args, user=signed_in(request))
    return redirect("admin:judgments_job_change", job.pk)


def _find_list_job(request: HttpRequest, study: Study, pk: str) -> Job:
    """Return the finished job in which this account read a panel's list of the study; raise Http404 if none exists."""
    jobs = Job.objects.filter(kind=READ_LIST, state=Job.State.DONE, args__study=study.slug)
    return row_or_404(jobs.filter(created_by=signed_in(request)), pk)


@study_page("panel-list", order=0, has_tab=never_shown, parent_page="panel")
def show_read_list(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show the list that a job has read, once, and delete the upload; or show why the list cannot be used."""
    if "job" not in request.GET:
        return redirect(study_page_address(study, "panel"))
    pk = request.GET["job"]
    upload = _find_list_job(request, study, pk).args["upload"]
    try:
        result = load_json(uploads.job_file(upload).read_text())
        if "rows" not in result:  # the job did not find the columns
            return _show_problem(request, study, result["problem"], result["columns"], job=pk)
        uploads.discard_upload(upload)
        submissions = [PanelListLine(*fields) for fields in result["rows"]]
        return _show_list(request, study, submissions)
    except FileNotFoundError:
        return _show_problem(request, study, _("The uploaded list has expired; please upload it again."))
    except WrongState as error:
        return _show_problem(request, study, str(error))


def _show_problem(
    request: HttpRequest, study: Study, problem: str, columns: Sequence[str] = (), **hidden_fields: str
) -> HttpResponse:
    """Show why a list cannot be used.

    Args:
        columns: the columns of the list, if the person has to say which is which.
        hidden_fields: hidden fields of the form for this: the signed text of the list ("text"), or the row id of the
            job that read it ("job").
    """
    context = _page_context(request, study)
    context |= {"problem": problem, "list_columns": columns, "hidden_fields": hidden_fields}
    return TemplateResponse(request, "panel_lists/problem.html", context, status=400)


def _show_list(request: HttpRequest, study: Study, submissions: Sequence[PanelListLine]) -> HttpResponse:
    context = _page_context(request, study)
    compared_submissions = compare_panel_list(study=study, submissions=submissions)
    json_lines = [submission.as_json() for submission in submissions]
    groups = []
    for verdict, title, about in VERDICT_GROUPS:
        rows = [row for row in compared_submissions if row.verdict == verdict]
        if rows:
            groups.append(
                {"title": _(title), "about": _(about), "rows": rows[:MAX_SHOWN_LINES], "row_count": len(rows)}
            )
    context |= {
        "subtitle": _("The panel's list"),
        "groups": groups,
        "submission_count": len(submissions),
        "contradictory_count": sum(row.is_contradictory for row in compared_submissions),
        "payable_count": sum(row.verdict == "pay" for row in compared_submissions),
        "unapproved_count": sum(_needs_approval(row) for row in compared_submissions),
        "unbooked_count": sum(bool(row.new_status or row.unmatched_payment) for row in compared_submissions),
        "sealed_list": signing.dumps([study.pk, json_lines], salt=SALT, compress=True),
    }
    return TemplateResponse(request, "panel_lists/comparison.html", context)


def _needs_approval(submission: ComparedSubmission) -> bool:
    session = submission.session
    is_submitted = session is not None and session.status == CrowdSession.Status.SUBMITTED
    return submission.verdict == "pay" and is_submitted


def _page_context(request: HttpRequest, study: Study) -> dict[str, Any]:
    context = study_context(admin.site, request, study, active="panel")
    return context | panel_context(request, study)


def _read_list_text(request: HttpRequest) -> str:
    """Return the text of an uploaded list, or of the signed list in the form with which its columns are chosen."""
    uploaded_file = request.FILES.get("list")
    if uploaded_file is None:
        try:
            return str(signing.loads(request.POST.get("text", ""), salt=SALT, max_age=LIST_SECONDS))
        except signing.BadSignature:
            raise WrongState(_("Nothing was compared: choose the panel's list (a CSV file) first.")) from None
    try:
        return uploaded_text(uploaded_file, max_bytes=MAX_LIST_BYTES)
    except TextRefused as error:
        raise WrongState(_("Nothing was compared: %(error)s") % {"error": error}) from None


def _read_signed_list(request: HttpRequest, study: Study) -> list[PanelListLine]:
    """Return the list in the hidden field of the comparison's page. Raise WrongState if it is older than an hour."""
    try:
        study_pk, lines = signing.loads(request.POST.get("sealed", ""), salt=SALT, max_age=LIST_SECONDS)
        if study_pk == study.pk:
            return [PanelListLine(*fields) for fields in lines]
    except (signing.BadSignature, ValueError, TypeError):
        pass  # refused below, like the list of another study
    raise WrongState(_("Nothing was changed: the list was uploaded more than an hour ago. Upload it again."))


def _book_list(request: HttpRequest, study: Study) -> HttpResponse:
    counts = book_list(
        study=study,
        submissions=_read_signed_list(request, study),
        approve="approve" in request.POST,
        by=signed_in(request),
    )
    if counts.change_count:
        message = (
            _(
                "Sessions recorded as approved: %(approved)s; as rejected: %(rejected)s; as "
                "ended: %(ended)s. Payments at the panel without a session on this site: "
                "%(unmatched)s. Uploading the same list again changes nothing."
            )
            if counts.unmatched
            else _(
                "Sessions recorded as approved: %(approved)s; as rejected: %(rejected)s; as "
                "ended: %(ended)s. Uploading the same list again changes nothing."
            )
        )
        messages.success(request, message % asdict(counts))
    else:
        messages.info(request, _("Nothing was changed: everything in the list is already recorded."))
    return redirect(study_page_address(study, "panel"))


def _send_payment_list(request: HttpRequest, study: Study) -> HttpResponse:
    with translation.override("en"):  # the file is in English, like the one that the command writes
        compared_submissions = compare_panel_list(study=study, submissions=_read_signed_list(request, study))
    return csv_download(payment_list(study, compared_submissions), f"{study.slug}-payments.csv")


def _upload_context(request: HttpRequest, study: Study) -> Context:
    """Return the context of the form that uploads a list, a part of the page Panel."""
    return {"column_kinds": LIST_COLUMNS}


def _result_address(job: Job) -> str:
    return study_page_address(find_study(job.args["study"]), "panel-list")


RESULT_PAGES[READ_LIST] = _result_address
add_page_part(PagePart("panel", "panel_lists/upload.html", _upload_context))
add_step(
    StudyStep(
        name="reconcile", label="Compare with the panel's list", run=_reconcile_list, permission=Right.VIEW
    )
)
add_step(
    StudyStep(
        name="payment-list", label="Download the payment list", run=_send_payment_list, permission=Right.VIEW
    )
)
add_step(StudyStep(name="book-list", label="Record the panel's list", run=_book_list))

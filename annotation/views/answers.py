"""Save, submit and revise answers that a script (as JSON) or a plain form sent.

A plain form is shown again instead of being submitted if a position has invalid input (``invalid_inputs``) or no
answer, or belongs to a group of check boxes of which neither one nor "none" is ticked (``undecided_positions``).
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, resolve_url
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.errors import AnswersMissing, TooLate, TooLateToChange
from annotation.views.decorators import GET_POST, errors_as_pages, see_other
from annotation.views.json_requests import (
    answers_of_request,
    errors_as_json,
    json_object_of,
    view_by_content_type,
)
from annotation.views.sheet_page import read_form, render_sheet, save_form_draft, submit_answers
from annotation.views.visitors import frame_of, own_assignment_of
from annotation.work.answers.checks import unanswered_positions
from annotation.work.answers.form_answers import undecided_positions
from annotation.work.answers.revisions import revise_judgments, revision_deadline
from annotation.work.sheet.units import page_units_of
from annotation.work.submissions import advice_on, save_answers, submit_and_claim
from judgments.studies.designs import kind_of


@errors_as_json
def _save_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    answers = answers_of_request(request)
    save_answers(assignment=assignment, answers=answers)
    reply: dict[str, Any] = {"saved": True}
    if advice := advice_on(assignment, answers):
        reply["advice"] = advice  # by position, sentences on how to improve valid answers
    return JsonResponse(reply)


@errors_as_json
def _submit_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Submit the answers and claim the next page.

    The reply says where the browser goes ("where") and, if there is one, which assignment comes next ("next") and how
    many seconds its lease lasts ("left"). "change" is the address to revise the answers.
    """
    assignment = own_assignment_of(request, slug, assignment_id)
    if frame_of(request) is not None:  # the page is in Mechanical Turk's iframe, which shows one assignment
        submit_answers(request, assignment, answers_of_request(request))
        return JsonResponse({"next": None, "where": resolve_url("annotation:finish", slug)})
    submission, claim = submit_and_claim(assignment=assignment, answers=answers_of_request(request))
    message = _("Your page of work is submitted.")
    reply: dict[str, Any] = {"said": message, "next": None, "where": resolve_url("annotation:work", slug)}
    if claim is not None:
        next_assignment = claim.assignment
        seconds_left = (
            (next_assignment.expires_at - timezone.now()).total_seconds() if next_assignment.expires_at else 0
        )
        reply |= {"next": str(next_assignment.pk), "left": max(0, int(seconds_left))}
    if revision_deadline(submission.assignment) is not None:
        reply["change"] = resolve_url("annotation:change", slug, assignment_id)
    # a script that has fetched the next page ahead shows it without a request, so it shows the message itself
    shows_prefetched_page = reply["next"] is not None and reply["next"] == json_object_of(request).get(
        "ahead"
    )
    if not shows_prefetched_page:
        messages.success(request, message)
    return JsonResponse(reply)


@errors_as_json
def _change_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    changed_positions = revise_judgments(assignment=assignment, answers=answers_of_request(request))
    messages.success(request, _change_message(changed_positions))
    return JsonResponse({"next": None, "where": resolve_url("annotation:work", slug)})


def _change_message(changed_positions: list[int]) -> str:
    if not changed_positions:
        return _("Nothing changed: your answers stay as they are.")
    return _("Your answers are changed. The answers that you submitted first are kept too.")


@errors_as_pages
def _save_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    save_form_draft(request, own_assignment_of(request, slug, assignment_id))
    messages.success(request, _("Saved. You can go on now or later."))
    return see_other("annotation:work", slug)


save = never_cache(require_POST(view_by_content_type(_save_json, _save_form)))


@never_cache
@require_http_methods(GET_POST)
def submit(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    if request.method != "POST":  # the address of a refused form was loaded again
        return redirect("annotation:work", slug)
    return view_by_content_type(_submit_json, _submit_form)(request, slug=slug, assignment_id=assignment_id)


@errors_as_pages
def _submit_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    page_units = page_units_of(assignment)
    kind = kind_of(assignment.study)
    answers, invalid_inputs = read_form(request, assignment, page_units, final=True)  # inputs by position
    try:
        if invalid_inputs:
            draft = save_answers(assignment=assignment, answers=answers, unfinished=invalid_inputs).answers
            raise AnswersMissing(unanswered_positions(page_units, draft, kind=kind))
        if missing_positions := undecided_positions(request.POST, page_units, kind):
            save_answers(assignment=assignment, answers=answers)
            raise AnswersMissing(missing_positions)
        submission = submit_answers(request, assignment, answers)
    except TooLate:
        if frame_of(request) is None:  # in a crowd's frame, late answers are already stored separately
            save_answers(assignment=assignment, answers=answers, unfinished=invalid_inputs, keep_late=True)
        raise
    except AnswersMissing as error:
        assignment.refresh_from_db(fields=["answers"])
        return render_sheet(request, assignment, page_units, missing=error.missing, status=422)
    if not submission.is_repeat and frame_of(request) is None:  # in a frame, the last page says so
        messages.success(request, _("Your page of work is submitted."))
    return see_other("annotation:work", slug)


@never_cache
@require_http_methods(GET_POST)
def change(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Show submitted answers to revise them, or store the revised answers."""
    view = view_by_content_type(_change_json, _change_form) if request.method == "POST" else _change_form
    return view(request, slug=slug, assignment_id=assignment_id)


@errors_as_pages
def _change_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    deadline = revision_deadline(assignment)
    if deadline is None or deadline <= timezone.now():
        raise TooLateToChange(_("Your answers stay as you submitted them: you cannot change them any more."))
    page_units = page_units_of(assignment)
    if request.method != "POST":
        return render_sheet(request, assignment, page_units, revising=True)
    answers, invalid_inputs = read_form(request, assignment, page_units, final=True)  # inputs by position
    unticked_positions = undecided_positions(request.POST, page_units, kind_of(assignment.study))
    missing_positions = [*invalid_inputs, *unticked_positions]
    if missing_positions:
        return render_sheet(
            request,
            assignment,
            page_units,
            revising=True,
            missing=missing_positions,
            unfinished=invalid_inputs,
            status=422,
        )
    changed_positions = revise_judgments(assignment=assignment, answers=answers)
    messages.success(request, _change_message(changed_positions))
    return see_other("annotation:work", slug)

"""The public pages of the evaluation server: challenges, leaderboards, and an account's submissions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.amounts import thousands
from common.errors import ObjectNotFound, QuorumError
from common.features import feature_settings
from common.markup import render_markdown
from contrib.challenges.api import SUBMISSION_TAG
from contrib.challenges.caption_files import max_request_bytes, max_submission_bytes, states_more_bytes
from contrib.challenges.challenges import find_challenge
from contrib.challenges.forms import SubmissionForm
from contrib.challenges.models import Challenge, Submission
from contrib.challenges.scores.leaderboard import leaderboard_rows, score_cells_of
from contrib.challenges.submissions import (
    SUBMIT_JOB_KIND,
    SubmissionDetails,
    change_submission_visibility,
    remaining_submissions,
    submit_upload,
)
from judgments.access.tokens import create_token, revoke_token
from judgments.jobs.queues import cancel_job
from judgments.models import ApiToken, Job

MAX_CHALLENGES = 100
MAX_SHOWN_JOBS = 5
HTTP_SEE_OTHER = 303


class SignIn(LoginView):
    """The sign-in page for all accounts. The admin's own page admits only staff."""

    template_name = "challenges/sign_in.html"
    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        return reverse("challenges:challenges")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return _see_other("challenges:challenges")


@never_cache
@require_safe
def list_challenges(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    rows = Challenge.objects.select_related("dataset")[:MAX_CHALLENGES]
    entries = [{"challenge": row, "state": _describe_state(row)} for row in rows]
    return render(request, "challenges/list.html", {"challenges": entries, "now": now})


@never_cache
@require_safe
def show_challenge(request: HttpRequest, slug: str) -> HttpResponse:
    challenge, user, now = _find_challenge(slug), _signed_in_user(request), timezone.now()
    rows = leaderboard_rows(challenge=challenge, user_id=user.pk if user else None, now=now)
    context: dict[str, Any] = {
        "challenge": challenge,
        "state": _describe_state(challenge),
        "description": render_markdown(challenge.description),
        "leaderboard_rows": rows,
        "has_ranks": any(row.rank_low is not None for row in rows),
        "shows_scores": challenge.shows_scores_at(now),
        "remaining": remaining_submissions(challenge=challenge, user=user) if user else None,
    }
    return render(request, "challenges/challenge.html", context)


@csrf_exempt  # the token is checked below, once it is known that the request is small enough to be read
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def submit_to_challenge(request: HttpRequest, slug: str) -> HttpResponse:
    challenge = _find_challenge(slug)
    if _signed_in_user(request) is None:
        return _redirect_to_sign_in(request)
    if states_more_bytes(request, max_request_bytes(challenge.images)):
        error = _("The file is too large. This challenge accepts files of at most %(most)s bytes.") % {
            "most": thousands(max_submission_bytes(challenge.images))
        }
        # the body is not read
        return _form_page(request, challenge, SubmissionForm(), status=413, error=error)
    return _submit_form(request, challenge)


@csrf_protect
def _submit_form(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    user = _signed_in_user(request)
    assert user is not None, "submit_to_challenge requires an account"
    if request.method != "POST":
        form = SubmissionForm()
        form.fields["team"].initial = user.get_full_name()
        return _form_page(request, challenge, form)
    form_data: Any = request.POST.copy()
    form_data.update(request.FILES)
    form = SubmissionForm(data=form_data)
    if not form.is_valid():
        return _form_page(request, challenge, form, status=400)
    values = dict(form.validated_data)
    file = values.pop("file")
    try:
        submission_or_job, is_new = submit_upload(
            challenge=challenge, user=user, details=SubmissionDetails(**values), file=file
        )
    except QuorumError as error:
        return _form_page(request, challenge, form, status=error.status, error=str(error))
    if not isinstance(submission_or_job, Job):  # a large file is read by a job, which the page shows
        message = (
            _("Your captions are stored and will be scored.")
            if is_new
            else _("These captions were already submitted.")
        )
        messages.success(request, message)
    return _see_other("challenges:own", challenge.slug)


@never_cache
@require_safe
def own_submissions(request: HttpRequest, slug: str) -> HttpResponse:
    challenge, user = _find_challenge(slug), _signed_in_user(request)
    return _redirect_to_sign_in(request) if user is None else _own_submissions_page(request, challenge, user)


@never_cache
@require_POST
def make_token(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a token for the account's programs, and show it once. The earlier one, known by its name, is revoked."""
    challenge, user = _find_challenge(slug), _signed_in_user(request)
    if user is None:
        return _see_other("challenges:own", slug)
    with transaction.atomic():
        # Simultaneous requests of an account wait for each other, so that only one token stays valid.
        User.objects.select_for_update().get(pk=user.pk)
        for token in ApiToken.objects.filter(user=user, name=SUBMISSION_TAG, revoked_at=None):
            revoke_token(token=token)
        scopes = list(feature_settings.FEATURES["challenges"].participant_scopes)
        _token, key = create_token(user=user, name=SUBMISSION_TAG, scopes=scopes)
    return _own_submissions_page(request, challenge, user, key=key)


def _own_submissions_page(
    request: HttpRequest, challenge: Challenge, user: User, *, key: str = ""
) -> HttpResponse:
    """Show the account's submissions, and a token that was created just now (``key``)."""
    shows_scores = challenge.shows_scores_at(timezone.now())
    submissions = list(Submission.objects.filter(challenge=challenge, user=user))
    rows = [
        {"submission": row, "cells": score_cells_of(challenge, row) if shows_scores else []}
        for row in submissions
    ]
    jobs = _jobs_of(challenge, user).exclude(state=Job.State.DONE)
    context = {
        "challenge": challenge,
        "rows": rows,
        "jobs": jobs.filter(created_at__gt=timezone.now() - timedelta(days=1))[:MAX_SHOWN_JOBS],
        "shows_scores": shows_scores,
        "remaining": remaining_submissions(challenge=challenge, user=user),
        "has_unscored": any(submission.state == Submission.State.QUEUED for submission in submissions),
        "state": _describe_state(challenge),
        "new_token": key,
    }
    return render(request, "challenges/own.html", context)


@require_POST
def set_submission_visibility(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    user = _signed_in_user(request)
    if user is None:
        raise Http404
    rows = Submission.objects.select_related("challenge").filter(challenge__slug=slug, user=user)
    submission = rows.filter(pk=pk, removed_at__isnull=True).first()
    if submission is None:
        raise Http404
    change_submission_visibility(submission=submission, public=request.POST.get("public") == "yes")
    return _see_other("challenges:own", slug)


@require_POST
def cancel_submission_job(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    user = _signed_in_user(request)
    job = _jobs_of(_find_challenge(slug), user).filter(pk=pk).first() if user else None
    if job is None:
        raise Http404
    try:
        cancel_job(job)
    except QuorumError as error:
        messages.error(request, str(error))
    return _see_other("challenges:own", slug)


def _jobs_of(challenge: Challenge, user: User) -> QuerySet[Job]:
    """Return the jobs that read the account's files for the challenge."""
    return Job.objects.filter(kind=SUBMIT_JOB_KIND, created_by=user, args__challenge=challenge.slug)


def _find_challenge(slug: str) -> Challenge:
    try:
        return find_challenge(slug)
    except ObjectNotFound:
        raise Http404 from None


def _signed_in_user(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) and request.user.is_active else None


def _describe_state(challenge: Challenge) -> str:
    """Return "coming", "open" or "over"."""
    now = timezone.now()
    if challenge.is_over_at(now):
        return "over"
    return "open" if challenge.is_open_at(now) else "coming"


def _form_page(
    request: HttpRequest, challenge: Challenge, form: SubmissionForm, *, status: int = 200, error: str = ""
) -> HttpResponse:
    user = _signed_in_user(request)
    context = {
        "challenge": challenge,
        "form": form,
        "error": error,
        "max_bytes": max_submission_bytes(challenge.images),
        "state": _describe_state(challenge),
        "remaining": remaining_submissions(challenge=challenge, user=user) if user else None,
    }
    return render(request, "challenges/submit.html", context, status=status)


def _redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('challenges:sign-in')}?{urlencode({'next': request.path})}")


def _see_other(to: str, *args: Any) -> HttpResponse:
    return HttpResponseRedirect(resolve_url(to, *args), status=HTTP_SEE_OTHER)

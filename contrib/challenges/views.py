"""The public pages of the evaluation server, and challenges, leaderboards and the user's submissions over HTTP."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse as api_reverse
from rest_framework.viewsets import GenericViewSet

from common.amounts import thousands
from common.errors import ObjectNotFound, QuorumError
from common.markup import render_markdown
from common.parameters import Parameters
from contrib.challenges.challenges import find_challenge, leaderboard, score_cells_of
from contrib.challenges.errors import SubmissionRefused
from contrib.challenges.models import Challenge, Submission
from contrib.challenges.page import SubmissionBody, SubmissionForm
from contrib.challenges.submissions import (
    SUBMIT,
    SubmissionDetails,
    largest_submission,
    remaining_submissions,
    show_submission,
    submit_upload,
)
from judgments.access.permissions import token_of
from judgments.access.tokens import PARTICIPANT_SCOPES, create_token, revoke_token, scope_allows
from judgments.api.bodies import FormParser
from judgments.api.resources import (
    SLUG,
    JobSerializer,
    Related,
    RowSerializer,
    filters_of,
    job_action,
    job_response,
)
from judgments.jobs.queues import cancel_job
from judgments.models import ApiToken, Job

MAX_CHALLENGES = 100
JOBS_SHOWN = 5
ROOM_FOR_FIELDS = 1 << 16  # bytes of a request in addition to its file
SEE_OTHER = 303
REFUSALS = {
    404: OpenApiResponse(description="There is no such challenge."),
    409: OpenApiResponse(description="It takes no captions now, or its references changed."),
    429: OpenApiResponse(description="As many submissions as it allows were made."),
}
DIGITS = 3
SUBMISSION_TAG = "submissions to challenges"


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
def challenges(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    rows = Challenge.objects.select_related("dataset")[:MAX_CHALLENGES]
    listed = [{"challenge": row, "state": _describe_state(row)} for row in rows]
    return render(request, "challenges/list.html", {"challenges": listed, "now": now})


@never_cache
@require_safe
def challenge(request: HttpRequest, slug: str) -> HttpResponse:
    challenge, user, now = _find_challenge(slug), _signed_in_user(request), timezone.now()
    rows = leaderboard(challenge=challenge, user_id=user.pk if user else None, now=now)
    context: dict[str, Any] = {
        "challenge": challenge,
        "state": _describe_state(challenge),
        "description": render_markdown(challenge.description),
        "rows": rows,
        "ranked": any(row.low is not None for row in rows),
        "shown": challenge.shows_scores_at(now),
        "places": remaining_submissions(challenge=challenge, user=user) if user else None,
    }
    return render(request, "challenges/challenge.html", context)


@csrf_exempt  # the token is checked below, once it is known that the request is small enough to be read
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def submit_to_challenge(request: HttpRequest, slug: str) -> HttpResponse:
    challenge = _find_challenge(slug)
    if _signed_in_user(request) is None:
        return _redirect_to_sign_in(request)
    if is_too_large(request, challenge):
        error = _("The file is too large. This challenge accepts files of at most %(most)s bytes.") % {
            "most": thousands(largest_submission(challenge.images))
        }
        # the body is not read
        return _form_page(request, challenge, SubmissionForm(), status=413, error=error)
    return _submit(request, challenge)


@csrf_protect
def _submit(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    user = _signed_in_user(request)
    assert user is not None, "submit asked"
    if request.method != "POST":
        form = SubmissionForm()
        form.fields["team"].initial = user.get_full_name()
        return _form_page(request, challenge, form)
    sent: Any = request.POST.copy()  # the copy includes the file
    sent.update(request.FILES)
    form = SubmissionForm(data=sent)
    if not form.is_valid():
        return _form_page(request, challenge, form, status=400)
    values = dict(form.validated_data)
    file = values.pop("file")
    try:
        accepted, new = submit_upload(
            challenge=challenge, user=user, about=SubmissionDetails(**values), file=file
        )
    except QuorumError as error:
        return _form_page(request, challenge, form, status=error.status, error=str(error))
    if not isinstance(accepted, Job):  # a job is shown on the page instead
        message = (
            _("Your captions are stored and will be scored.")
            if new
            else _("These captions were already submitted.")
        )
        messages.success(request, message)
    return _see_other("challenges:own", challenge.slug)


@never_cache
@require_safe
def own_submissions(request: HttpRequest, slug: str) -> HttpResponse:
    challenge, user = _find_challenge(slug), _signed_in_user(request)
    return _redirect_to_sign_in(request) if user is None else _own_page(request, challenge, user)


@never_cache
@require_POST
def make_token(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a token for the account's programs, and show it once. The previous token from this page is revoked."""
    challenge, user = _find_challenge(slug), _signed_in_user(request)
    if user is None:
        return _see_other("challenges:own", slug)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        for token in ApiToken.objects.filter(user=user, name=SUBMISSION_TAG, revoked_at=None):
            revoke_token(token=token)
        _token, key = create_token(user=user, name=SUBMISSION_TAG, scopes=PARTICIPANT_SCOPES)
    return _own_page(request, challenge, user, key=key)


def _own_page(request: HttpRequest, challenge: Challenge, user: User, *, key: str = "") -> HttpResponse:
    shown = challenge.shows_scores_at(timezone.now())
    submissions = list(Submission.objects.filter(challenge=challenge, user=user))
    rows = [
        {"submission": row, "cells": score_cells_of(challenge, row) if shown else []} for row in submissions
    ]
    jobs = _jobs_of(challenge, user).exclude(state=Job.State.DONE)
    context = {
        "challenge": challenge,
        "rows": rows,
        "jobs": jobs.filter(created_at__gt=timezone.now() - timedelta(days=1))[:JOBS_SHOWN],
        "shown": shown,
        "places": remaining_submissions(challenge=challenge, user=user),
        "waiting": any(submission.state == Submission.State.QUEUED for submission in submissions),
        "state": _describe_state(challenge),
        "key": key,
    }
    return render(request, "challenges/own.html", context)


@require_POST
def show_one_submission(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    user = _signed_in_user(request)
    if user is None:
        raise Http404
    rows = Submission.objects.select_related("challenge").filter(challenge__slug=slug, user=user)
    submission = rows.filter(pk=pk, removed_at__isnull=True).first()
    if submission is None:
        raise Http404
    show_submission(submission=submission, public=request.POST.get("public") == "yes")
    return _see_other("challenges:own", slug)


@require_POST
def cancel_one_job(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
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
    return Job.objects.filter(kind=SUBMIT, created_by=user, args__challenge=challenge.slug)


def is_too_large(request: HttpRequest, challenge: Challenge) -> bool:
    """Return whether the stated length of the body exceeds the challenge's limit. The body is not read."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > largest_submission(challenge.images) + ROOM_FOR_FIELDS


def _find_challenge(slug: str) -> Challenge:
    try:
        return find_challenge(slug)
    except ObjectNotFound:
        raise Http404 from None


def _signed_in_user(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) and request.user.is_active else None


def _describe_state(challenge: Challenge) -> str:
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
        "most": largest_submission(challenge.images),
        "state": _describe_state(challenge),
        "places": remaining_submissions(challenge=challenge, user=user) if user else None,
    }
    return render(request, "challenges/submit.html", context, status=status)


def _redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('challenges:sign-in')}?{urlencode({'next': request.path})}")


def _see_other(to: str, *args: Any) -> HttpResponse:
    return HttpResponseRedirect(resolve_url(to, *args), status=SEE_OTHER)


class TooLarge(SubmissionRefused):
    """Raised if a request is larger than any file of captions that the challenge accepts."""

    status = 413


class IsParticipant(BasePermission):
    """Allow every account of this installation. A token needs the scope for the action."""

    message = "This is for accounts of this installation."

    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.user, User) or not request.user.is_active:
            return False
        token = token_of(request)
        scope = f"submissions:{'read' if request.method in SAFE_METHODS else 'write'}"
        if token is not None and not scope_allows(token.scopes, scope):
            raise PermissionDenied(f"The token lacks the scope {scope}.")
        return True


class OpenToParticipants:
    """A mixin for resources whose rows belong to no study. No role in a study restricts them."""

    reading: ClassVar[str] = "judgments.view_study"
    permission_classes: Any = (IsParticipant,)

    def rows_for(self, queryset: QuerySet[Any], studies: Any, request: Request) -> QuerySet[Any]:
        return queryset


class ChallengeSerializer(RowSerializer[Challenge]):
    """A challenge with the facts on its public page."""

    dataset = Related("dataset.name")
    metrics = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Challenge
        fields = [
            *("slug", "title", "description", "dataset", "split", "metrics", "tokenizer", "images"),
            *("opens_at", "closes_at", "per_day", "per_total", "shown_before_end"),
        ]


class RoundedScoreField(serializers.FloatField):
    """A score with as many digits as the leaderboard shows.

    With more digits, scores of single images could be inferred.
    """

    def to_representation(self, value: Any) -> Any:
        return round(float(value), DIGITS)


class FiguresSerializer(serializers.Serializer[Any]):
    """A metric's score over all images. It has an interval if the score is a mean over images."""

    corpus = RoundedScoreField()
    low = RoundedScoreField(required=False)
    high = RoundedScoreField(required=False)


class SubmissionSerializer(RowSerializer[Submission]):
    """A submission of the caller's account. Its scores are empty while the challenge does not show them."""

    challenge = Related("challenge.slug")
    scores = serializers.SerializerMethodField()
    signatures = serializers.DictField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Submission
        fields = [
            *("id", "challenge", "system", "team", "description", "link", "public", "sha256", "captions"),
            *("state", "reason", "scores", "signatures", "removed_at", "removed_why", "made_at", "scored_at"),
        ]

    @extend_schema_field(serializers.DictField(child=FiguresSerializer()))
    def get_scores(self, row: Any) -> dict[str, dict[str, float]]:
        shown = row.scores if row.challenge.shows_scores_at(timezone.now()) else {}
        return {metric: dict(FiguresSerializer(figures).data) for metric, figures in shown.items()}


class PlaceSerializer(serializers.Serializer[Any]):
    """A row of a leaderboard."""

    rank_low = serializers.IntegerField(
        source="low", allow_null=True, help_text="Null until ranks are computed."
    )
    rank_high = serializers.IntegerField(source="high", allow_null=True)
    submission = serializers.IntegerField(source="submission.pk")
    system = serializers.CharField(source="submission.system")
    team = serializers.CharField(source="submission.team")
    description = serializers.CharField(source="submission.description")
    link = serializers.CharField(source="submission.link")
    own = serializers.BooleanField()
    made_at = serializers.DateTimeField(source="submission.made_at")
    scores = serializers.DictField(child=FiguresSerializer(), source="submission.scores")


class LeaderboardSerializer(serializers.Serializer[Any]):
    """A leaderboard with all of its rows, best first."""

    ranked_by = serializers.CharField()
    shown = serializers.BooleanField()
    rows = PlaceSerializer(many=True)


class PublicSerializer(Parameters):
    """Whether a submission is shown on the leaderboard."""

    public = serializers.BooleanField()


@extend_schema_view(leaderboard=extend_schema(responses=LeaderboardSerializer, filters=False))
class ChallengeResource(
    OpenToParticipants, mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Challenge]
):
    """Challenges: datasets whose references are hidden, with leaderboards of systems that caption their images."""

    queryset = Challenge.objects.select_related("dataset")
    serializer_class = ChallengeSerializer
    orderings: ClassVar[dict[str, str]] = {"slug": "slug", "opens_at": "opens_at"}
    lookup_field, lookup_value_regex = "slug", SLUG

    @action(detail=True, methods=["get"], pagination_class=None)
    def leaderboard(self, request: Request, slug: str) -> Response:
        """Return the rows of the leaderboard with ranges of ranks; none while scores are not shown."""
        challenge, now = find_challenge(slug), timezone.now()
        rows = leaderboard(challenge=challenge, user_id=request.user.pk, now=now)
        shown = {"ranked_by": challenge.ranked_by, "shown": challenge.shows_scores_at(now), "rows": rows}
        return Response(LeaderboardSerializer(shown).data)


@extend_schema_view(
    create=extend_schema(
        request={"multipart/form-data": SubmissionBody},
        responses={
            201: SubmissionSerializer,
            200: SubmissionSerializer,
            **REFUSALS,
            202: OpenApiResponse(
                JobSerializer, description="A job reads the file; its result is the submission."
            ),
        },
        description="COCO results JSON with a caption of every image; 200 where the same captions were there already, "
        "202 where the file is larger than 64 kB.",
    ),
    partial_update=extend_schema(request=PublicSerializer, responses=SubmissionSerializer),
)
class SubmissionResource(
    OpenToParticipants, mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Submission]
):
    """The submissions of the caller's account. Send a file, then poll its state."""

    filterset_class = filters_of(Submission, "state", "public")
    queryset = Submission.objects.select_related("challenge")
    serializer_class = SubmissionSerializer
    orderings: ClassVar[dict[str, str]] = {"id": "pk"}
    lookup_value_regex = "[0-9]{1,18}"

    def get_queryset(self) -> QuerySet[Submission]:
        return super().get_queryset().filter(user=self.request.user.pk)

    def get_parsers(self) -> list[BaseParser]:
        if self.request is not None and self.request.method == "POST":
            return [FormParser()]
        return super().get_parsers()

    def create(self, request: Request) -> Response:
        """Store captions, and queue them for scoring."""
        _refuse_too_large(request)
        data = request.data
        if not isinstance(data, QueryDict):  # a request without a body is not a form, either
            raise ValidationError("The body is empty; expected a form (multipart/form-data) with a file.")
        challenge = find_challenge(data.get("challenge", ""))
        values = copy(data)  # a deep copy would copy the file, too
        values.setdefault("public", "true")  # in a form, a missing field means that the box was not ticked
        form = SubmissionForm(data=values)
        form.is_valid(raise_exception=True)
        about = dict(form.validated_data)
        file = about.pop("file")
        if file.size > largest_submission(challenge.images):
            raise TooLarge(f"The file is larger than {largest_submission(challenge.images):,} bytes.")
        assert isinstance(request.user, User), "the permission asked"
        accepted, new = submit_upload(
            challenge=challenge, user=request.user, about=SubmissionDetails(**about), file=file
        )
        if isinstance(accepted, Job):
            return job_response(request, accepted, route="api:submission-jobs-detail")
        address = api_reverse("api:submissions-detail", args=[accepted.pk], request=request)
        return Response(
            self.get_serializer(accepted).data,
            status=status.HTTP_201_CREATED if new else status.HTTP_200_OK,
            headers={"Location": address},
        )

    def partial_update(self, request: Request, pk: str) -> Response:
        """Show a submission on the leaderboard, or hide it."""
        submission = self.get_object()
        show_submission(submission=submission, public=PublicSerializer.read(request.data)["public"])
        return Response(self.get_serializer(submission).data)


class SubmissionJobResource(OpenToParticipants, mixins.RetrieveModelMixin, GenericViewSet[Job]):
    """The jobs that read large files of the caller's account."""

    queryset = Job.objects.filter(kind=SUBMIT)
    serializer_class = JobSerializer
    lookup_value_regex = "[0-9]{1,18}"

    def get_queryset(self) -> QuerySet[Job]:
        return super().get_queryset().filter(created_by=self.request.user.pk)

    @job_action("It has ended.")
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel the job. Nothing is submitted, and nothing counts towards limits."""
        job = self.get_object()
        cancel_job(job)
        return Response(self.get_serializer(job).data)


def _refuse_too_large(request: Request) -> None:
    """Raise TooLarge if the stated length of the body is too large. The body is not read."""
    sizes = Challenge.objects.order_by("-images").values_list("images", flat=True)[:1]
    most = largest_submission(sizes[0] if sizes else 0) + (1 << 16)
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal() or int(length) > most:
        raise TooLarge(f"The request is larger than {most:,} bytes.")

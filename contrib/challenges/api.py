"""The calls that list challenges and leaderboards, and submit captions."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ParseError, PermissionDenied, ValidationError
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse as api_reverse
from rest_framework.viewsets import GenericViewSet

from common.files import can_be_stored
from common.parameters import Parameters
from common.rows.ids import ID_REGEX
from contrib.challenges.caption_files import max_request_bytes, max_submission_bytes, states_more_bytes
from contrib.challenges.challenges import find_challenge
from contrib.challenges.errors import SubmissionRefused
from contrib.challenges.forms import SubmissionBody, SubmissionForm
from contrib.challenges.models import Challenge, Submission
from contrib.challenges.scores.leaderboard import leaderboard_rows
from contrib.challenges.submissions import (
    SUBMIT_JOB_KIND,
    SubmissionDetails,
    change_submission_visibility,
    submit_upload,
)
from judgments.access.permissions import token_of
from judgments.access.tokens import scope_allows
from judgments.api.bodies import refuse_compressed
from judgments.api.filters import filters_of
from judgments.api.jobs import JobSerializer, job_action, job_response
from judgments.api.resources import SLUG, Related, RowSerializer
from judgments.jobs.queues import cancel_job
from judgments.models import Job

REFUSAL_RESPONSES = {
    404: OpenApiResponse(description="There is no such challenge."),
    409: OpenApiResponse(description="The challenge is not open, or you can read its references."),
    429: OpenApiResponse(
        description="Your account has made as many submissions as the challenge allows, or makes too many at once."
    ),
}

SCORE_DIGITS = 3  # decimal places of a score
SUBMISSION_TAG = "submissions to challenges"


class SubmissionTooLarge(SubmissionRefused):
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
    """A mixin for resources that every account may use. Their rows belong to no study, so no role restricts them.

    Accounts with ``read_permission`` see all rows. For others, ``VisibleRows`` calls ``rows_for``: again all rows.
    """

    read_permission: ClassVar[str] = "judgments.view_study"
    permission_classes: Any = (IsParticipant,)

    def rows_for(self, queryset: QuerySet[Any], studies: Any, request: Request) -> QuerySet[Any]:
        return queryset


class ChallengeSerializer(RowSerializer[Challenge]):
    """A challenge with the facts on its public page."""

    dataset = Related("dataset.name")
    metrics = serializers.ListField(
        child=serializers.CharField(),
        read_only=True,
        help_text="Names of the metrics. The leaderboard is sorted by the first one.",
    )

    class Meta:
        model = Challenge
        fields = [
            *("slug", "title", "description", "dataset", "split", "metrics", "tokenizer", "images"),
            *("opens_at", "closes_at", "per_day", "per_total", "shown_before_end"),
        ]


class RoundedScoreField(serializers.FloatField):
    """A score with as many decimal places as the leaderboard shows.

    From more decimal places, scores of single images could be inferred.
    """

    def to_representation(self, value: Any) -> Any:
        return round(float(value), SCORE_DIGITS)


class CorpusScoreSerializer(serializers.Serializer[Any]):
    """A metric's score over all images, with three decimal places. It has an interval if it is a mean over images."""

    corpus = RoundedScoreField(help_text="Score over all images.")
    low = RoundedScoreField(
        required=False, help_text="Lower end of the 95 % interval; absent without an interval."
    )
    high = RoundedScoreField(
        required=False, help_text="Upper end of the 95 % interval; absent without an interval."
    )


class SubmissionSerializer(RowSerializer[Submission]):
    """A submission of the caller's account."""

    challenge = Related("challenge.slug")
    scores = serializers.SerializerMethodField(
        help_text="Score by each metric; empty before the submission is scored, and while the challenge hides scores."
    )
    signatures = serializers.DictField(
        child=serializers.CharField(),
        read_only=True,
        help_text="By metric: the signature, which names its settings and version; empty before the submission is "
        "scored.",
    )

    class Meta:
        model = Submission
        fields = [
            *("id", "challenge", "system", "team", "description", "link", "public", "sha256", "captions"),
            *("state", "reason", "scores", "signatures", "removed_at", "removed_why", "made_at", "scored_at"),
        ]

    @extend_schema_field(serializers.DictField(child=CorpusScoreSerializer()))
    def get_scores(self, row: Any) -> dict[str, dict[str, float]]:
        shown_scores = row.scores if row.challenge.shows_scores_at(timezone.now()) else {}
        return {metric: dict(CorpusScoreSerializer(score).data) for metric, score in shown_scores.items()}


class LeaderboardRowSerializer(serializers.Serializer[Any]):
    """A row of a leaderboard."""

    rank_low = serializers.IntegerField(
        allow_null=True, help_text="Best rank that the tests leave open; null until ranks are computed."
    )
    rank_high = serializers.IntegerField(
        allow_null=True, help_text="Worst rank that the tests leave open; null until ranks are computed."
    )
    submission = serializers.IntegerField(source="submission.pk", help_text="Id of the submission.")
    system = serializers.CharField(source="submission.system", help_text="Name of the system.")
    team = serializers.CharField(source="submission.team", help_text="Authors of the submission.")
    description = serializers.CharField(
        source="submission.description", help_text="How the system works; may be empty."
    )
    link = serializers.CharField(
        source="submission.link", help_text="Address of a paper or a page about the system; may be empty."
    )
    own = serializers.BooleanField(
        source="is_own", help_text="Whether the submission is of the caller's account."
    )
    made_at = serializers.DateTimeField(source="submission.made_at", help_text="Time of the submission.")
    scores = serializers.DictField(
        child=CorpusScoreSerializer(), source="submission.scores", help_text="Score by each metric."
    )


class LeaderboardSerializer(serializers.Serializer[Any]):
    """A leaderboard with its rows, at most 1,000."""

    ranked_by = serializers.CharField(help_text="Name of the metric by which rows are sorted.")
    shown = serializers.BooleanField(help_text="Whether the challenge shows scores now.")
    rows = LeaderboardRowSerializer(
        many=True, help_text="The submissions, best first; empty while scores are hidden."
    )


class SubmissionVisibilitySerializer(Parameters):
    """Whether a submission is to be shown on the leaderboard."""

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
        """Return the rows of the leaderboard, with scores and ranges of ranks; no rows while scores are hidden."""
        challenge, now = find_challenge(slug), timezone.now()
        rows = leaderboard_rows(challenge=challenge, user_id=request.user.pk, now=now)
        board = {"ranked_by": challenge.ranked_by, "shown": challenge.shows_scores_at(now), "rows": rows}
        return Response(LeaderboardSerializer(board).data)


class FormParser(MultiPartParser):
    """Parse a form with a file. Refuse texts that a database cannot store, and compressed bodies."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        refuse_compressed(parser_context)
        form = super().parse(stream, media_type, parser_context)
        if not can_be_stored({name: form.data.getlist(name) for name in form.data}):
            raise ParseError("A text in the form holds U+0000.")
        return form


@extend_schema_view(
    create=extend_schema(
        request={"multipart/form-data": SubmissionBody},
        responses={
            201: SubmissionSerializer,
            200: SubmissionSerializer,
            **REFUSAL_RESPONSES,
            202: OpenApiResponse(
                JobSerializer, description="A job reads the file; its result is the submission."
            ),
        },
        description="Submit a file of captions to a challenge: COCO results JSON with a caption of every image. The "
        "status is 200 if your account submitted the same captions before, and 202 if the file is larger than 64 kB.",
    ),
    partial_update=extend_schema(request=SubmissionVisibilitySerializer, responses=SubmissionSerializer),
)
class SubmissionResource(
    OpenToParticipants, mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Submission]
):
    """The submissions of the caller's account. The state of a submission says whether it has been scored."""

    filterset_class = filters_of(Submission, "state", "public")
    queryset = Submission.objects.select_related("challenge")
    serializer_class = SubmissionSerializer
    orderings: ClassVar[dict[str, str]] = {"id": "pk"}
    lookup_value_regex = ID_REGEX

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
        form_data = copy(data)  # a deep copy would copy the file, too
        # A call without this field means true, but a form without it means that the box was not ticked.
        form_data.setdefault("public", "true")
        form = SubmissionForm(data=form_data)
        form.is_valid(raise_exception=True)
        values = dict(form.validated_data)
        file = values.pop("file")
        max_bytes = max_submission_bytes(challenge.images)
        if file.size > max_bytes:
            raise SubmissionTooLarge(f"The file is larger than {max_bytes:,} bytes.")
        assert isinstance(request.user, User), "IsParticipant requires an account"
        submission_or_job, is_new = submit_upload(
            challenge=challenge, user=request.user, details=SubmissionDetails(**values), file=file
        )
        if isinstance(submission_or_job, Job):
            return job_response(request, submission_or_job, route="api:submission-jobs-detail")
        address = api_reverse("api:submissions-detail", args=[submission_or_job.pk], request=request)
        return Response(
            self.get_serializer(submission_or_job).data,
            status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK,
            headers={"Location": address},
        )

    def partial_update(self, request: Request, pk: str) -> Response:
        """Show a submission on the leaderboard, or hide it."""
        submission = self.get_object()
        change_submission_visibility(
            submission=submission, public=SubmissionVisibilitySerializer.read(request.data)["public"]
        )
        return Response(self.get_serializer(submission).data)


class SubmissionJobResource(OpenToParticipants, mixins.RetrieveModelMixin, GenericViewSet[Job]):
    """The jobs that read large files of the caller's account."""

    queryset = Job.objects.filter(kind=SUBMIT_JOB_KIND)
    serializer_class = JobSerializer
    lookup_value_regex = ID_REGEX

    def get_queryset(self) -> QuerySet[Job]:
        return super().get_queryset().filter(created_by=self.request.user.pk)

    @job_action("The job has ended.")
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel the job. Nothing is submitted, and nothing counts towards limits."""
        job = self.get_object()
        cancel_job(job)
        return Response(self.get_serializer(job).data)


def _refuse_too_large(request: Request) -> None:
    """Raise SubmissionTooLarge if no challenge accepts a body of the stated length.

    The limit of the largest challenge counts, since only the body, which is not read here, names the challenge.
    """
    image_counts = Challenge.objects.order_by("-images").values_list("images", flat=True)[:1]
    max_bytes = max_request_bytes(image_counts[0] if image_counts else 0)
    if states_more_bytes(request, max_bytes):
        raise SubmissionTooLarge(f"The request is larger than {max_bytes:,} bytes.")

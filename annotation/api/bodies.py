"""The bodies of requests and replies of a worker's client, and of errors, as serializers.

The serializers of requests (``Parameters``) check only the types of fields. The functions that store answers check the
values, so that the API and the pages report the same errors. Replies (``Schema``) only describe what is sent.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers

from annotation.models import ProblemReport
from common.parameters import Parameters, PlainNumberField


class Schema(serializers.Serializer[Any]):
    """The base of bodies that are only described in the OpenAPI schema: replies, and parts of requests."""


class Problem(Schema):
    """A problem document (RFC 9457). ``missing``: positions without an answer; ``errors``: problems by parameter."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    missing = serializers.ListField(child=serializers.IntegerField(), required=False)
    errors = serializers.DictField(required=False)  # type: ignore[assignment]  # a member of the document


CONFLICT_RESPONSE = OpenApiResponse(Problem, description="Not possible now; nothing was changed.")


class TextField(serializers.CharField):
    """A text that is taken over unchanged. The function that stores it checks it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=True, trim_whitespace=False, **kwargs)


class JoinRequest(Parameters):
    """A request to join a study: a name, and the values that the study requires."""

    worker = TextField()
    code = TextField(required=False, help_text="Code of the study or of an invitation, if one is required.")
    consent = serializers.BooleanField(required=False, help_text="Agreement to the consent text, if any.")
    country = TextField(required=False, max_length=2, help_text="ISO 3166-1 code, if the study asks for it.")
    resume = TextField(required=False, help_text="Resume code, for a new token; the old one stops working.")


class JoinedReply(Schema):
    """The worker's name, token and resume code."""

    worker = serializers.CharField()
    token = serializers.CharField()
    resume = serializers.CharField(allow_null=True, help_text="Shown once; null for a known participant.")


class Sentence(Schema):
    """A text on a page of work: a reference, a candidate or a caption."""

    text = serializers.CharField()


class Picture(Schema):
    """The picture of the item on a page of work."""

    url = serializers.CharField(help_text="Address of the original, for the same token; empty if none.")
    alt = serializers.CharField(help_text="Alternative text of the picture.")


class SourceText(Schema):
    """The source text of the item, if the study shows it."""

    text = serializers.CharField()
    language = serializers.CharField(help_text="BCP 47 tag; empty if the study does not state it.")


class ShownScale(Schema):
    """A scale: its lowest and highest point, the step between points, and the words for some points."""

    low = PlainNumberField()
    high = PlainNumberField()
    step = PlainNumberField()
    labels = serializers.DictField(child=serializers.CharField(), help_text="Words by point.")


class ShownUnit(Schema):
    """A unit as the worker sees it.

    A triplet has a, b and c; a pairwise unit has image, b and c; a relevance or graded unit has image and caption.
    """

    position = serializers.IntegerField(help_text="Position on the page of work, from 1.")
    protocol = serializers.CharField()
    question = serializers.CharField()
    source = SourceText(required=False)  # type: ignore[assignment]  # a member of the unit
    a = Sentence(required=False)
    b = Sentence(required=False)
    c = Sentence(required=False)
    image = Picture(required=False)
    caption = Sentence(required=False)
    scale = ShownScale(required=False, help_text="Of graded and slider, if the study has its own scale.")


class AssignmentReply(Schema):
    """An assignment, with the units as its worker sees them."""

    id = serializers.UUIDField()
    expires_at = serializers.DateTimeField()
    units = ShownUnit(many=True)


class Answer(Schema):
    """An answer to a unit, as the worker saw it. ``signals``: counts by name, such as ``pasted`` characters."""

    position = serializers.IntegerField(min_value=1)
    value = PlainNumberField(required=False, help_text="Answer of a protocol whose answers are numbers.")
    answer = serializers.JSONField(required=False, help_text="Answer that is not a number, instead of value.")
    seconds = serializers.FloatField(required=False, help_text="Time on the visible page, without pauses.")
    wall_seconds = serializers.FloatField(required=False, help_text="Time on the screen, including pauses.")
    comment = serializers.CharField(required=False, max_length=2000)
    signals = serializers.DictField(child=serializers.IntegerField(), required=False)


@extend_schema_field(Answer(many=True))
class AnswersField(serializers.ListField):
    """A list of answers. The functions that store answers check the members."""


class SaveRequest(Parameters):
    """Answers to save in the draft, or changes of submitted answers."""

    answers = AnswersField()


class SavedReply(Schema):
    """The assignment with its current draft."""

    id = serializers.UUIDField()
    state = serializers.CharField()
    answers = Answer(many=True)


class SubmitRequest(SaveRequest):
    """The answers that are not in the draft yet, or all answers. ``next`` claims the next HIT, too."""

    next = serializers.BooleanField(required=False)


class StateReply(Schema):
    """The assignment's id and state."""

    id = serializers.UUIDField()
    state = serializers.CharField()


class RevisedReply(StateReply):
    """The assignment's state, and the positions whose answers changed."""

    revised = serializers.ListField(child=serializers.IntegerField())


class ExtendedReply(StateReply):
    """The assignment's state, the end of its lease, and how many extensions are left."""

    expires_at = serializers.DateTimeField()
    extensions_left = serializers.IntegerField()


class SubmittedReply(StateReply):
    """The assignment's state and, if requested, the next assignment."""

    next = AssignmentReply(required=False, allow_null=True)


class ReportRequest(Parameters):
    """A report of a problem with the unit at a position."""

    position = serializers.IntegerField()
    what = serializers.ChoiceField(choices=ProblemReport.Kind.choices, required=False)
    comment = TextField(required=False, help_text="Cut after 2,000 characters.")


class ReportReply(Schema):
    """The stored report."""

    id = serializers.UUIDField()
    position = serializers.IntegerField()
    what = serializers.CharField()

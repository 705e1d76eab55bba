"""What the worker's calls take and give, for the schema. The rules are in the services: nothing here checks."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.models import ProblemReport


class Schema(serializers.Serializer[Any]):
    """A described body."""


class Problem(Schema):
    """RFC 9457."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    missing = serializers.ListField(child=serializers.IntegerField(), required=False)
    errors = serializers.DictField(required=False)  # type: ignore[assignment]  # a member of the document


class JoinRequest(Schema):
    """A name, and what the study asks for."""

    worker = serializers.CharField(max_length=100)
    code = serializers.CharField(required=False)
    consent = serializers.BooleanField(required=False)
    country = serializers.CharField(
        required=False, max_length=2, help_text="Two letters (ISO 3166-1), where the study asks for it."
    )
    resume = serializers.CharField(required=False, help_text="Gives a new token; the old one stops working.")


class JoinedReply(Schema):
    """The way in."""

    worker = serializers.CharField()
    token = serializers.CharField()
    resume = serializers.CharField(allow_null=True, help_text="Shown once, when the worker is new.")


class Sentence(Schema):
    """A sentence on the page."""

    text = serializers.CharField()


class Picture(Schema):
    """A picture on the page."""

    url = serializers.CharField(help_text="The original bytes, for the same token.")
    alt = serializers.CharField()


class SourceText(Schema):
    """The text of the item, where the study shows it."""

    text = serializers.CharField()
    language = serializers.CharField(help_text="A BCP 47 tag; empty where the study does not say.")


class ShownUnit(Schema):
    """A unit as shown: triplet has a, b, c; pairwise image, b, c; relevance and graded image, caption."""

    position = serializers.IntegerField()
    protocol = serializers.CharField()
    question = serializers.CharField()
    source = SourceText(required=False)  # type: ignore[assignment]  # a member of the unit
    a = Sentence(required=False)
    b = Sentence(required=False)
    c = Sentence(required=False)
    image = Picture(required=False)
    caption = Sentence(required=False)


class AssignmentReply(Schema):
    """A HIT as its worker may see it."""

    id = serializers.UUIDField()
    expires_at = serializers.DateTimeField()
    units = ShownUnit(many=True)


class Answer(Schema):
    """One answer, as the worker sees the unit."""

    position = serializers.IntegerField(min_value=1)
    value = serializers.IntegerField(required=False, help_text="Of kinds with numbers.")
    answer = serializers.JSONField(required=False, help_text="Of open kinds, instead of value.")
    seconds = serializers.FloatField(required=False, help_text="Active time.")
    wall_seconds = serializers.FloatField(required=False, help_text="Time by the clock.")
    comment = serializers.CharField(required=False, max_length=2000)
    signals = serializers.DictField(
        child=serializers.IntegerField(), required=False, help_text="Counts: pasted characters."
    )


class SaveRequest(Schema):
    """Some answers."""

    answers = Answer(many=True)


class SavedReply(Schema):
    """The draft as it is now."""

    id = serializers.UUIDField()
    state = serializers.CharField()
    answers = Answer(many=True)


class SubmitRequest(SaveRequest):
    """The answers not saved before, or all of them."""

    next = serializers.BooleanField(required=False)


class StateReply(Schema):
    """Where the assignment is."""

    id = serializers.UUIDField()
    state = serializers.CharField()


class RevisedReply(StateReply):
    """Which positions changed."""

    revised = serializers.ListField(child=serializers.IntegerField())


class ExtendedReply(StateReply):
    """The lease as it is now."""

    expires_at = serializers.DateTimeField()
    extensions_left = serializers.IntegerField()


class SubmittedReply(StateReply):
    """With the next HIT where it was asked for."""

    next = AssignmentReply(required=False, allow_null=True)


class ReportRequest(Schema):
    """What is wrong with the unit at a position."""

    position = serializers.IntegerField()
    what = serializers.ChoiceField(choices=ProblemReport.What.choices, required=False)
    comment = serializers.CharField(required=False, max_length=2000)


class ReportReply(Schema):
    """The report as kept."""

    id = serializers.UUIDField()
    position = serializers.IntegerField()
    what = serializers.CharField()


class QuizOption(Schema):
    """An answer to choose."""

    value = serializers.IntegerField()
    text = serializers.CharField()


class QuizQuestion(ShownUnit):
    """A question with options, or a known item as its kind shows it."""

    protocol = serializers.CharField(required=False)
    options = QuizOption(many=True, required=False)


class QuizAnswer(Schema):
    """One answer: the option's number, or what the kind answers."""

    position = serializers.IntegerField(min_value=1)
    value = serializers.IntegerField(required=False)
    answer = serializers.JSONField(required=False)


class QuizExplanation(Schema):
    """What was right."""

    position = serializers.IntegerField()
    right = serializers.BooleanField()
    expected = serializers.CharField()
    why = serializers.CharField(allow_blank=True)


class QuizAttemptReply(Schema):
    """An attempt, under way or over."""

    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=["running", "finished"])
    questions = QuizQuestion(many=True)
    answers = QuizAnswer(many=True)
    right = serializers.IntegerField(allow_null=True, help_text="How many were right, once it is over.")
    of = serializers.IntegerField()
    passed = serializers.BooleanField(allow_null=True)
    explanations = QuizExplanation(many=True)


class QuizReply(Schema):
    """How the worker stands with the study's quiz."""

    needed = serializers.BooleanField()
    passed = serializers.BooleanField()
    pass_mark = serializers.FloatField()
    attempts_left = serializers.IntegerField()
    attempt = QuizAttemptReply(allow_null=True)


class QuizRequest(Schema):
    """Nothing to start an attempt; answers to give some."""

    answers = QuizAnswer(many=True, required=False)
    number = serializers.IntegerField(required=False, help_text="The attempt; the latest one unless told.")

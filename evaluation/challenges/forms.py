"""A participant's submission: one declaration for the page, the HTTP call and its schema."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers


class LinkField(serializers.URLField):
    """An address of the web; without a scheme, https is meant."""

    def to_internal_value(self, data: Any) -> str:
        link: str = super().to_internal_value(data if "://" in str(data) else f"https://{data}")
        if not link.lower().startswith(("http://", "https://")):
            self.fail("invalid")
        return link


class SubmissionForm(serializers.Serializer[Any]):
    """A system and its captions."""

    system = serializers.CharField(label=_("Name of the system"), max_length=80)
    team = serializers.CharField(
        label=_("Authors"), max_length=80, help_text=_("As the leaderboard shows them.")
    )
    description = serializers.CharField(
        label=_("How it works"),
        max_length=2000,
        required=False,
        allow_blank=True,
        style={"base_template": "textarea.html"},
    )
    link = LinkField(label=_("A paper or a page about it"), max_length=300, required=False)
    public = serializers.BooleanField(
        label=_("Show it on the leaderboard"), required=False, default=True, initial=True
    )
    file = serializers.FileField(label=_("Captions"), allow_empty_file=True)


class SubmissionBody(SubmissionForm):
    """What is sent as multipart/form-data."""

    challenge = serializers.CharField()

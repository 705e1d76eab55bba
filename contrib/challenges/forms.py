"""The fields of a submission, for the page of a challenge and for the call that submits."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers


class LinkField(serializers.URLField):
    """A web address of the scheme http or https. If an address has no scheme, https is added."""

    def to_internal_value(self, data: Any) -> str:
        link: str = super().to_internal_value(data if "://" in str(data) else f"https://{data}")
        if not link.lower().startswith(("http://", "https://")):
            self.fail("invalid")
        return link


class SubmissionForm(serializers.Serializer[Any]):
    """A file of captions, and what its authors say about the system."""

    system = serializers.CharField(label=_("Name of the system"), max_length=80)
    team = serializers.CharField(
        label=_("Authors"), max_length=80, help_text=_("As they will appear on the leaderboard.")
    )
    description = serializers.CharField(
        label=_("How the system works"),
        max_length=2000,
        required=False,
        allow_blank=True,
        style={"base_template": "textarea.html"},
    )
    link = LinkField(label=_("A paper or a page about the system"), max_length=300, required=False)
    public = serializers.BooleanField(label=_("Show on the leaderboard"), default=True, initial=True)
    file = serializers.FileField(label=_("Captions"), allow_empty_file=True)  # its reader refuses it


class SubmissionBody(SubmissionForm):
    """The fields of a submission to the API, in multipart/form-data."""

    challenge = serializers.CharField(help_text="Slug of the challenge.")

"""The form for a new token of the HTTP interface."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils import timezone

from judgments.models import Study
from judgments.scopes import SCOPES

GOOD_FOR = [("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "until it is revoked")]


class TokenForm(forms.Form):
    """What it is for, what it opens, and how long."""

    name = forms.CharField(
        max_length=100, label="What it is for", help_text="Such as: notebook of the pilot."
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope, f"{scope}: {words}") for scope, words in SCOPES.items()],
        widget=forms.CheckboxSelectMultiple,
        label="What it opens",
        help_text="Never more than your own account may do. Who may write may read too.",
    )
    studies = forms.ModelMultipleChoiceField(
        queryset=Study.objects.none(),
        to_field_name="slug",
        required=False,
        label="Only these studies",
        help_text="None chosen: all that you may see, now and later.",
    )
    good_for = forms.ChoiceField(choices=GOOD_FOR, required=False, initial="90", label="Good for")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["studies"]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        field.queryset = Study.objects.visible_to(user).order_by("slug")

    @property
    def expires_at(self) -> datetime | None:
        """When it stops working."""
        days = self.cleaned_data["good_for"]
        return timezone.now() + timedelta(days=int(days)) if days else None

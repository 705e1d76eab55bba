"""What tests of the designer's pages share: addresses, what a browser posts, a page as text."""

import html
import re
from typing import Any

from django.urls import reverse

from judgments.design.editing.form.design_form import DesignForm
from judgments.design.editing.form.values import starting_values
from judgments.models import Study


def words(response: Any) -> str:
    """The page as text, runs of space as one."""
    text = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", response.content.decode(), flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(text))


def page(study: Study, name: str) -> str:
    return reverse(f"admin:judgments_study_{name}", args=[study.pk])


def do(study: Study, step: str) -> str:
    return reverse("admin:judgments_study_do", args=[study.pk, step])


def as_posted(form: DesignForm, **changes: Any) -> dict[str, Any]:
    """What a browser sends for the form as it stands."""
    values = form.as_posted() | changes
    return {name: value for name, value in values.items() if value is not None and value is not False}


def filled(base: dict[str, Any], **typed: Any) -> DesignForm:
    """The form as a browser would send it back, with ``typed`` in place of some fields."""
    sent = as_posted(DesignForm(base=base, datasets=["d"]), name="Asked", dataset="d")
    return DesignForm(sent | typed, base=base, datasets=["d"])


def new_design(**changes: Any) -> dict[str, Any]:
    form = DesignForm(base=starting_values(preset="vedantam-2015-triplet"), datasets=["animals"])
    small = {"name": "My triplets", "dataset": "animals", "sampling-references": "2", "units_per_hit": 5}
    pairs = {"sampling-pairs-HC": 2, "sampling-pairs-HI": 2, "sampling-pairs-HM": "", "sampling-pairs-MM": 2}
    return as_posted(form, **(small | pairs | changes))


ADD = "?preset=vedantam-2015-triplet"

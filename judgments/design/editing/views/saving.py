"""Save the design of a form, and redirect to the next page."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from common.errors import DataConflict, DesignError, QuorumError
from judgments.access.rights import rights_of
from judgments.admin.base import signed_in
from judgments.design.editing.form.design_form import DesignForm
from judgments.design.editing.form.fields import html_name
from judgments.design.editing.form.labels import replace_keys_by_labels
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.pages import StudyStep
from judgments.studies.study_page import STEPS, study_page_address

PREVIEW_BUTTONS = ("_look", "_apply", "_fit")  # buttons that show the form again


def is_save(request: HttpRequest) -> bool:
    """Return whether a form was posted to be saved, and not to be shown again."""
    return request.method == "POST" and not (set(PREVIEW_BUTTONS) & request.POST.keys())


def store_design(form: DesignForm, store: Callable[[StudyDesign], Study]) -> Study | None:
    """Store the form's design and return the study. If it is refused, add the error to its field and return None."""
    try:
        return store(form.design)
    except DesignError as error:
        name = html_name(error.field)
        form.add_error(name if name in form.fields else None, replace_keys_by_labels(str(error), form.values))
    except DataConflict as error:
        form.add_error("slug", str(error))
    except QuorumError as error:
        form.add_error(None, replace_keys_by_labels(str(error), form.values))
    return None


def show_next(request: HttpRequest, study: Study) -> HttpResponse:
    """Redirect to the page, or to the step of the form, that the pressed button names."""
    messages.success(request, gettext("The design of “%(name)s” is saved.") % {"name": study.name})
    destination = request.POST.get("_to", "")
    if destination in STEPS and STEPS[destination].design_page:
        return _start_step(request, study, STEPS[destination])
    if destination == "launch":
        return redirect(study_page_address(study, destination))
    # the anchor of a step of the form, such as s-quality, or of the preview
    fragment = f"#{destination}" if re.fullmatch(r"s-[a-z]+|panes", destination) else ""
    return redirect(study_page_address(study, "change") + fragment)


def _start_step(request: HttpRequest, study: Study, step: StudyStep) -> HttpResponse:
    """Start a step's job with its defaults and the design's seed; the launch page shows its progress."""
    if step.permission in rights_of(request.user, study) and signed_in(request).has_perm(step.requires):
        try:
            step.run(request, study)  # the form of the design has at most `seed` of the step's parameters
        except QuorumError as error:
            messages.error(request, str(error))
            return redirect(study_page_address(study, step.design_page))
    return redirect(study_page_address(study, "launch"))

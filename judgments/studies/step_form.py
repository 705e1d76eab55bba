"""Offer operations as steps of a study's pages, that is as buttons and forms.

If a form is refused, the session keeps the error and the posted values until the page with the form is shown again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from rest_framework.exceptions import ValidationError

from common.errors import QuorumError, sentence_of
from common.parameters import Parameters
from judgments.access.rights import Right, has_right
from judgments.admin.base import signed_in
from judgments.models import Study
from judgments.operations import Operation, Outcome
from judgments.studies.pages import StepForm, StudyStep, never_shown
from judgments.studies.study_page import add_step, study_page_address

REFUSAL_KEY = "quorum-refusal"  # the session's key of the last refused form
MAX_KEPT_LENGTH = 5000  # characters of a field that are kept


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of a posted form, and what the person typed. ``step`` is the name of the form's step."""

    step: str
    sentence: str
    posted_values: dict[str, str]


def store_refusal(request: HttpRequest, study: Study, step: str, sentence: str) -> None:
    """Store the error of a posted form, with its values, in the session until the page is shown again."""
    posted_values = {
        name: value[:MAX_KEPT_LENGTH] for name, value in request.POST.items() if isinstance(value, str)
    }
    for name in ("csrfmiddlewaretoken", "page"):
        posted_values.pop(name, None)
    request.session[REFUSAL_KEY] = {"study": study.pk, "step": step, "words": sentence, "sent": posted_values}


def take_refusal(request: HttpRequest, study: Study) -> Refusal | None:
    """Return the error of the last step, if any, and remove it from the session."""
    refusal = request.session.get(REFUSAL_KEY)
    if refusal is None or refusal["study"] != study.pk:
        return None
    del request.session[REFUSAL_KEY]
    return Refusal(step=refusal["step"], sentence=refusal["words"], posted_values=refusal["sent"])


def add_operation(
    operation: Operation,
    *,
    label: str,
    name: str = "",
    fields: tuple[str, ...] | None = None,
    needed: tuple[str, ...] = (),
    hidden: tuple[str, ...] = (),
    has_button: Callable[[Study], bool] = never_shown,
    primary_states: Collection[str] = (),
    primary_pages: Collection[str] = (),
    leads_to: Callable[[Study], str] | None = None,
    result_page: str = "",
    requires: str = "",
    inline: bool | None = None,
    message: str = "",
    refusal_address: Callable[[Study, str], str] | None = None,
    design_page: str = "",
    show_result: Callable[[HttpRequest, Study, Outcome], HttpResponse] | None = None,
) -> None:
    """Offer an operation on a study's pages as a step. ``StudyStep`` explains the arguments that are missing here.

    Args:
        name: the name of the step, if one operation has several steps.
        fields: the parameters in the step's form; None for all parameters, () if a template has the form.
        needed: optional parameters that this form requires.
        hidden: arguments of the operation that are not parameters; they are hidden fields.
        leads_to: a function that returns the name of the page to show next; None for the page with the form.
        result_page: if the operation makes a study, the name of the new study's page to show next; "" otherwise.
        inline: whether an error is shown next to the form; by default, it is if the form has fields.
        show_result: a function that returns a page with the result, such as a secret that is shown only once.
    """
    field_names = tuple(operation.parameters().fields) if fields is None else fields
    form = StepForm(operation.parameters, field_names, needed, hidden)

    def run(request: HttpRequest, study: Study) -> HttpResponse | None:
        values = read_posted_parameters(request, operation, needed=needed)
        if operation.job:
            operation.start(study, values, by=signed_in(request), page=True)
        else:
            hidden_values = {name: request.POST.get(name, "") for name in hidden}
            # a page does not wait for the operation's follow-up, such as calls to a crowd
            outcome = operation.run(study, values, by=signed_in(request), wait=False, **hidden_values)
            if show_result is not None:
                return show_result(request, study, outcome)
            messages.success(request, outcome.message)
            if result_page:
                return redirect(study_page_address(outcome.value, result_page))
        if not has_right(request.user, Right.VIEW, study):  # the person has just removed their own role
            return redirect("admin:judgments_study_changelist")
        return None if leads_to is None else redirect(study_page_address(study, leads_to(study)))

    add_step(
        StudyStep(
            name=name or operation.name,
            label=label,
            message=message,
            requires=requires,
            run=run,
            has_button=has_button,
            primary_states=frozenset(primary_states),
            primary_pages=frozenset(primary_pages),
            permission=operation.right,
            job=operation.job,
            inline=bool(field_names) if inline is None else inline,
            refusal_address=refusal_address,
            operation=operation,
            design_page=design_page,
            form=form,
        )
    )


def read_posted_parameters(
    request: HttpRequest,
    parameters: type[Parameters] | Operation,
    *,
    needed: Collection[str] = (),
    keep_empty: bool = True,
) -> dict[str, Any]:
    """Return the checked parameters of a posted form. Raise QuorumError if one is missing or wrong.

    If ``keep_empty`` is false, parameters with empty fields get their defaults.
    """
    posted_values = request.POST.copy()
    if not keep_empty:
        for name in [name for name in posted_values if not any(posted_values.getlist(name))]:
            del posted_values[name]
    try:
        return parameters.read(posted_values, needed=needed)
    except ValidationError as error:
        raise QuorumError(sentence_of(error.detail)) from error

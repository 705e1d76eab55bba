"""The forms of the crowd page, and the operations that they carry out.

``add_operation`` makes a step of a study's pages from an operation, and ``FORMS`` has the forms that show these steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_noop

from annotation.crowds import Ability, backend_of, operations, worker_operations
from annotation.money import call_decisions
from annotation.money import operations as money_operations
from annotation.work.operations import extend
from judgments.models import Study
from judgments.studies.step_form import add_operation


@dataclass(frozen=True, slots=True)
class CrowdForm:
    """The form of a step on the crowd page.

    Attributes:
        step: the name of the step: the argument ``name`` of ``add_operation``, or else the name of the operation.
        ability: the ability without which the form is not shown; None if the form is shown for all crowds.
        button: the CSS class of the button; "" for the usual one.
        setting: the setting of the design's ``crowd`` without which the form is not shown; "" for none.
    """

    step: str
    title: str
    help: str = ""
    ability: Ability | None = None
    button: str = ""
    setting: str = ""


FORMS = [
    CrowdForm(
        "set-budget",
        gettext_noop("Budget"),
        gettext_noop("An amount such as 12.30, fees and bonuses included."),
    ),
    CrowdForm(
        "extend-crowd",
        gettext_noop("Time from now"),
        gettext_noop("From now on, new participants can start during this time."),
        Ability.EXTEND,
    ),
    CrowdForm(
        "write-workers",
        gettext_noop("Message participants"),
        gettext_noop(
            "Leave the name empty to write to all participants of this study whose work was approved or rejected."
        ),
        Ability.MESSAGE,
    ),
    CrowdForm(
        "bonus",
        gettext_noop("Pay a bonus"),
        gettext_noop(
            "An amount such as 0.50, for a participant whose work was approved. The crowd's fee is added."
        ),
        Ability.BONUS,
    ),
    CrowdForm(
        "more-screen-outs",
        gettext_noop("Pay more screened-out participants"),
        gettext_noop(
            "The design sets how many screened-out participants are paid. When this number is reached, Prolific "
            "pauses the study."
        ),
        Ability.EXTEND,
        setting="screen_outs",
    ),
    CrowdForm(
        "qualify-worker",  # for all crowds, since Quorum stores qualifications itself
        gettext_noop("Give a qualification"),
        gettext_noop(
            "The design of a study can require this qualification, or exclude participants who "
            "have it. The value 0 removes the qualification from the participant."
        ),
    ),
    CrowdForm(
        "block-worker",
        gettext_noop("Block a participant"),
        gettext_noop(
            "A blocked participant can no longer take any of your work at this crowd. The crowd might ask you for "
            "the reason."
        ),
        Ability.BLOCK,
        "q-danger",
    ),
    CrowdForm("unblock-worker", gettext_noop("Lift a block"), ability=Ability.BLOCK),
]


def add_crowd_form(form: CrowdForm, *, before: str) -> None:
    """Add a form to the crowd page, before the form of the step ``before``."""
    FORMS.insert([shown_form.step for shown_form in FORMS].index(before), form)


def _can_sync(study: Study) -> bool:
    return bool(study.platform) and Ability.LIST in backend_of(study).can


# ``fields`` () means that a template has the form. ``primary_pages`` have it as main button. Hidden fields have what
# the page showed: a digest of the cost ("confirm"), or the newest call ("seen"). If it changed, the step is refused.
add_operation(operations.sync, label="Compare with the crowd", has_button=_can_sync, primary_pages={"crowd"})
add_operation(money_operations.budget, name="set-budget", label="Change the budget", fields=("cents", "why"))
add_operation(
    extend, name="extend-crowd", label="Extend the offer", fields=("hours", "why"), needed=("hours",)
)
add_operation(money_operations.top_up, label="Pay top-ups", fields=(), hidden=("confirm",), inline=True)
add_operation(
    money_operations.bonus, label="Pay the bonus", fields=("worker", "cents", "why"), hidden=("seen",)
)
add_operation(worker_operations.block, label="Block")
add_operation(worker_operations.unblock, label="Lift the block")
add_operation(worker_operations.qualify, label="Give the qualification")
add_operation(operations.more_screen_outs, label="Pay for more screen-outs")
add_operation(worker_operations.write_to_workers, label="Send")
add_operation(call_decisions.retry, name="retry-call", label="Try again", fields=())
add_operation(
    call_decisions.mark_as_done, name="call-was-done", label="The request was carried out", fields=()
)
add_operation(
    call_decisions.mark_as_not_done,
    name="call-was-not-done",
    label="The request was not carried out",
    fields=(),
)

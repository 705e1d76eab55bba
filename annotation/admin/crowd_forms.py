"""The forms of the crowd's page: what can be asked of a crowd, each with its fields; and what was wrong with one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from annotation.backends import Ability
from annotation.services.money import spell_cents
from judgments.admin.study_pages import Refusal
from judgments.design import StudyDesign

WORKER = "Worker"


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    Attributes:
        kind: amount, number, worker, line or text.
        most: how many characters it takes.
    """

    name: str
    label: str
    kind: str = "line"
    help: str = ""
    value: str = ""
    required: bool = True
    most: int = 500


@dataclass(frozen=True, slots=True)
class CrowdForm:
    """What one step of the page asks for.

    Attributes:
        step: its name in ``judgments.admin.study_pages.STEPS``.
        needs: what the crowd must be able to do; None where it need not be asked.
        other: another step that the same fields serve, and its button.
        problem: why it was refused a moment ago; the fields hold what was sent.
    """

    step: str
    title: str
    button: str
    fields: tuple[Field, ...]
    needs: Ability | None = None
    danger: bool = False
    other: tuple[str, str] = ("", "")
    problem: str = ""

    @property
    def steps(self) -> set[str]:
        """Both."""
        return {self.step, self.other[0]}


WHY = Field("why", "Why", help="For the log.", required=False)


def money_forms(design: StudyDesign, budget_cents: int) -> list[CrowdForm]:
    """What concerns the study as a whole."""
    hours = str(design.crowd.lifetime_hours)
    return [
        CrowdForm(
            "set-budget",
            "Budget",
            "Change the budget",
            (
                Field(
                    "budget",
                    "All that may be spent",
                    "amount",
                    "Fees and bonuses included, such as 12.30.",
                    spell_cents(budget_cents),
                ),
                WHY,
            ),
        ),
        CrowdForm(
            "extend-crowd",
            "Time",
            "Offer longer",
            (
                Field(
                    "hours", "Hours from now", "number", "As long as new people may begin; 1 to 8760.", hours
                ),
                WHY,
            ),
            needs=Ability.EXTEND,
        ),
    ]


def people_forms() -> list[CrowdForm]:
    """What concerns single workers."""
    worker = Field("worker", WORKER, "worker", most=80)
    return [
        CrowdForm(
            "write-workers",
            "Write to workers",
            "Send",
            (
                replace(
                    worker,
                    required=False,
                    help="Empty: all of this study whose work was approved or rejected.",
                ),
                Field("subject", "Subject", most=200),
                Field("text", "Text", "text", most=4096),
            ),
            needs=Ability.MESSAGE,
        ),
        CrowdForm(
            "bonus",
            "Pay a bonus",
            "Pay the bonus",
            (
                replace(worker, help="Whose work here was approved."),
                Field("amount", "Amount", "amount", "Such as 0.50; the crowd's fee comes on top."),
                Field("why", "What the worker reads with it"),
            ),
            needs=Ability.BONUS,
        ),
        CrowdForm(
            "qualify-worker",
            "Give a qualification",
            "Qualify",
            (
                worker,
                Field("qualification", "Qualification", help="As the crowd names it.", most=80),
                Field("value", "Value", "number", value="1"),
            ),
            needs=Ability.QUALIFY,
        ),
        CrowdForm(
            "block-worker",
            "Block a worker",
            "Block",
            (
                replace(worker, help="Kept away from all your work at this crowd, now and later."),
                Field("why", "Why", help="The crowd may ask."),
            ),
            needs=Ability.BLOCK,
            danger=True,
            other=("unblock-worker", "Take the block back"),
        ),
    ]


def offered(forms: Iterable[CrowdForm], can: frozenset[Ability], refused: Refusal | None) -> list[CrowdForm]:
    """Those that the crowd can answer; one that was just refused as it was sent, with the reason."""
    found = [form for form in forms if form.needs is None or form.needs in can]
    return [_as_sent(form, refused) if refused and refused.step in form.steps else form for form in found]


def _as_sent(form: CrowdForm, refused: Refusal) -> CrowdForm:
    fields = tuple(replace(field, value=refused.sent.get(field.name, "")) for field in form.fields)
    return replace(form, fields=fields, problem=refused.words)

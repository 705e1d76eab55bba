"""The page "Pages of work" of a study: its plan, and what was generated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Count, Exists, Max, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from common.errors import DesignError, QuorumError
from judgments.access.roles import Right
from judgments.cached_figures import MANY_ROWS, Figures, add_figures, cached_figures, required_figures
from judgments.design.editing.form import field_of_key
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls import ControlPool
from judgments.drawing.stopping import expected_share
from judgments.models import HIT, Study, System, Unit
from judgments.operations import discard, generate
from judgments.studies.generation import Plan, plan_study
from judgments.studies.studies import can_be_discarded, design_of, what_would_go, why_not_discarded
from judgments.studies.study_page import (
    PLAN_PARTS,
    Context,
    Group,
    StudyPage,
    add_operation,
    add_page,
    page_address,
)


@dataclass(frozen=True, slots=True)
class Impossible:
    """Why nothing can be drawn from a design; ``field`` is the dotted key of the study file, or ""."""

    sentence: str
    field: str


def show_hits(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    context["design"] = design_of(study)
    if study.state == Study.State.DRAFT:
        return TemplateResponse(request, "judgments/study/hits_draft.html", context)
    counted = cached_figures(study, COUNTS)
    context |= required_figures(counted) | {"counted": counted, "can_go_back": can_be_discarded(study)}
    return TemplateResponse(request, "judgments/study/hits.html", context)


def ask_before_discarding(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    context |= {"obstacle": why_not_discarded(study), "gone": what_would_go(study)}
    return TemplateResponse(request, "judgments/study/discard.html", context)


def show_plan(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    return TemplateResponse(request, "judgments/study/plan.html", context | plan_of(study))


def plan_of(study: Study) -> Context:
    """Return the design with its plan, a problem, or a mark that it is being counted, for a template."""
    design = design_of(study)
    plan = cached_figures(study, PLAN).value
    if plan is None:
        return {"design": design, "waits": True}
    if isinstance(plan, Plan):
        try:
            return {"design": design, "plan": plan, "plan_parts": parts_of_plan(design, plan)}
        except QuorumError as error:
            plan = Impossible(str(error), "")
    return {
        "design": design,
        "problem": plan.sentence,
        "problem_link": place_of_problem(study, plan.field),
        "step_waits": generate.name,
    }


def place_of_problem(study: Study, key: str) -> str:
    """Return the design's page, at the field where it says what is wrong with this key."""
    name = field_of_key(key, design_of(study))
    return f"{page_address(study, 'change')}?look#{f'id_{name}' if name else 'panes'}"


def parts_of_plan(design: StudyDesign, plan: Plan) -> list[dict[str, Any]]:
    items = plan.judgments // design.judgments_per_unit  # on all pages
    return [{"template": part.template, "facts": part.facts(design, plan.hits, items)} for part in PLAN_PARTS]


def counts_of(study: Study) -> dict[str, Any]:
    """Count in four queries."""
    units = Unit.objects.filter(study=study).aggregate(
        judged=Count("pk", filter=Q(control=False)),
        controls=Count("pk", filter=Q(control=True, withdrawn=False) & ~Q(control_kind="quiz")),
        withdrawn=Count("pk", filter=Q(withdrawn=True)),
        filtered=Count("pk", filter=Q(filtered=True)),
    )
    hits = HIT.objects.filter(study=study).aggregate(
        n=Count("pk"), wanted=Sum("required"), free=Sum("open_slots")
    )
    kinds = Unit.objects.filter(study=study, control=False).exclude(kind="").order_by("kind")
    design = design_of(study)
    overlap = design.judgments_per_unit
    pairs = study.pairs.count()
    live = bool(design.arena.pages)
    slots = hits["n"] * design.units_per_hit if live else units["judged"] + units["controls"]
    return {
        "live": live,
        "asked": expected_share(design, references=round(units["judged"] / pairs) if pairs else 1),
        "units": units,
        "hits": hits,
        "wanted_judgments": slots * overlap,
        "hours": slots * overlap * design.seconds_per_unit / 3600,
        "pair_kinds": list(
            kinds.values("kind").annotate(units=Count("pk"), pairs=Count("pair", distinct=True))
        ),
    }


def _planned(study: Study) -> Plan | Impossible:
    try:
        return plan_study(design_of(study), study.dataset, maker=study.created_by_id)
    except DesignError as error:
        return Impossible(str(error), error.field)
    except QuorumError as error:
        return Impossible(str(error), "")


def _plan_from_json(value: dict[str, Any]) -> Plan | Impossible:
    if "problem" in value:
        return Impossible(str(value["problem"]), str(value.get("field", "")))
    return Plan(**value | {"pool": ControlPool(**value["pool"])})


def _drawn_from(study: Study) -> object:
    """Return all that a draw depends on; captions are only added, systems also published."""
    systems = System.objects.of_study(study).order_by("pk").values_list("pk", flat=True)
    last = study.dataset.captions.aggregate(last=Max("pk"))["last"]
    return study.design, study.dataset_id, last, list(systems)


def _is_large(study: Study) -> bool:
    return study.dataset.captions.order_by()[:MANY_ROWS].count() >= MANY_ROWS


def _has_many_units(study: Study) -> Exists:
    return Exists(study.units.order_by()[MANY_ROWS - 1 : MANY_ROWS])


COUNTS: Figures[dict[str, Any]] = add_figures(
    Figures("hits", counts_of, rows=lambda found: int(found["units"]["judged"]), many=_has_many_units)
)
PLAN: Figures[Plan | Impossible] = add_figures(
    Figures(
        "plan",
        _planned,
        rows=lambda plan: 0 if isinstance(plan, Impossible) else plan.units,
        as_json=lambda plan: (
            {"problem": plan.sentence, "field": plan.field} if isinstance(plan, Impossible) else asdict(plan)
        ),
        from_json=_plan_from_json,
        version=_drawn_from,
        exact=True,
        beyond_a_page=_is_large,
    )
)


add_page(
    StudyPage(
        name="hits",
        label="Pages of work",
        order=20,
        view=show_hits,
        shown=lambda study: study.state != Study.State.DRAFT,
        group=Group.DESIGN,
    )
)
add_page(StudyPage(name="plan", label="", order=21, view=show_plan))
add_page(
    StudyPage(
        name="discard",
        label="",
        order=22,
        view=ask_before_discarding,
        permission=Right.CHANGE,
        group=Group.DESIGN,
        under="hits",
    )
)
add_operation(discard, label="Discard the pages of work", leads_to=lambda study: "change")
add_operation(
    generate,
    label="Generate pages of work",
    offered=lambda study: study.state == Study.State.DRAFT,
    primary_in={Study.State.DRAFT.value},
    leads_to=lambda study: "launch",
    refused_at=place_of_problem,
)

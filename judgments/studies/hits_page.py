"""The page with a study's pages of work, and the page that confirms discarding them."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Exists, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from judgments.access.rights import Right
from judgments.cached_figures import MIN_CACHED_ROWS, cached_figures, required_figures
from judgments.design.editing.fitter import PAIR_LABELS
from judgments.figures import FiguresDefinition, add_figures
from judgments.models import HIT, Study, Unit
from judgments.studies.designs import design_of
from judgments.studies.discarding import can_be_discarded, count_discarded_rows, why_not_discarded
from judgments.studies.operations import discard
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.stopping import expected_share
from judgments.studies.study_page import study_page


@study_page("hits", "Pages of work", order=20, section=StudySection.DESIGN, help="designing.md#hits-by-hand")
def show_hits(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    context["design"] = design_of(study)
    if study.state == Study.State.DRAFT:
        return TemplateResponse(request, "judgments/study/hits_draft.html", context)
    figures = cached_figures(study, COUNTS)  # the study's base template says when they were "counted"
    context |= required_figures(figures) | {"counted": figures, "can_go_back": can_be_discarded(study)}
    kinds = context["pair_kinds"]
    context["pair_kinds"] = [row | {"kind_label": PAIR_LABELS.get(row["kind"], "")} for row in kinds]
    return TemplateResponse(request, "judgments/study/hits.html", context)


@study_page(
    "discard",
    order=22,
    permission=Right.CHANGE,
    section=StudySection.DESIGN,
    parent_page="hits",
    help="designing.md#from-a-draft-to-an-open-study-and-back",
)
def ask_before_discarding(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    context |= {"obstacle": why_not_discarded(study), "discarded_counts": count_discarded_rows(study)}
    context["hand_change_count"] = len(design_of(study).by_hand)
    return TemplateResponse(request, "judgments/study/discard.html", context)


def count_work(study: Study) -> dict[str, Any]:
    """Return the counts of units, HITs and judgments for the page, in four queries.

    ``live`` says whether the study is an arena, whose pages are drawn when they are claimed, and ``asked`` is the share
    of judgments that early stopping is expected to ask for. ``filtered`` counts units that only fill the group
    of captions shown with an image, since the design's filter left them out or they are of another image.
    """
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
    pair_count = study.pairs.count()
    is_arena = bool(design.arena.pages)
    units_on_pages = hits["n"] * design.units_per_hit if is_arena else units["judged"] + units["controls"]
    judgments = units_on_pages * design.judgments_per_unit
    # of a pair, a triplet study has a unit for each reference
    units_per_pair = round(units["judged"] / pair_count) if pair_count else 1
    return {
        "live": is_arena,
        "asked": expected_share(design, units_per_pair=units_per_pair),
        "units": units,
        "hits": hits,
        "wanted_judgments": judgments,
        "hours": judgments * design.seconds_per_unit / 3600,
        "pair_kinds": list(
            kinds.values("kind").annotate(units=Count("pk"), pairs=Count("pair", distinct=True))
        ),
    }


def many_units_exist(study: Study) -> Exists:
    """Return a database expression for whether the study has so many units that their counts are cached."""
    return Exists(study.units.order_by()[MIN_CACHED_ROWS - 1 : MIN_CACHED_ROWS])


COUNTS: FiguresDefinition[dict[str, Any]] = add_figures(
    FiguresDefinition(
        "hits",
        count_work,
        rows=lambda counts: int(counts["units"]["judged"]),
        first_needs_job=many_units_exist,
    )
)

add_operation(discard, label="Discard the pages of work", leads_to=lambda study: "change")

"""The page "Choosing items" of a study: choose items, estimate results for all items, and show what choosing saves."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

from contrib.choosing.operations import choose_items, start_savings_estimate, start_weighing
from contrib.choosing.selecting import UNIFORM, describe_choice
from evaluation.results.views.drawings import as_markup
from judgments.admin.base import signed_in
from judgments.kinds import KINDS
from judgments.models import Job, Study
from judgments.studies.pages import Context, PagePart, StudySection, was_opened
from judgments.studies.step_form import add_operation, take_refusal
from judgments.studies.study_page import add_page_part, study_page

METHOD_LABELS = {
    "disagreement": gettext_noop("disagreement"),
    "information": gettext_noop("information"),
    # methods in results of earlier versions
    "variance": gettext_noop("variance"),
    "diversity": gettext_noop("diversity"),
    UNIFORM: gettext_noop("uniform sample"),
}
GROUP_LABELS = {
    "accuracy": gettext_noop("Accuracy of metrics"),
    "difference": gettext_noop("Differences between metrics"),
    "system": gettext_noop("Results of systems"),
}
FIGURE_LABELS = {
    "accuracy": gettext_noop("accuracy"),
    "wins": gettext_noop("share of wins"),
    "mean": gettext_noop("mean"),
    "tau-b": gettext_noop("tau-b with people"),
}
# The least saving on the plot; it means that twice as many items are needed. Lower savings are plotted as this one.
MIN_PLOTTED_SAVING = -1.0


@study_page(
    "choosing",
    "Choosing items",
    order=58,
    has_tab=lambda study: KINDS[study.protocol].supports_unit_ids,
    section=StudySection.DESIGN,
)
def show_choosing(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    done_jobs = Job.objects.filter(state=Job.State.DONE, args__study=study.slug)
    newest_job = done_jobs.filter(kind="weigh_back").order_by("-pk").first()
    choice = study.design.get("chosen")  # "scores" are the signatures of metrics, by name
    estimates = newest_job.result if newest_job is not None and choice else None
    context |= {
        "refusal": take_refusal(request, study),
        "choice": choice,
        "choice_sentence": describe_choice({"chosen": choice}) if choice else "",
        "metric_signatures": list(choice["scores"].values()) if choice else [],
        "is_draft": study.state == Study.State.DRAFT,
        "was_opened": was_opened(study),
        "estimates": estimates,
        "estimate_rows": _estimate_rows(estimates) if estimates else [],
        "savings": _newest_savings(request, study),
    }
    return TemplateResponse(request, "evaluation/study_choosing.html", context)


def _estimate_rows(estimates: dict[str, Any]) -> list[dict[str, Any]]:
    return [row | {"what": _(FIGURE_LABELS[row["what"]])} for row in estimates["rows"]]


def _newest_savings(request: HttpRequest, study: Study) -> dict[str, Any] | None:
    """Return the newest savings of the study, or of a visible study (``other_study``) of the same dataset."""
    visible_studies = Study.objects.visible_to(signed_in(request)).filter(dataset=study.dataset_id)
    names = dict(visible_studies.values_list("slug", "name"))
    done_jobs = Job.objects.filter(
        kind="choice_savings", state=Job.State.DONE, args__study__in=list(names)
    ).order_by("-pk")
    job = done_jobs.filter(args__study=study.slug).first() or done_jobs.first()
    result = job.result if job is not None else None
    if result is None:
        return None
    return {
        "result": result,
        "other_study": "" if result["study"] == study.slug else names[result["study"]],
        "best_methods": _best_methods(result),
        "plot": _savings_plot(result),
    }


def _group_names(savings: dict[str, Any]) -> list[str]:
    """Return the names of the groups of results in ``savings``, a result of ``compute_savings``.

    ``saved`` in its rows is the share of items that a method saves at the error of a uniform sample; None if unknown.
    """
    return list(dict.fromkeys(row["group"] for row in savings["rows"]))


def _rows_of_group(savings: dict[str, Any], group: str) -> list[dict[str, Any]]:
    """Return the rows of a group of results, without those of uniform samples, to which the others are compared."""
    return [row for row in savings["rows"] if row["group"] == group and row["method"] != UNIFORM]


def _best_methods(savings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the row of the method that saves most, for each group of results and budget."""
    best_rows = []
    for group in _group_names(savings):
        group_rows = _rows_of_group(savings, group)
        for budget in sorted({row["budget"] for row in group_rows}):
            rows = [row for row in group_rows if row["budget"] == budget and row["saved"] is not None]
            best_row = max(rows, key=lambda row: row["saved"], default=None)
            if best_row is not None:
                labels = {"group": _(GROUP_LABELS[group]), "method": _(METHOD_LABELS[best_row["method"]])}
                best_rows.append(best_row | labels)
    return best_rows


def _savings_plot(savings: dict[str, Any]) -> Any:
    """Return a plot of the savings by budget, with a panel for each group of results and a curve for each method."""
    # Imported lazily, since matplotlib costs every process 60 MB and 0.3 s.
    from evaluation.presentation.content import Curve, CurvePanel, Level, LinePlot
    from evaluation.presentation.plots.canvas import to_svg
    from evaluation.presentation.plots.figures import curves_figure

    panels = []
    for group in _group_names(savings):
        group_rows = _rows_of_group(savings, group)
        curves = []
        for method in dict.fromkeys(row["method"] for row in group_rows):
            rows = [row for row in group_rows if row["method"] == method]
            budgets = tuple(float(row["budget"]) for row in rows)
            saved_shares = tuple(
                None if row["saved"] is None else max(row["saved"], MIN_PLOTTED_SAVING) for row in rows
            )
            curves.append(Curve(_(METHOD_LABELS[method]), budgets, saved_shares))
        level = Level(_(METHOD_LABELS[UNIFORM]), 0.0)
        panels.append(CurvePanel(_(GROUP_LABELS[group]), tuple(curves), (level,)))
    drawing = LinePlot(
        tuple(panels),
        x_axis=pgettext("staff", "Items chosen"),
        y_axis=pgettext("staff", "Items saved at the same error (% of a uniform sample)"),
    )
    return as_markup(
        to_svg(
            curves_figure(drawing, signature_height=0.0),
            name="savings",
            title=drawing.y_axis,
            description=pgettext(
                "staff", "Each curve shows one method. The table below names the best method."
            ),
        )
    )


add_page_part(PagePart("planning", "evaluation/fewer_items.html", _newest_savings))
add_operation(choose_items, label="Choose")
add_operation(start_weighing, label="Estimate results for all items")
add_operation(start_savings_estimate, label="Measure")

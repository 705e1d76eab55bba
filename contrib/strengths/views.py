"""The page "Ranking" of a study."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_noop, pgettext, pgettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget

from contrib.strengths.pairs import is_biased
from contrib.strengths.parameters import DEFAULT_MODEL, LENGTH_CONTROL, NO_CONTROL
from contrib.strengths.strengths import cached_strengths
from evaluation.errors import EvaluationError
from evaluation.results.agreement_sentences import side_sentence
from evaluation.results.consensus.clusters import scope_sentence
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.pages import Context, StudySection
from judgments.studies.study_page import study_page
from judgments.templatetags.judgments_tags import coefficient

MODELS_IN_WORDS = (
    ("adjacent", pgettext_lazy("staff", "Adjacent categories (Davidson)")),
    ("cumulative", pgettext_lazy("staff", "Cumulative (Rao and Kupper)")),
)
CONTROLS_IN_WORDS = (
    (NO_CONTROL, pgettext_lazy("staff", "No control variable")),
    (LENGTH_CONTROL, pgettext_lazy("staff", "Length of the texts")),
)
# Suffixes of the keys of a share and of the ends of its interval: "won", "won_low", "won_high".
SHARE_SUFFIXES = {"value": "", "low": "_low", "high": "_high"}


class RankingForm(forms.Form):
    model = forms.ChoiceField(
        label=pgettext_lazy("staff", "Model"), choices=MODELS_IN_WORDS, widget=UnfoldAdminSelectWidget
    )
    control = forms.ChoiceField(
        label=pgettext_lazy("staff", "Control for"), choices=CONTROLS_IN_WORDS, widget=UnfoldAdminSelectWidget
    )
    order_effect = forms.BooleanField(label=pgettext_lazy("staff", "Without side bias"), required=False)


def _has_ranking_page(study: Study) -> bool:
    return KINDS[study.protocol].compares_pairs or KINDS[study.protocol].names_best


@study_page(
    "ranking",
    order=53,
    has_tab=_has_ranking_page,
    section=StudySection.FINDINGS,
    parent_page="results",
    results_label=gettext_noop("Ranking of the systems"),
    style="css/strengths.css",
)
def show_ranking(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    options: dict[str, Any] = {"model": DEFAULT_MODEL, "control": NO_CONTROL, "order_effect": False}
    form = RankingForm({name: request.GET.get(name, default) for name, default in options.items()})
    if form.is_valid():
        options = dict(form.cleaned_data)
    compares_pairs = KINDS[study.protocol].compares_pairs
    context |= {"form": RankingForm(options) if compares_pairs else None, "settings": options}
    if not compares_pairs:
        options = {}  # there is only one model for choices of the best of several
    try:
        strengths = cached_strengths(study, **options)
    except EvaluationError as error:
        return TemplateResponse(request, "evaluation/study_ranking.html", context | {"problem": str(error)})
    # A reason with numbers has no translation, and is shown in English, as the statistics return it. The template gets
    # each reason with whether it is in English.
    reasons = [reason for reason in (strengths["reason"], strengths["note"]) if reason]
    bias, effect = strengths["side_bias"], strengths["order_effect"]
    has_bias = is_biased(bias, random_sides=study.source == Study.Source.DESIGNED)
    if compares_pairs and not bias:  # without both sides, no order effect can be estimated
        del context["form"].fields["order_effect"]
    context |= {
        "side_bias": side_sentence(bias, random_sides=True) if has_bias else "",  # see `is_biased`
        "order_effect": {name: with_sign(value) for name, value in (effect or {}).items()},
        "reasons": [(gettext(reason), gettext(reason) == reason) for reason in reasons],
        "strengths": strengths,
        "scope": scope_sentence(strengths),
        "rows": _system_rows(strengths["systems"]),
        "length": {name: with_sign(value) for name, value in (strengths["length"] or {}).items()},
    }
    return TemplateResponse(request, "evaluation/study_ranking.html", context)


def _system_rows(systems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with formatted figures, and with the positions of estimates on a common axis, such as "12.50%"."""
    values: list[float] = []
    for row in systems:
        values += [row[name] for name in ("low", "high", "strength") if row[name] is not None]
    lowest, highest = min(values, default=0.0), max(values, default=1.0)
    axis_length = (highest - lowest) * 1.04 or 1.0  # with room at the right

    def position(value: float | None) -> str:
        # From 2 % to 98 % of the width, so that marks at the ends are not cut off.
        return "" if value is None else f"{2 + 96 * (value - lowest) / axis_length:.2f}%"

    rows = []
    # the share of lists in which a system was the best or, in pairs, of pairs that it won
    share_key = "best" if "best" in systems[0] else "won"
    for row in systems:
        has_one_rank = row["best_rank"] == row["worst_rank"]
        ranks = "%(best)s" if has_one_rank else pgettext("staff", "%(best)s to %(worst)s")
        rows.append(
            {
                "system": row["system"],
                "strength": with_sign(row["strength"]),
                "interval": [with_sign(row[name]) for name in ("low", "high")],
                "ranks": ranks % {"best": row["best_rank"] or "–", "worst": row["worst_rank"] or "–"},
                "positions": {name: position(row[name]) for name in ("low", "strength", "high")},
                "position_of_zero": position(0.0),
                "share": {name: row.get(f"{share_key}{suffix}") for name, suffix in SHARE_SUFFIXES.items()},
            }
        )
    return rows


def with_sign(value: float | None) -> str:
    """Format a coefficient with its sign. Values that are rounded to 0 have none."""
    if value is None:
        return "–"
    text = coefficient(value)
    return f"+{text}" if value > 0 and text != coefficient(0) else text

"""Decide which system people like best, and how certain the decision is.

The first system is compared with every other one by t tests over items and raters, with Holm's correction. Pages,
reports, the HTTP interface and commands show the verdict in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import npgettext

from common.amounts import coefficient, interval_in_text, json_float, p_in_text, percent, thousands
from common.features import of_features
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.presentation.content import join_names
from evaluation.results.consensus.clusters import scope_sentence
from evaluation.results.consensus.study import StudyConsensus
from evaluation.results.larger_studies import (
    NO_LARGER_STUDY,
    LargerStudy,
    larger_study,
    larger_study_sentence,
)
from evaluation.results.outputs import Outputs
from evaluation.results.standings import (
    BEST,
    F1,
    MEAN,
    OOT,
    PEOPLE,
    WON,
    YES,
    Standings,
    measure_of,
    standings_of_pairs,
)
from judgments.models import CandidatePair, Item, Study, Unit
from judgments.studies.designs import design_of, kind_of

SHARE_MEASURES = (WON, BEST, YES)  # measures that are shares, which are shown as per cent


class SystemsVerdict(LargerStudy):
    """The verdict on systems, as JSON. `LargerStudy` adds how many new items and people would settle it.

    Attributes:
        settled: whether one system is significantly better than all others.
        leaders: the first system, and those not significantly worse.
        rest: the other systems.
        p: if there is one leader, the largest adjusted p of the ``rest``, else the largest of the other leaders.
        compared: adjusted p of each system but the first.
        measure: name of the measure by which systems are compared.
        systems: best first, each with its value of ``measure``, the interval, and ``n`` comparisons or captions.
        value, low, high: value and interval of the first system.
        items: number of items compared.
        raters: number of raters, if known.
        scope: the population to which the verdict generalises.
        sentence: the verdict in words.
    """

    settled: bool
    leaders: list[str]
    rest: list[str]
    p: float | None
    compared: dict[str, float | None]
    measure: str
    systems: list[dict[str, Any]]
    value: float | None
    low: float | None
    high: float | None
    items: int
    raters: int | None
    scope: str
    sentence: str


def verdict_of_systems(
    study: Study,
    table: JudgmentTable,
    consensus: StudyConsensus,
    outputs: Outputs | None = None,
    systems_of_pairs: Mapping[str, tuple[str, str]] | None = None,
) -> SystemsVerdict | None:
    """Return the verdict on systems, or None if no answers compare two systems.

    Args:
        outputs: systems' captions with answers, if units are single captions.
        systems_of_pairs: the systems of both captions, by pair key, if pairs are compared.
    """
    kind = kind_of(study)
    if kind.compares_pairs:
        standings = _pair_standings(study, table, consensus, systems_of_pairs or {})
    elif kind.relevance is not None:
        standings = None if outputs is None else outputs.standings(measure_of(kind.relevance))
    else:
        standings = _feature_standings(study)
    if standings is None or len(standings.names) < 2:
        return None
    return verdict_on_systems(standings)


def verdict_on_systems(standings: Standings) -> SystemsVerdict:
    """Return the verdict on systems' results (``Standings``), by t tests of the first system against each other one."""
    names, comparison = list(standings.names), standings.compare()
    leader, leaders, worse_systems = comparison.names[0], comparison.leaders, comparison.significantly_worse
    is_settled, size_fields = len(leaders) == 1, NO_LARGER_STUDY
    if not is_settled:
        open_contrasts = [
            standings.contrast(names.index(leader), names.index(name)) for name in leaders if name != leader
        ]
        size_fields = larger_study(open_contrasts, standings.items, standings.raters)
    verdict = SystemsVerdict(
        settled=is_settled,
        leaders=leaders,
        rest=worse_systems,
        p=json_float(comparison.p_of_rest if is_settled else comparison.p_of_leaders),
        compared=comparison.compared,
        measure=standings.measure,
        systems=[{"system": name, **standings.figures[name]} for name in comparison.names],
        value=standings.figures[leader]["value"],
        low=standings.figures[leader]["low"],
        high=standings.figures[leader]["high"],
        items=standings.items,
        **size_fields,
        raters=standings.raters,
        scope=standings.scope,
        sentence="",
    )
    return verdict | {"sentence": systems_sentence(verdict)}


def count_unused_items(study: Study) -> int:
    """Return the number of items in the judged split that can still be sampled for a larger study.

    Items of this study, and of studies whose items its sample excludes, are not counted.
    """
    sampling = design_of(study).sampling
    studies = Study.objects.filter(dataset=study.dataset_id, slug__in=[study.slug, *sampling.not_in])
    judged_items = Unit.objects.filter(study__in=studies, control=False).values("item")
    items = Item.objects.filter(dataset=study.dataset_id)
    if items.exclude(split="").exists():  # the dataset has splits
        items = items.filter(split=sampling.split)
    return items.exclude(pk__in=judged_items).count()


def new_items_for(study: Study, verdict: SystemsVerdict | None) -> dict[str, int] | None:
    """Return the number of new items that would settle the verdict, and the number of items that are available.

    Return None if no items are needed, if their number is unknown, or if the study was imported or simulated.
    """
    if verdict is None or verdict["settled"] or verdict["more"] is None:
        return None
    if study.source == Study.Source.IMPORTED or study.simulated:
        return None
    return {"needed": verdict["more"], "available": count_unused_items(study)}


def verdict_context(study: Study, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template context of a stored verdict, with sentences in the reader's language."""
    verdict = result.get("systems_verdict")
    if verdict is None:
        return {}
    return {
        "systems_verdict": verdict | {"sentence": systems_sentence(verdict)},
        "new_items": new_items_for(study, verdict),
    }


def systems_sentence(verdict: SystemsVerdict) -> str:
    first_system, leaders, worse_systems = verdict["systems"][0], verdict["leaders"], verdict["rest"]
    placeholders = {
        "leader": _describe_system(first_system["system"]),
        "leaders": join_names([_describe_system(name) for name in leaders]),
        "rest": join_names([_describe_system(name) for name in worse_systems]) if worse_systems else "",
        "figure": _describe_value(verdict["measure"], first_system),
        "p": p_in_text(verdict["p"]) if verdict["p"] is not None else _("too few data to test"),
    }
    if verdict["settled"]:
        sentence = _("The winner is %(leader)s, ahead of %(rest)s (%(p)s): %(figure)s.") % placeholders
    elif worse_systems:
        sentence = (
            _(
                "No winner yet. There is no significant difference between %(leaders)s (%(p)s). Behind these: "
                "%(rest)s. Result of %(leader)s: %(figure)s."
            )
            % placeholders
        )
    else:
        sentence = (
            _(
                "No winner yet. There is no significant difference between %(leaders)s (%(p)s). Result of %(leader)s: "
                "%(figure)s."
            )
            % placeholders
        )
    return " ".join(filter(None, (sentence, larger_study_sentence(verdict), scope_sentence(verdict))))


def _describe_system(system: str) -> str:
    return _("texts by people") if system == PEOPLE else system


def _describe_value(measure: str, row: Mapping[str, Any]) -> str:
    n, format_value = row["n"], percent if measure in SHARE_MEASURES else coefficient
    outputs = npgettext("of", "%(n)s output", "%(n)s outputs", n)
    items = npgettext("of", "%(n)s item", "%(n)s items", n)
    comparisons = npgettext("of", "%(n)s comparison", "%(n)s comparisons", n)
    lists = npgettext("of", "%(n)s list", "%(n)s lists", n)
    counts = {WON: comparisons, BEST: lists, YES: outputs, MEAN: outputs, F1: items, OOT: items}
    sentences = {
        WON: _("%(value)s of %(count)s won, where a tie counts as half a win (95 %% interval %(ends)s)"),
        BEST: _("named the best in %(value)s of %(count)s (95 %% interval %(ends)s)"),
        YES: _("%(value)s of the answers to %(count)s were yes (95 %% interval %(ends)s)"),
        MEAN: _("a mean of %(value)s for %(count)s (95 %% interval %(ends)s)"),
        F1: _("a mean F of %(value)s for %(count)s (95 %% interval %(ends)s)"),
        OOT: _("a mean oot of %(value)s for %(count)s (95 %% interval %(ends)s)"),  # "out of ten"
    }
    placeholders = {"value": format_value(row["value"]), "ends": interval_in_text(row, format_value)}
    return sentences[measure] % (placeholders | {"count": counts[measure] % {"n": thousands(n)}})


def _pair_standings(
    study: Study,
    table: JudgmentTable,
    consensus: StudyConsensus,
    systems_of_pairs: Mapping[str, tuple[str, str]],
) -> Standings | None:
    return standings_of_pairs(
        table,
        consensus,
        systems_of_pairs,
        dict(CandidatePair.objects.filter(study=study).values_list("pk", "item_id")),
        loaders.documents_of(study),
        anonymous=loaders.is_anonymous(study),
    )


def _feature_standings(study: Study) -> Standings | None:
    """Return the comparison of systems by the first feature that has one for the study, or None."""
    for standings_of in of_features("standings"):
        standings: Standings | None = standings_of(study)
        if standings is not None:
            return standings
    return None

"""Rank systems by people's choices between their texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from django.core.cache import cache
from django.db.models import F, Max
from django.utils.translation import gettext, gettext_noop
from rest_framework import serializers

from annotation.models import Judgment
from annotation.work.arena import has_chances
from common.amounts import as_json, json_float
from common.parameters import Parameters
from common.rows import columns_of
from common.texts import one_text, word_bounds
from evaluation.data.judgment_sets import blocks, loaders
from evaluation.data.judgment_sets.records import NO_PAIR
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Dots, Estimate, Level, Panel, Section, rows_as_json
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.results.agreement import judgment_clusters, side_bias
from evaluation.results.consensus import consensus_of, scope_of
from evaluation.results.standings import (
    BEST,
    Standings,
    contrasts_of_fit,
    contrasts_where_compared,
    figures_of,
    standings_of_pairs,
    with_parts_of,
)
from judgments.design.tables import AnswerOptions
from judgments.kinds import KINDS
from judgments.models import CandidatePair, HITUnit, Output, Study, System, Unit
from judgments.models.studies import credited
from judgments.studies.studies import design_of
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.aggregation import (
    LuceResult,
    RankBands,
    StrengthResult,
    luce_choice,
    preference_strengths,
    rank_bands,
)
from quorum.statistics.aggregation.strengths import MODELS
from quorum.statistics.aggregation.votes_and_means import preferences_of
from quorum.statistics.crossed import CONFIDENCE, NAIVE, NO_CONTRAST, RATER, Contrast, share_of_rows
from quorum.statistics.meta import PeoplesWinners

LENGTH = "length"
WEIGHTS = ("drawn", "none")
NEXT_SHOWN = 3
KEPT_SECONDS = 3600
LUCE = "luce"
PEOPLE = "people"  # who wrote what no system gave
MAJORITIES = (
    "Strengths and ranks are of single judgments. Pairs won, and p against the best system, are of what most say of "
    "each pair, as in the verdict; the two can differ."
)
NO_PAIR_OF_TWO = gettext_noop(
    "Study %(slug)r has no judgment that counts of a pair of two different systems."
)
NO_CAPTIONS_OF_TWO = gettext_noop(
    "Study %(slug)r has no judgment that counts of captions of two different systems."
)
NO_SIDES = gettext_noop(
    "In study %(slug)r texts never changed sides, or their sides are unknown: there is no order effect to fit."
)
NOT_PAIRS = "Study {slug!r} compares no pairs and names no best one, so that no system won against another."


class NothingToRank(EvaluationError):
    """No judgment is of two systems; ``why`` says so in English."""

    def __init__(self, why: str, slug: str) -> None:
        super().__init__(gettext(why) % {"slug": slug})
        self.why = why


class StrengthsRequest(Parameters):
    """How systems are ranked (docs/ties.md)."""

    model = serializers.ChoiceField(
        MODELS,
        required=False,
        initial=MODELS[0],
        label="Model",
        help_text="Of pairs: adjacent (with ties, Davidson's) or cumulative (with ties, Rao and Kupper's); default: "
        "adjacent. The best of several has Luce's.",
    )
    control = serializers.ChoiceField(
        ["none", LENGTH],
        required=False,
        initial="none",
        label="Control for",
        help_text="length: strengths of texts of equal length; default: none.",
    )
    weights = serializers.ChoiceField(
        WEIGHTS,
        required=False,
        initial=WEIGHTS[0],
        label="Weights",
        help_text="drawn: one over the chance of what was drawn with unequal chances, in an arena the pair of systems, "
        "or an item chosen by its usefulness; none: all judgments count alike.",
    )
    order_effect = serializers.BooleanField(
        required=False,
        initial=False,
        label="Without side bias",
        help_text="Of pairs: fit the advantage of standing on the left, and give strengths without it.",
    )


def strengths_of(
    study: Study,
    *,
    model: str = MODELS[0],
    control: str = "none",
    weights: str = WEIGHTS[0],
    order_effect: bool = False,
) -> dict[str, Any]:
    """Return strengths, rank bands and the next comparisons of the study's systems, as JSON.

    Every included judgment of two systems is a comparison; "neither" counts as no difference. Shares of pairs ``won``
    and ``p``, of the best system against each other one, are of the majorities, as the verdict has them. Intervals are
    clustered by item and, unless anonymous, by person. In an arena each judgment weighs one over the
    probability of its pair of systems, as if pairs were drawn evenly (Chiang et al. 2024, section 5).
    Where people name the best of several captions, strengths are those of Luce's choice model.
    ``side_bias`` tests whether people favour a side; ``order_effect`` fits what the left one adds to the log-odds
    (Davidson, Beaver 1977).

    Raises:
        EvaluationError: the study compares no pairs and names no best one, or none of two systems, or its model has no
            such setting.
    """
    if KINDS[study.protocol].names_best:
        return _strengths_of_choices(study, model=model, control=control, order_effect=order_effect)
    if not KINDS[study.protocol].compares_pairs:
        raise EvaluationError(NOT_PAIRS.format(slug=study.slug))
    table, units = loaders.load_judgments(study), loaders.unit_rows(study)
    names = ("pk", "first_system__name", "second_system__name", "first__text", "second__text", "key")
    pairs = list(CandidatePair.objects.filter(study=study).order_by("pk").values_list(*names))
    pks, first, second, *texts, keys = zip(*pairs, strict=True) if pairs else ((),) * 6
    firsts = np.array([name or PEOPLE for name in first], dtype=object)
    seconds = np.array([name or PEOPLE for name in second], dtype=object)
    counted = np.flatnonzero(table.counted)
    pair = units.pair[places_in(units.pk, table.unit[counted])]
    in_pair = pair != NO_PAIR
    index = places_in(np.array(pks, dtype=np.int64), pair[in_pair])
    rows = counted[in_pair]
    different = firsts[index] != seconds[index]
    rows, index = rows[different], index[different]
    if not len(rows):
        raise NothingToRank(NO_PAIR_OF_TWO, study.slug)
    images, anonymous = loaders.clusters_of_units(study, units), loaders.is_anonymous(study)
    clusters = judgment_clusters(units, images, table.unit[rows], table.worker[rows], anonymous=anonymous)
    bias = side_bias(table, units, images, anonymous=anonymous)
    if order_effect and not bias:
        raise EvaluationError(gettext(NO_SIDES) % {"slug": study.slug})
    covariates = {}
    if control == LENGTH:
        covariates["length"] = _length_difference(*texts)[index]
    if order_effect:
        covariates["order_effect"] = table.order[rows]
    preferences = np.nan_to_num(preferences_of(table.full_value[rows]), nan=0.0)
    # What was chosen by usefulness, or drawn by the answers so far, counts by one over its chance.
    chosen, inverse = design_of(study).chosen, None
    if chosen and weights == WEIGHTS[0]:
        inverse = 1 / np.array([chosen.chances[key] for key in keys])[index]
    elif weights == WEIGHTS[0] and has_chances(study):
        inverse = 1 / _chances_of(study, table.unit[rows], table.worker[rows])
        inverse /= inverse.mean()
    strengths = preference_strengths(
        firsts[index].tolist(),
        seconds[index].tolist(),
        preferences,
        model=model,
        covariates=np.column_stack(list(covariates.values())) if covariates else None,
        weights=inverse,
        clusters=clusters or NAIVE,
    )
    result = _as_result(strengths, preferences, list(covariates))
    result |= {"control": control, "weighted": inverse is not None, "side_bias": bias or None}
    standings = standings_of_pairs(
        table,
        consensus_of(study, table, units),
        loaders.systems_of_pairs(study),
        dict(CandidatePair.objects.filter(study=study).values_list("pk", "item_id")),
        loaders.documents_of(study),
        anonymous=anonymous,
    )
    assert standings is not None, "there are judgments of two systems"
    compared = standings.compare().compared
    for row in result["systems"]:
        won = standings.figures[row["system"]]
        row |= {"pairs": won["n"], "won": won["value"], "won_low": won["low"], "won_high": won["high"]}
        row["p"] = compared.get(row["system"])
    return result


def _strengths_of_choices(study: Study, *, model: str, control: str, order_effect: bool) -> dict[str, Any]:
    """Return strengths and rank bands from which caption of several was named the best.

    A caption that several systems gave counts for each of them in part.
    """
    if model != MODELS[0] or control != "none" or order_effect:
        raise EvaluationError(
            gettext(
                "Study %(slug)r asks for the best of several: its model is Luce's, and controls for nothing."
            )
            % {"slug": study.slug}
        )
    choices = fit_choices(study)
    strengths, shares = choices.strengths, choices.shares()
    bands, compared = _bands_of(strengths), standings_of_choices(choices).compare().compared
    return {
        "systems": [
            row | shares[row["system"]] | {"p": compared.get(row["system"])}
            for row in _system_rows(strengths, bands)
        ],
        "next": [],
        "length": None,
        "order_effect": None,
        "side_bias": None,
        "ties": 0.0,
        "levels": [],
        "cuts": [],
        "control": control,
        "clusters": dict(strengths.clusters),
        "scope": scope_of(strengths.clusters.get(RATER)),
        "model": LUCE,
        "comparisons": strengths.choices,
        **as_json(strengths, "log_likelihood", "converged", "reason", "note", "signature"),
        "ranks": bands.signature,
        "weighted": False,
    }


class OfferedCaption(NamedTuple):
    """A caption of an image that people chose from, and who gets what they say of it."""

    item: int
    text: str
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """The best of several captions each, and strengths of their systems; ``items`` is the number of images."""

    strengths: LuceResult
    winners: list[list[str]]
    shown: list[list[OfferedCaption]]
    owners: dict[OfferedCaption, list[str]]
    clusters: Mapping[str, Ints]
    items: int

    def shares(self) -> dict[str, dict[str, Any]]:
        """Return, by system, in how many lists it was shown, and the share of those in which its caption was best."""
        shares = {}
        systems_of_rows = [{name for option in row for name in self.owners[option]} for row in self.shown]
        for name in self.strengths.items.tolist():
            keep = np.array([name in systems for systems in systems_of_rows])
            won = np.array([float(name in systems) for systems in self.winners])
            low = high = float("nan")
            if self.clusters:
                interval = share_of_rows(won, self.clusters, CONFIDENCE, keep=keep)
                low, high = interval.low, interval.high
            shares[str(name)] = {
                "shown": int(keep.sum()),
                "best": json_float(won[keep].mean()),
                "best_low": json_float(low),
                "best_high": json_float(high),
            }
        return shares


def fit_choices(study: Study) -> Choices:
    """Fit Luce's choice model to which of several captions people named the best.

    Raises:
        NothingToRank: no captions of two systems were shown.
    """
    table, units = loaders.load_judgments(study), loaders.unit_rows(study)
    counted = table.counted
    owners, options = _options_of(study)
    shown = [options[unit] for unit in table.unit[counted].tolist()]
    best = [row[answer["best"] - 1] for row, answer in zip(shown, table.answers_of(counted), strict=True)]
    if len({name for option in {*chain.from_iterable(shown)} for name in owners[option]}) < 2:
        raise NothingToRank(NO_CAPTIONS_OF_TWO, study.slug)
    images, anonymous = loaders.clusters_of_units(study, units), loaders.is_anonymous(study)
    clusters = judgment_clusters(
        units, images, table.unit[counted], table.worker[counted], anonymous=anonymous
    )
    return Choices(
        strengths=luce_choice(shown, best, owners=owners, clusters=clusters or NAIVE),
        winners=[owners[option] for option in best],
        shown=shown,
        owners=owners,
        clusters=clusters,
        items=len({option.item for option in chain.from_iterable(shown)}),
    )


def standings_of_choices(choices: Choices) -> Standings:
    """Compare systems by the strengths of the choices, or where these are unknown by how often each is the best."""
    fit, shares = choices.strengths, choices.shares()
    names = [str(name) for name in fit.items.tolist()]
    figures = {
        name: figures_of(row["best"], row["best_low"], row["best_high"], row["shown"])
        for name, row in shares.items()
    }

    def compare(first: int, second: int) -> Contrast:
        return _compare_two(choices, names[first], names[second])

    strength = fit.log_strength
    contrasts = with_parts_of(contrasts_of_fit(strength, fit.covariance, fit.freedom), compare)
    if fit.reason:  # strengths are infinite, as where a system is always the best, or have no errors
        strength = np.array([figures[name]["value"] for name in names])
        contrasts = contrasts_where_compared(strength, compare)
    return Standings(BEST, names, figures, strength, contrasts, choices.items, fit.clusters.get(RATER))


def _compare_two(choices: Choices, first: str, second: str) -> Contrast:
    """Compare with a half how often the first is the best where either is."""
    rows = np.array([(first in best) != (second in best) for best in choices.winners])
    if not rows.any() or not choices.clusters:
        return NO_CONTRAST
    winners = np.array([1 if first in best else 2 for best in choices.winners])[rows]
    clusters = {name: column[rows] for name, column in choices.clusters.items()}
    people = PeoplesWinners.of(winners, clusters=clusters)
    share, spread = people.spread_if_even(lambda _rows, winner: (winner == 1) * 1.0, winners > 0)
    return Contrast(share - 0.5, spread)


def _options_of(study: Study) -> tuple[dict[OfferedCaption, list[str]], dict[int, list[OfferedCaption]]]:
    """Return the systems of each option, and the options of each unit."""
    judged = Unit.objects.filter(study=study, control=False)
    outputs = Output.objects.annotations().filter(
        system__in=System.objects.of_study(study), item__in=judged.values("item")
    )
    gave: dict[tuple[int, str], list[int]] = {}
    for item, text, system in outputs.order_by("system__name").values_list("item", "caption__text", "system"):
        gave.setdefault((item, one_text(text)), []).append(system)
    names = dict(System.objects.of_study(study).values_list("pk", "name"))
    owners: dict[OfferedCaption, list[str]] = {}
    options: dict[int, list[OfferedCaption]] = {}
    for pk, item, content, systems in judged.values_list("pk", "item", "content", "systems"):
        texts = [one_text(option["text"]) for option in content["options"]]
        options[pk] = []
        for text, of_file in zip(texts, systems or [()] * len(texts), strict=True):
            of_option = dict.fromkeys(
                names[pk] for pk in credited(of_file, gave.get((item, text), ())) if pk in names
            )
            option = OfferedCaption(item, text, tuple(of_option) or (PEOPLE,))
            owners[option] = list(option.systems)
            options[pk].append(option)
    return owners, options


def _chances_of(study: Study, units: Ints, workers: Ints) -> Floats:
    """Return (N,) probabilities by which an arena drew the judgments' pairs of systems.

    Nobody judges a unit twice, so unit and person identify the HIT.
    """
    drawn = HITUnit.objects.filter(hit__study=study, chance__isnull=False)
    live = drawn.filter(hit__assignments__judgments__unit=F("unit")).order_by()
    columns = columns_of(live.values_list("unit_id", "hit__assignments__worker_id", "chance"), 3)
    of_unit, of_worker = columns[0].astype(np.int64), columns[1].astype(np.int64)
    base = max(int(of_worker.max()), int(workers.max())) + 1
    codes, first = np.unique(of_unit * base + of_worker, return_index=True)
    index = places_in(codes, units * base + workers)
    assert not (index < 0).any(), "each judged unit of an arena was drawn"
    return columns[2][first][index]


def _length_difference(first: tuple[str, ...], second: tuple[str, ...]) -> Floats:
    """Return (P,) difference in words over their sum, in standard deviations (Chatbot Arena, 2024)."""
    first_lengths, second_lengths = (
        np.array([len(word_bounds(text)) for text in texts], dtype=np.float64) for texts in (first, second)
    )
    share = (first_lengths - second_lengths) / np.maximum(first_lengths + second_lengths, 1.0)
    spread = share.std()
    return share / spread if spread > 0 else share


def _as_result(strengths: StrengthResult, preferences: Floats, covariates: list[str]) -> dict[str, Any]:
    names, bands = [str(name) for name in strengths.items.tolist()], _bands_of(strengths)
    effects = rows_as_json(
        value=strengths.coefficients, low=strengths.coefficient_low, high=strengths.coefficient_high
    )
    coefficients = dict(zip(covariates, effects, strict=True))
    return {
        "systems": _system_rows(strengths, bands),
        "next": [] if strengths.reason else _next_comparisons(strengths, names),
        "length": None if strengths.reason else coefficients.get("length"),
        "order_effect": coefficients.get("order_effect"),
        "ties": float((preferences == 0).mean()),
        **as_json(strengths, "levels", "cuts"),
        "clusters": dict(strengths.clusters),
        "scope": scope_of(strengths.clusters.get(RATER)),
        **as_json(
            strengths, "model", "comparisons", "log_likelihood", "converged", "reason", "note", "signature"
        ),
        "ranks": bands.signature,
    }


def _bands_of(strengths: StrengthResult | LuceResult) -> RankBands:
    return rank_bands(strengths.log_strength, strengths.covariance, freedom=strengths.freedom.tolist())


def _system_rows(strengths: StrengthResult | LuceResult, bands: RankBands) -> list[dict[str, Any]]:
    order = strengths.order if len(strengths.order) else slice(None)
    return rows_as_json(
        system=map(str, strengths.items[order].tolist()),
        strength=strengths.log_strength[order],
        low=strengths.low[order],
        high=strengths.high[order],
        best_rank=[rank or None for rank in bands.best[order].tolist()],
        worst_rank=[rank or None for rank in bands.worst[order].tolist()],
    )


def _next_comparisons(strengths: StrengthResult, names: list[str]) -> list[dict[str, Any]]:
    """Return the pairs of systems with the largest gain of one more judgment, in nats."""
    gains = np.triu(strengths.gains(), 1)
    best = np.argsort(-gains, axis=None, kind="stable")[:NEXT_SHOWN]
    return [
        {
            "first": names[index // len(names)],
            "second": names[index % len(names)],
            "gain": json_float(gains.flat[index]),
        }
        for index in best.tolist()
        if gains.flat[index] > 0
    ]


def cached_strengths(study: Study, **settings: Any) -> dict[str, Any]:
    """Return ``strengths_of``, cached for the same judgments and events of the study, or raise its NothingToRank."""
    event = study.events.aggregate(last=Max("pk"))["last"]
    # The names belong to the key: "none" is a value of two of them.
    options = "-".join(f"{name}={settings[name]}" for name in sorted(settings))
    key = f"strengths-{study.pk}-{event}-{options}"
    judgments = Judgment.objects.filter(assignment__study=study)
    newest: int
    strengths: dict[str, Any]
    newest, strengths = cache.get(key) or (-1, {})
    if judgments.filter(pk__gt=newest).exists() or newest < 0:
        newest = blocks.newest_judgment(study)
        try:
            strengths = strengths_of(study, **settings)
        except NothingToRank as error:
            strengths = {"nothing": error.why}
        cache.set(key, (newest, strengths), KEPT_SECONDS)
    if "nothing" in strengths:
        raise NothingToRank(strengths["nothing"], study.slug)
    return strengths


def ranking_section(study: Study) -> Section | None:
    """Return strengths and rank bands if probabilities or answers are unusual; else None."""
    design = design_of(study)
    kind = KINDS[study.protocol]
    special = design.answers != AnswerOptions() or design.chosen is not None or has_chances(study)
    if not ((kind.compares_pairs or kind.names_best) and special):
        return None
    try:
        strengths = strengths_of(study)
    except EvaluationError:  # nothing to rank yet
        return None
    if strengths["reason"]:
        return section("ranking", empty=strengths["reason"])
    rows = []
    for system in strengths["systems"]:
        estimate = Estimate(system["strength"], system["low"], system["high"])
        rows.append((system["system"], estimate, system["best_rank"], system["worst_rank"]))
    luce = strengths["model"] == LUCE
    data = table("ranking", rows, luce=luce)
    best = [name for name, _, best_rank, _ in rows if best_rank == 1]
    counts = {name: strengths[name] for name in ("comparisons", "ties", "weighted")}
    sentence = say("ranking", best=best, luce=luce, **counts)
    drawing = Dots(
        tuple(name for name, *_ in rows),
        (Panel("", tuple(strength for _, strength, *_ in rows), (Level("mean", 0.0),)),),
        "log-strength, 95 % interval",
        "number",
        tuple(best),
    )
    return section("ranking", [sentence], [plot(sentence, drawing, data)], [data])

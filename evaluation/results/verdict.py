"""Decide which metrics are best, in the same words for pages, reports, the HTTP interface and commands.

The metric with the highest value is compared with every other one by t tests over items and raters, with Holm's
correction. The tests are of differences of accuracies on pairs, or of Kendall's tau-b on captions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext, npgettext

from common.amounts import describe_range, interval_in_text, p_in_text, percent, thousands
from evaluation.presentation.content import join_names
from evaluation.results.consensus.clusters import scope_of, scope_sentence
from evaluation.results.larger_studies import (
    NO_LARGER_STUDY,
    LargerStudy,
    larger_study,
    larger_study_sentence,
)
from evaluation.results.standings import rater_count_of
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.correlation import CONSTANT, CorrelationDifference
from quorum.statistics.crossed import (
    ITEM,
    MIN_CLUSTERS,
    NAIVE,
    ClusterColumns,
    Contrast,
    RaterDeletions,
    columns_and_deletions,
)
from quorum.statistics.meta import PeoplesWinners, compare_with_best, correlation_difference, metric_winners
from quorum.statistics.significance import BestResult

# Names of the tests in results: without clusters, by item, and by item and rater.
NAIVE_TESTS = "mcnemar-holm"
BY_ITEM = "difference-by-item-holm"
BY_ITEM_AND_RATER = "difference-by-item-and-rater-holm"
PAIR_TESTS = {
    NAIVE_TESTS: gettext_noop("exact McNemar tests, Holm’s correction"),
    BY_ITEM: gettext_noop("t tests by item, Holm’s correction"),
    BY_ITEM_AND_RATER: gettext_noop("t tests by item and participant, Holm’s correction"),
    # Names in results that earlier versions stored.
    "mcnemar-by-image-holm": gettext_noop("McNemar tests by item, Holm’s correction"),
    "difference-by-image-and-rater-holm": gettext_noop("t tests by item and participant, Holm’s correction"),
}
TAU = "tau-b, "  # prefix of the tests of tau-b
CAPTION_TESTS = {
    TAU + NAIVE_TESTS: gettext_noop("t tests without clusters, Holm’s correction"),
    TAU + BY_ITEM: PAIR_TESTS[BY_ITEM],
    TAU + BY_ITEM_AND_RATER: PAIR_TESTS[BY_ITEM_AND_RATER],
    "intervals": gettext_noop("according to their intervals"),  # in results of earlier versions
}
NO_WINNERS = gettext_noop("None of these pairs has a winner yet, so metrics cannot be compared with people.")
NO_METRIC = gettext_noop("No metric has been compared with people yet.")
UNTESTED_NOTE = gettext_noop(
    "An earlier version of Quorum computed these results. To test which metric is ahead, press “Compute now”."
)
# Words for users on why a correlation with people is undefined, by reason of the statistics.
UNDEFINED_REASONS = {
    CONSTANT.format("the first variable"): gettext_noop("the metric gives every text the same score"),
    CONSTANT.format("the second variable"): gettext_noop("people gave every text the same score"),
}
# The estimate of each metric, with its interval, as JSON.
Estimates = Mapping[str, Mapping[str, Any]]


class Verdict(LargerStudy):
    """The verdict on metrics, as JSON.

    Attributes:
        settled: whether one metric is significantly better than all others; false if there are no others.
        leaders: the metric with the highest value, and those not significantly worse.
        rest: the other metrics.
        p: the largest adjusted p of the ``rest``; if there is no rest, the largest of the other leaders.
        compared: adjusted p of each metric but the first.
        n: number of pairs or captions.
        by: name of the tests.
        raters: number of raters, if known.
        scope: the population to which the verdict generalises.
        sentence: the verdict in words.
    """

    settled: bool
    leaders: list[str]
    rest: list[str]
    p: float | None
    compared: dict[str, float | None]
    n: int
    by: str
    raters: int | None
    scope: str
    sentence: str


def winners_of_metrics(scores: Mapping[str, Floats]) -> dict[str, Ints]:
    """Return the (N,) winners that each metric names (1, 2, or 0 for a tie), from its (N, 2) scores."""
    return {
        name: metric_winners(pair_scores[:, 0], pair_scores[:, 1]) for name, pair_scores in scores.items()
    }


def name_of_test(clusters: object, deletions: RaterDeletions | None) -> str:
    """Return the name of the test that compares metrics: by item and rater if enough raters are known, else by item.

    ``clusters`` is false if rows are not clustered, so that the test is naive. ``deletions`` is None if raters are
    unknown.
    """
    if deletions is not None and deletions.rater_count >= MIN_CLUSTERS:
        return BY_ITEM_AND_RATER
    return BY_ITEM if clusters else NAIVE_TESTS


def pair_verdict(
    winners: Mapping[str, Ints], people: PeoplesWinners, is_of_kind: Flags, estimates: Estimates
) -> Verdict:
    """Return the verdict on metrics for the pairs of one kind.

    Args:
        winners: by metric, the (N,) winners that it names.
        is_of_kind: (N,) flags of the pairs of the kind.
        estimates: by metric, the share of right pairs with an interval.
    """
    is_decided = is_of_kind & (people.winners != 0)
    names = list(winners)
    accuracies = (
        [float((winners[name] == people.winners)[is_decided].mean()) for name in names]
        if is_decided.any()
        else []
    )

    def p_of_difference(first: int, second: int) -> float:
        return people.difference(winners[names[first]], winners[names[second]], is_of_kind).p

    best = compare_with_best(accuracies, names, p_of_difference)
    test_name = name_of_test(people.has_clusters, people.deletions)
    raters = rater_count_of(people.deletions)
    size = NO_LARGER_STUDY
    if people.columns and not is_settled(best):  # without columns, the tests are naive and know no items
        contrasts = [
            people.contrast(winners[best.names[0]], winners[name], is_of_kind) for name in best.leaders[1:]
        ]
        items = len(np.unique(people.columns[ITEM][is_decided]))
        size = larger_study(contrasts, items, raters)
    return _make_verdict(best, int(is_decided.sum()), test_name, estimates, raters, size)


def pair_verdicts(
    scores: Mapping[str, Floats],
    people: PeoplesWinners,
    kinds: Sequence[str],
    accuracy: Mapping[str, Estimates],
) -> dict[str, Verdict]:
    """Return the verdicts on metrics by pair kind, and over all pairs as "all".

    Args:
        scores: by metric, (N, 2) scores of both candidates.
        kinds: (N,) kinds of the pairs.
        accuracy: by metric and pair kind, the share of right pairs.
    """
    winners, kind_of_pair = winners_of_metrics(scores), np.array(kinds, dtype=np.str_)
    verdicts = {}
    for kind in next(iter(accuracy.values()), {}):  # every metric has the same kinds
        is_of_kind = np.ones(len(kind_of_pair), dtype=np.bool_) if kind == "all" else kind_of_pair == kind
        estimates = {name: accuracy[name][kind] for name in winners}
        verdicts[kind] = pair_verdict(winners, people, is_of_kind, estimates)
    return verdicts


def correlation_verdict(
    scores: Mapping[str, Floats],
    people: Floats,
    clusters: ClusterColumns,
    estimates: Estimates,
    weights: Floats | None = None,
) -> Verdict:
    """Return the verdict on metrics by Kendall's tau-b with people, over captions.

    Args:
        scores: by metric, (U,) scores of captions, nan if missing.
        people: (U,) mean judgments, nan if missing.
        clusters: clusters of the captions, as in ``correlation``.
        estimates: by metric, tau-b with an interval.
        weights: (U,) weights of the captions, if they differ.
    """
    names = [name for name in scores if estimates[name]["value"] is not None]

    def difference(first: str, second: str) -> CorrelationDifference:
        return correlation_difference(
            scores[first], scores[second], people, missing="leave-out", weights=weights, clusters=clusters
        )

    def p_of_difference(first: int, second: int) -> float:
        return difference(names[first], names[second]).p

    best = compare_with_best([estimates[name]["value"] for name in names], names, p_of_difference)
    columns, deletions = columns_and_deletions(clusters)
    test_name = TAU + name_of_test(columns != NAIVE, deletions)
    raters = rater_count_of(deletions)
    size = NO_LARGER_STUDY
    if isinstance(columns, Mapping) and not is_settled(best):  # NAIVE is no mapping
        differences = [difference(best.names[0], name) for name in best.leaders[1:]]
        contrasts = [Contrast(result.difference, result.spread) for result in differences]
        item_count = max(result.clusters.get(ITEM, 0) for result in differences)
        size = larger_study(contrasts, item_count, raters)
    caption_count = estimates[best.names[0]]["n"] if names else 0
    return _make_verdict(best, caption_count, test_name, estimates, raters, size)


def is_settled(best: BestResult) -> bool:
    """Return whether no larger study is needed: at most one metric leads. For ``settled``, there must be others."""
    return len(best.leaders) < 2


def verdict_sentence(verdict: Verdict, estimates: Estimates) -> str:
    """Return the verdict as a sentence in the reader's language. ``estimates`` are those of the metrics."""
    # Naive tests do not cluster by item, so they cannot say how many items are needed.
    sentence_on_size = "" if verdict["by"].endswith(NAIVE_TESTS) else larger_study_sentence(verdict)
    return " ".join(filter(None, (_sentence_on_leaders(verdict, estimates), sentence_on_size)))


def _sentence_on_leaders(verdict: Verdict, estimates: Estimates) -> str:
    leaders, other_metrics = verdict["leaders"], verdict["rest"]
    reasons = {
        name: cell["reason"]
        for name, cell in estimates.items()
        if cell["value"] is None and cell.get("reason")
    }
    failures = [f"{name} ({_(UNDEFINED_REASONS.get(reason, reason))})" for name, reason in reasons.items()]
    if not leaders:
        if verdict["by"] in PAIR_TESTS:
            return _(NO_WINNERS) if estimates else _(NO_METRIC)
        if not failures:
            return _(NO_METRIC)
        return _("No metric can be compared with people: %(why)s.") % {"why": join_names(failures)}
    values = [estimates[name]["value"] for name in leaders]
    is_of_pairs, p, n = verdict["by"] in PAIR_TESTS, verdict["p"], verdict["n"]
    tests = _((PAIR_TESTS | CAPTION_TESTS)[verdict["by"]])
    placeholders = {
        "leaders": join_names(leaders),
        "rest": _describe_others(other_metrics) if other_metrics else "",
        "tested": tests if p is None else f"{p_in_text(p)}, {tests}",
    }
    if is_of_pairs:
        placeholders |= {
            "pairs": npgettext("of", "%(n)s pair", "%(n)s pairs", n) % {"n": thousands(n)},
            "share": describe_range(values, percent),
            "interval": interval_in_text(estimates[leaders[0]], percent),
        }
        return _pair_sentence(len(leaders), len(other_metrics)) % placeholders
    placeholders |= {"tau": describe_range(values), "interval": interval_in_text(estimates[leaders[0]])}
    placeholders["texts"] = npgettext("of", "%(n)s text", "%(n)s texts", n) % {"n": thousands(n)}
    sentence = _correlation_sentence(len(leaders), len(other_metrics)) % placeholders
    if failures:
        sentence += " " + _("Metrics not ranked: %(metrics)s.") % {"metrics": join_names(failures)}
    return sentence


def _pair_sentence(leader_count: int, rest_count: int) -> str:
    if leader_count == 1 and rest_count:
        return _(
            "%(leaders)s is ahead of %(rest)s (%(tested)s): it names people’s winner on %(share)s of %(pairs)s "
            "(95 %% interval %(interval)s)."
        )
    if leader_count == 1:
        return _(
            "%(leaders)s is the only metric: it names people’s winner on %(share)s of %(pairs)s (95 %% interval "
            "%(interval)s)."
        )
    if rest_count:
        return ngettext(
            "No metric is ahead of all others. %(leaders)s share the top: they name people’s winner on %(share)s "
            "of %(pairs)s. Behind is %(rest)s (%(tested)s).",
            "No metric is ahead of all others. %(leaders)s share the top: they name people’s winner on %(share)s "
            "of %(pairs)s. Behind are %(rest)s (%(tested)s).",
            rest_count,
        )
    return _(
        "No metric is ahead. There is no significant difference between %(leaders)s (%(tested)s). They name "
        "people’s winner on %(share)s of %(pairs)s."
    )


def _correlation_sentence(leader_count: int, rest_count: int) -> str:
    if leader_count == 1 and rest_count:
        return _(
            "%(leaders)s is ahead of %(rest)s (%(tested)s): its tau-b with people is %(tau)s over %(texts)s (95 "
            "%% interval %(interval)s)."
        )
    if leader_count == 1:
        return _(
            "%(leaders)s is the only metric that can be ranked: its tau-b with people is %(tau)s over %(texts)s "
            "(95 %% interval %(interval)s)."
        )
    if rest_count:
        return ngettext(
            "No metric is ahead of all others. %(leaders)s share the top: their tau-b with people is %(tau)s over "
            "%(texts)s. Behind is %(rest)s (%(tested)s).",
            "No metric is ahead of all others. %(leaders)s share the top: their tau-b with people is %(tau)s over "
            "%(texts)s. Behind are %(rest)s (%(tested)s).",
            rest_count,
        )
    return _(
        "No metric is ahead. There is no significant difference between %(leaders)s (%(tested)s). Their tau-b "
        "with people is %(tau)s over %(texts)s."
    )


def estimates_of_metrics(result: Mapping[str, Any]) -> Estimates:
    """Return the estimates of the metrics on which an evaluation's overall verdict is based."""
    metrics = result["metrics"]
    if result["verdict"]["all"]["by"] in PAIR_TESTS:
        return {name: row["accuracy"]["all"] for name, row in metrics.items() if "all" in row["accuracy"]}
    return {name: row["kendall_tau_b"] for name, row in metrics.items()}


def scope_fields(deletions: RaterDeletions | None) -> dict[str, Any]:
    """Return the fields ``scope`` and ``raters`` of a result. ``raters`` is missing if raters are unknown."""
    raters = rater_count_of(deletions)
    scope = {"scope": scope_of(raters)}
    return scope if raters is None else {"raters": raters, **scope}


def levels_sentence(result: Mapping[str, Any]) -> str:
    """Return sentences on levels to compare a verdict with, such as chance, and on the verdict's limits."""
    if not result["verdict"]["all"]["leaders"]:
        return ""
    return " ".join(filter(None, (_levels_to_compare(result), scope_sentence(result))))


def _levels_to_compare(result: Mapping[str, Any]) -> str:
    if result["verdict"]["all"]["by"] in CAPTION_TESTS:
        return _("0 is chance, and 1 is the same order as people.")
    if "halves" in result:
        return " ".join(filter(None, (_("Chance is 50 %."), halves_sentence(result))))
    # Results from before 0.6 have no halves.
    share = (result.get("people") or {}).get("all", {}).get("value")
    chance = _("Chance is 50 %.")
    if share is None:
        return chance
    agreement_of_one = _(
        "A single participant agrees with the majority of the others on %(share)s of the pairs."
    ) % {"share": percent(share)}
    return f"{chance} {agreement_of_one}"


def halves_sentence(result: Mapping[str, Any]) -> str:
    """Return sentences that compare people and the leading metrics on the same halves of votes; "" without votes."""
    halves = result["halves"].get("all")
    if halves is None:
        return ""
    leaders = result["verdict"]["all"]["leaders"]
    return _(
        "If the votes are split at random, one half of the votes predicts the winner of the other "
        "half on %(people)s of the pairs. %(metric)s: %(reached)s. A metric can be expected to "
        "reach at most %(ceiling)s."
    ) % {
        "people": percent(halves["people"]["value"]),
        "metric": join_names(leaders),
        "reached": describe_range([halves["metrics"][name]["value"] for name in leaders], percent),
        "ceiling": percent(halves["ceiling"]["value"]),
    }


def _make_verdict(
    best: BestResult, n: int, test_name: str, estimates: Estimates, raters: int | None, size: LargerStudy
) -> Verdict:
    leaders, other_metrics = best.leaders, best.significantly_worse
    verdict = Verdict(
        settled=len(leaders) == 1 and bool(other_metrics),
        leaders=leaders,
        rest=other_metrics,
        p=best.p_of_rest if other_metrics else best.p_of_leaders,
        compared=best.compared,
        n=n,
        by=test_name,
        raters=raters,
        scope=scope_of(raters),
        **size,
        sentence="",
    )
    return verdict | {"sentence": verdict_sentence(verdict, estimates)}


def _describe_others(metrics: Sequence[str]) -> str:
    return metrics[0] if len(metrics) == 1 else _("the other %(n)d") % {"n": len(metrics)}

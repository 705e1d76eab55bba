"""Decide which metrics are ahead, in the same words for pages, dashboard, report, API and commands.

It agrees with the report's letters: paired tests of every two metrics by item and rater, with Holm's correction,
separate metrics on pairs. Intervals separate rank correlations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypedDict

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from common.amounts import coefficient, thousands
from evaluation.data.judgment_sets.records import Flags, Floats, Ints
from evaluation.presentation.content import (
    interval_in_text,
    join_names,
    p_in_text,
    percent,
    percent_number,
    range_of,
)
from evaluation.results.consensus import few_raters_sentence
from evaluation.statistics.inference import RaterDeletions
from evaluation.statistics.meta import PeoplesWinners, clusters_of_p_values, metric_winners

INTERVALS = "intervals"
TESTS, TESTS_BY_IMAGE = "mcnemar-holm", "mcnemar-by-image-holm"
TESTS_BY_RATER = "difference-by-image-and-rater-holm"
PAIRED = {
    TESTS: gettext_noop("exact McNemar tests, Holm’s correction"),
    TESTS_BY_IMAGE: gettext_noop("McNemar tests by item, Holm’s correction"),
    TESTS_BY_RATER: gettext_noop("t tests by item and participant, Holm’s correction"),
}
NO_PAIRS = gettext_noop("No candidate pair has a consensus yet, so no metric can be held against one.")
NO_METRIC = gettext_noop("No metric was held against people yet.")
UNTESTED = gettext_noop(
    "“Compute now” tests which metric is ahead; these figures are of an earlier version, which did not."
)
Cells = Mapping[str, Mapping[str, Any]]


class Verdict(TypedDict):
    """The best metrics, as JSON.

    ``leaders`` are the metric with the highest value and those not separable from it; ``p`` is the largest
    adjusted p of the ``rest`` against the highest.
    """

    settled: bool
    leaders: list[str]
    rest: list[str]
    p: float | None
    n: int
    by: str
    sentence: str


def paired_p(names: Sequence[str], test: Callable[[str, str], float]) -> Floats:
    """Return the (K, K) p of all pairs; nan on the diagonal and if undefined."""
    p = np.full((len(names), len(names)), np.nan)
    for first, second in combinations(range(len(names)), 2):
        p[first, second] = p[second, first] = test(names[second], names[first])
    return p


def leaders_by_intervals(cells: Cells) -> tuple[list[str], list[str]]:
    """Return those whose interval reaches that of the highest, best first, and the rest."""
    known = {name: cell for name, cell in cells.items() if cell["value"] is not None}
    order = sorted(known, key=lambda name: -known[name]["value"])
    if not order:
        return [], []
    low = known[order[0]]["low"]
    highs = {name: known[name]["high"] for name in order}
    leaders = [
        name for name in order if name == order[0] or low is None or highs[name] is None or highs[name] >= low
    ]
    return leaders, [name for name in order if name not in leaders]


def winners_named(scores: Mapping[str, Floats]) -> dict[str, Ints]:
    """Return the (N,) winners that each metric names by its (N, 2) scores."""
    return {name: metric_winners(both[:, 0], both[:, 1]) for name, both in scores.items()}


def difference_p(
    people: PeoplesWinners, named: Mapping[str, Ints], pairs: Flags
) -> Callable[[str, str], float]:
    """Return the test of two metrics' accuracies on these (N,) pairs."""
    return lambda first, second: people.difference(named[first], named[second], pairs).p


def name_of_test(people: PeoplesWinners) -> str:
    """Return the name of the test by which metrics are told apart."""
    if people.deletions is not None:
        return TESTS_BY_RATER
    return TESTS_BY_IMAGE if people.clustered else TESTS


def pair_verdict(named: Mapping[str, Ints], people: PeoplesWinners, pairs: Flags, cells: Cells) -> Verdict:
    """Judge metrics on the pairs of one kind.

    Args:
        named: metric -> the (N,) winners that it names.
        pairs: (N,) the pairs of the kind.
        cells: metric -> its share of right pairs with an interval.
    """
    decided = pairs & (people.winners != 0)
    n = int(decided.sum())
    leaders: list[str] = []
    rest: list[str] = []
    largest = None
    if n:
        right = {name: float((winners == people.winners)[decided].mean()) for name, winners in named.items()}
        names = sorted(right, key=lambda name: -right[name])
        p = paired_p(names, difference_p(people, named, pairs))
        clusters = clusters_of_p_values([right[name] for name in names], p, names)
        leaders, rest, largest = clusters.leaders()
    return _make_verdict(leaders, rest, largest, n, name_of_test(people), cells)


def pair_verdicts(
    scores: Mapping[str, Floats], people: PeoplesWinners, kinds: Sequence[str], accuracy: Mapping[str, Cells]
) -> dict[str, Verdict]:
    """Judge metrics by pair kind, and overall as "all".

    Args:
        scores: metric -> (N, 2).
        kinds: (N,) names.
        accuracy: metric -> pair kind -> share of right pairs.
    """
    named, names = winners_named(scores), np.array(kinds, dtype=np.str_)
    everywhere = np.ones(len(names), dtype=np.bool_)
    return {
        kind: pair_verdict(
            named,
            people,
            everywhere if kind == "all" else names == kind,
            {name: accuracy[name][kind] for name in named},
        )
        for kind in next(iter(accuracy.values()), {})
    }


def correlation_verdict(cells: Cells) -> Verdict:
    """Judge metrics by intervals of Kendall's tau-b with people, over captions."""
    leaders, rest = leaders_by_intervals(cells)
    n = cells[leaders[0]]["n"] if leaders else 0
    return _make_verdict(leaders, rest, None, n, INTERVALS, cells)


def verdict_sentence(verdict: Verdict, cells: Cells) -> str:
    """Word a verdict in the reader's language; ``cells``: metric -> its estimate with interval."""
    leaders, rest = verdict["leaders"], verdict["rest"]
    if not leaders:
        why = next((cell.get("reason") for cell in cells.values() if cell.get("reason")), "")
        if verdict["by"] in PAIRED:
            return _(NO_PAIRS) if cells else _(NO_METRIC)
        return (
            _("No metric can be ranked against people: %(why)s.") % {"why": _(why)} if why else _(NO_METRIC)
        )
    values = [cells[name]["value"] for name in leaders]
    parts = {
        "leaders": join_names(leaders),
        "rest": _describe_others(rest) if rest else "",
        "n": thousands(verdict["n"]),
    }
    if verdict["by"] in PAIRED:
        p, tests = verdict["p"], _(PAIRED[verdict["by"]])
        parts |= {
            "share": range_of(values, percent, percent_number),
            "interval": interval_in_text(cells[leaders[0]], percent_number, percent),
            "tested": tests if p is None else f"{p_in_text(p)}, {tests}",
        }
        return _pair_sentence(len(leaders), len(rest)) % parts
    parts |= {
        "tau": range_of(values, coefficient, coefficient),
        "interval": interval_in_text(cells[leaders[0]], coefficient, coefficient),
    }
    return _correlation_sentence(len(leaders), len(rest)) % parts


def _pair_sentence(leaders: int, rest: int) -> str:
    if leaders == 1 and rest:
        return _(
            "%(leaders)s is ahead of %(rest)s (%(tested)s): it names people’s winner on %(share)s of %(n)s pairs "
            "(95 %% interval %(interval)s)."
        )
    if leaders == 1:
        return _(
            "%(leaders)s is the only metric: it names people’s winner on %(share)s of %(n)s pairs (95 %% interval "
            "%(interval)s)."
        )
    if rest:
        return ngettext(
            "No metric is ahead of all others: %(leaders)s share the top, naming people’s winner on %(share)s of %(n)s "
            "pairs; %(rest)s is behind (%(tested)s).",
            "No metric is ahead of all others: %(leaders)s share the top, naming people’s winner on %(share)s of %(n)s "
            "pairs; %(rest)s are behind (%(tested)s).",
            rest,
        )
    return _(
        "No metric is ahead: %(leaders)s cannot be told apart (%(tested)s), naming people’s winner on %(share)s of "
        "%(n)s pairs."
    )


def _correlation_sentence(leaders: int, rest: int) -> str:
    if leaders == 1 and rest:
        return _(
            "%(leaders)s is ahead of %(rest)s: it orders %(n)s captions like people do with tau-b %(tau)s (95 %% "
            "interval %(interval)s), and the other intervals lie below."
        )
    if leaders == 1:
        return _(
            "%(leaders)s is the only metric: it orders %(n)s captions like people do with tau-b %(tau)s (95 %% "
            "interval %(interval)s)."
        )
    if rest:
        return ngettext(
            "No metric is ahead of all others: %(leaders)s share the top over %(n)s captions with tau-b %(tau)s, where "
            "their 95 %% intervals overlap; %(rest)s is behind.",
            "No metric is ahead of all others: %(leaders)s share the top over %(n)s captions with tau-b %(tau)s, where "
            "their 95 %% intervals overlap; %(rest)s are behind.",
            rest,
        )
    return _(
        "No metric is ahead: the 95 %% intervals of %(leaders)s overlap (tau-b %(tau)s over %(n)s captions)."
    )


def cells_of(result: Mapping[str, Any]) -> Cells:
    """Return each metric's estimate behind an evaluation's overall verdict."""
    metrics = result["metrics"]
    if result["verdict"]["all"]["by"] in PAIRED:
        return {name: row["accuracy"]["all"] for name, row in metrics.items() if "all" in row["accuracy"]}
    return {name: row["kendall_tau_b"] for name, row in metrics.items()}


def count_raters(deletions: RaterDeletions | None) -> dict[str, int]:
    """Return the number of raters for `few_raters_sentence`; none if intervals are not by rater."""
    return {} if deletions is None else {"raters": deletions.raters}


def levels_sentence(result: Mapping[str, Any]) -> str:
    """Describe the levels to compare a verdict with, chance and one judge, and what weakens it."""
    if not result["verdict"]["all"]["leaders"]:
        return ""
    return " ".join(filter(None, (_levels(result), few_raters_sentence(result))))


def _levels(result: Mapping[str, Any]) -> str:
    if result["verdict"]["all"]["by"] == INTERVALS:
        return _("Chance is 0; 1 is the same order.")
    if "halves" in result:
        return " ".join(filter(None, (_("Chance is 50 %."), halves_sentence(result))))
    level = (result.get("people") or {}).get("all", {}).get("value")
    chance = _("Chance is 50 %.")
    if level is None:
        return chance
    judge = _("One judge agrees with the majority of the others on %(share)s.") % {"share": percent(level)}
    return f"{chance} {judge}"


def halves_sentence(result: Mapping[str, Any]) -> str:
    """Describe people and leading metrics on the same halves of the votes; "" without votes."""
    halves = result["halves"].get("all")
    if halves is None:
        return ""
    leaders = result["verdict"]["all"]["leaders"]
    return _(
        "On random halves of the votes, half of the people name the other half’s winner on %(people)s of the pairs, "
        "%(metric)s on %(reached)s, and no answer can reach more than %(ceiling)s."
    ) % {
        "people": percent(halves["people"]["value"]),
        "metric": join_names(leaders),
        "reached": range_of([halves["metrics"][name]["value"] for name in leaders], percent, percent_number),
        "ceiling": percent(halves["ceiling"]["value"]),
    }


def _make_verdict(
    leaders: list[str], rest: list[str], p: float | None, n: int, by: str, cells: Cells
) -> Verdict:
    settled = len(leaders) == 1 and bool(rest)
    verdict = Verdict(settled=settled, leaders=leaders, rest=rest, p=p, n=n, by=by, sentence="")
    return verdict | {"sentence": verdict_sentence(verdict, cells)}


def _describe_others(rest: Sequence[str]) -> str:
    return rest[0] if len(rest) == 1 else _("the other %(n)d") % {"n": len(rest)}

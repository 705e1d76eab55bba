"""How often 95 % intervals hold the truth, and tests at 5 % reject what is true, where rows share items and raters.

    python -m benchmarks.coverage                          # every figure, 1,000 data sets each, some ten minutes
    python -m benchmarks.coverage alpha "McNemar" --data-sets 200

Each data set draws its items and raters anew. "naive" takes rows as independent, "clustered" is the default of pages,
commands and reports. Columns are designs: all raters judge all items; each item has three raters; each has three, and
the busiest rater judges ten times as much as the rarest ("uneven"). "alone" has no dependence at all. The second table
has figures of metrics against people's majorities and mean grades; raters like what a metric likes in their own way.
Truths without a formula are those of a data set of half a million rows. Shares are of the data sets that have an
interval or a p; "(.010 without)" says that one in a hundred has none.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from evaluation.numeric.arrays import Floats, Ints
from evaluation.statistics.aggregation import (
    best_worst_scores,
    bradley_terry_of_comparisons,
    luce_choice,
    tournament,
)
from evaluation.statistics.agreement import (
    Alpha,
    CohenKappa,
    FleissKappa,
    Gwet,
    Percent,
    agreement,
    ratings_of_judgments,
    threshold_kappa,
)
from evaluation.statistics.correlation import correlation, means_without_raters
from evaluation.statistics.inference import NAIVE, share_of_rows
from evaluation.statistics.meta import (
    accuracy_difference,
    correlation_difference,
    grouped_correlation,
    pair_accuracy,
    pairwise_accuracy,
    winners_without_raters,
)
from evaluation.statistics.significance import mcnemar_test, randomization_test, wilson_interval

SEED = 17
DATA_SETS = 1000
RESAMPLES = 200
SYSTEMS = 4
ANSWERS = 4
MANY = 1000


@dataclass(frozen=True, slots=True)
class Design:
    """`each` raters judge an item; `item`, `rater` are the spreads of their effects, beside noise of spread 1."""

    name: str
    items: int
    raters: int
    each: int
    item: float = 1.0
    rater: float = 0.7
    uneven: bool = False

    def rows(self, generator: np.random.Generator) -> tuple[Ints, Ints]:
        """Return (N,) items and raters, one row a judgment."""
        if self.raters > MANY:  # whoever comes next, from a random start
            start = generator.integers(0, self.raters, self.items)[:, np.newaxis]
            rater = (start + np.arange(self.each)) % self.raters
            return np.repeat(np.arange(self.items), self.each), rater.ravel()
        busy = np.linspace(1, 10, self.raters) if self.uneven else np.ones(self.raters)
        order = np.argsort(generator.exponential(size=(self.items, self.raters)) / busy, axis=1)
        item = np.repeat(np.arange(self.items), self.each)
        return item, order[:, : self.each].ravel()

    def many(self) -> Design:
        """Return the same with so many items and raters that chance hardly moves a figure."""
        return Design(self.name, 50_000, 100_000, self.each if self in PANELS else 10, self.item, self.rater)


DESIGNS = (
    Design("crossed 30 x 10", 30, 10, 10),
    Design("3 of 10, 30 items", 30, 10, 3),
    Design("uneven, 60 x 15", 60, 15, 3, uneven=True),
    Design("crossed 100 x 30", 100, 30, 30),
    Design("alone 30 x 10", 30, 10, 3, item=0.0, rater=0.0),
)
TASTES = {"no": 0.0, "mild": 0.4, "strong": 0.8}
# Pairs, two an image, with three votes each; the last has all raters vote on every pair.
PANELS = (
    *(
        Design(f"{taste} taste, {raters} raters", 120, raters, 3, rater=spread)
        for taste, spread in TASTES.items()
        for raters in (5, 10, 40)
    ),
    *(
        Design(f"{taste} taste, 30 images, crossed 5", 60, 5, 5, rater=spread)
        for taste, spread in TASTES.items()
    ),
)
Interval = tuple[float, float]
Clustered = str | Mapping[str, Iterable[Any]]


def columns(item: Ints, rater: Ints) -> dict[str, Ints]:
    return {"item": item, "rater": rater}


def effects(design: Design, rows: tuple[Ints, Ints], generator: np.random.Generator) -> Floats:
    """Return (N,) sums of an item's and a rater's effect."""
    of_item = generator.normal(0, design.item, design.items)
    of_rater = generator.normal(0, design.rater, design.raters)
    return np.asarray(of_item[rows[0]] + of_rater[rows[1]], dtype=np.float64)


def accuracy(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    rows = design.rows(generator)
    right = effects(design, rows, generator) + generator.normal(0.8, 1, len(rows[0])) > 0
    return rows, right.astype(np.float64)


def accuracy_intervals(data: Any, clustered: bool) -> Interval:
    rows, right = data
    if not clustered:
        return wilson_interval(float(right.sum()), len(right))
    found = share_of_rows(right, columns(*rows), 0.95)
    return found.low, found.high


def answers(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    rows = design.rows(generator)
    deviation = np.sqrt(design.item**2 + design.rater**2 + 1)
    latent = effects(design, rows, generator) + generator.normal(0, 1, len(rows[0]))
    cuts = ndtri(np.arange(1, ANSWERS) / ANSWERS) * deviation
    return rows, np.searchsorted(cuts, latent)


def coefficient(kind: Any) -> tuple[Callable[[Any, bool], Interval], Callable[[Any], float]]:
    def interval(data: Any, clustered: bool) -> Interval:
        ratings = ratings_of_judgments(data[0][0], data[0][1], data[1])
        found = agreement(ratings, kind, clusters="both" if clustered else NAIVE, resamples=RESAMPLES)
        return found.low, found.high

    def value(data: Any) -> float:
        return agreement(ratings_of_judgments(data[0][0], data[0][1], data[1]), kind, resamples=1).value

    return interval, value


def two_sources(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    """Draw two sources' answers to captions, several an image: the rows of an item."""
    image, _ = design.rows(generator)
    hard = generator.normal(0, design.item, design.items)[image]
    truth = generator.normal(0, 1, len(image)) + generator.normal(0, design.rater, design.items)[image]
    noise = np.exp(hard / 2)  # images differ in how well the sources agree
    first, second = (truth + noise * generator.normal(0, 0.7, len(image)) for _ in range(2))
    return image, np.searchsorted([-0.7, 0, 0.7], first), np.searchsorted([-0.7, 0, 0.7], second)


def kappa_interval(data: Any, clustered: bool) -> Interval:
    image, first, second = data
    by: Clustered = {"item": image} if clustered else NAIVE
    found = agreement((first, second), CohenKappa(), clusters=by, resamples=RESAMPLES)
    return found.low, found.high


def kappa_value(data: Any) -> float:
    return agreement(data[1:], CohenKappa(), resamples=1).value


def scores(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    """Draw a metric's and people's scores, which rise together within and between items."""
    rows = design.rows(generator)
    n = len(rows[0])
    shared = generator.normal(0, design.item, design.items)[rows[0]]
    metric = shared + generator.normal(0, design.item / 2, design.items)[rows[0]] + generator.normal(0, 1, n)
    people = shared + generator.normal(0, design.rater, design.raters)[rows[1]] + generator.normal(0, 1, n)
    return rows, metric, people + 0.3 * metric


def correlated(kind: str) -> tuple[Callable[[Any, bool], Interval], Callable[[Any], float]]:
    def interval(data: Any, clustered: bool) -> Interval:
        rows, metric, people = data
        by: Clustered = columns(*rows) if clustered else NAIVE
        found = correlation(metric, people, kind, clusters=by, resamples=RESAMPLES)
        return found.low, found.high

    return interval, lambda data: correlation(data[1], data[2], kind, resamples=0).value


def games(design: Design, generator: np.random.Generator, gap: float = 0.4) -> tuple[Any, ...]:
    """Draw comparisons of systems, which images and raters like in their own way."""
    rows = design.rows(generator)
    first = generator.integers(0, SYSTEMS, len(rows[0]))
    second = (first + generator.integers(1, SYSTEMS, len(first))) % SYSTEMS
    liked = generator.normal(0, design.item, (design.items, SYSTEMS))[rows[0]]
    liked += generator.normal(0, design.rater, (design.raters, SYSTEMS))[rows[1]] + gap * np.arange(SYSTEMS)
    at = np.arange(len(first))
    better = liked[at, first] - liked[at, second] + generator.logistic(size=len(first)) > 0
    return rows, first, second, np.where(better, 1, 2)


def strength_interval(data: Any, clustered: bool) -> Interval:
    rows, *comparisons = data
    by: Clustered = columns(*rows) if clustered else NAIVE
    found = bradley_terry_of_comparisons(*comparisons, clusters=by)
    return float(found.low[-1]), float(found.high[-1])


def strength(data: Any) -> float:
    return float(bradley_terry_of_comparisons(*data[1:]).log_strength[-1])


def fraction_interval(data: Any, clustered: bool) -> Interval:
    rows, *comparisons = data
    by: Clustered | None = columns(*rows) if clustered else None
    found = tournament(*comparisons, clusters=by, resamples=RESAMPLES)
    return float(found.low[-1]), float(found.high[-1])


def within_items(data: Any, clustered: bool) -> Interval:
    rows, metric, people = data
    found = grouped_correlation(
        metric,
        people,
        rows[0],
        rows[1],
        "kendall-tau-b",
        clusters=columns(*rows) if clustered else NAIVE,
        resamples=RESAMPLES,
    )
    return found.low, found.high


def within_value(data: Any) -> float:
    rows, metric, people = data
    return grouped_correlation(metric, people, rows[0], rows[1], "kendall-tau-b", resamples=0).value


def ordered(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    """Draw systems' outputs for texts, several texts an item, which differ in how well a metric orders them."""
    item, _ = design.rows(generator)
    text = np.repeat(np.arange(len(item)), SYSTEMS)
    hard = generator.normal(0, design.item, design.items)[item][text]
    people = generator.normal(0, 1, len(text))
    return item[text], text, people + np.exp(hard) * generator.normal(0, 1, len(text)), people


def ordered_interval(data: Any, clustered: bool) -> Interval:
    item, text, metric, people = data
    by: Clustered = {"item": item} if clustered else NAIVE
    found = pairwise_accuracy(metric, people, text, clusters=by, resamples=RESAMPLES)
    return found.low, found.high


def ordered_value(data: Any) -> float:
    return pairwise_accuracy(data[2], data[3], data[1], resamples=0).value


def extremes(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    """Draw the best and the worst of the systems, which images and raters like in their own way."""
    rows = design.rows(generator)
    liked = generator.normal(0, design.item, (design.items, SYSTEMS))[rows[0]]
    liked += generator.normal(0, design.rater, (design.raters, SYSTEMS))[rows[1]] + 0.4 * np.arange(SYSTEMS)
    liked += generator.gumbel(size=liked.shape)
    return rows, liked.argmax(axis=1).tolist(), liked.argmin(axis=1).tolist()


def extremes_interval(data: Any, clustered: bool) -> Interval:
    rows, best, worst = data
    by = columns(*rows) if clustered else {"answer": np.arange(len(best))}
    found = best_worst_scores([range(SYSTEMS)] * len(best), best, worst, clusters=by)
    return float(found.low[-1]), float(found.high[-1])


def extremes_value(data: Any) -> float:
    last = SYSTEMS - 1
    return float(np.mean(np.equal(data[1], last))) - float(np.mean(np.equal(data[2], last)))


def choice_interval(data: Any, clustered: bool) -> Interval:
    rows, best, _ = data
    by: Clustered = columns(*rows) if clustered else NAIVE
    found = luce_choice([range(SYSTEMS)] * len(best), best, clusters=by)
    return float(found.low[-1]), float(found.high[-1])


def choice_value(data: Any) -> float:
    """Return the strength of the last system; with all systems in each list it has this closed form."""
    chosen = np.log(np.bincount(data[1], minlength=SYSTEMS))
    return float(chosen[-1] - chosen.mean())


def outcomes(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    """Draw two metrics' hits against each rater's answer: equally often right, but not on the same items."""
    rows = design.rows(generator)
    one, two = (
        effects(design, rows, generator) + generator.normal(0.5, 1, len(rows[0])) > 0 for _ in range(2)
    )
    return rows, one, two


def mcnemar_p(data: Any, clustered: bool) -> float:
    rows, one, two = data
    if not clustered:
        return mcnemar_test(one, two).exact_p
    return mcnemar_test(one, two, clusters=columns(*rows)).best_p


def differences(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    rows = design.rows(generator)
    return rows, effects(design, rows, generator) + generator.normal(0, 1, len(rows[0]))


def randomization_p(statistic: str) -> Callable[[Any, bool], float]:
    def p(data: Any, clustered: bool) -> float:
        rows, difference = data
        by: Clustered = columns(*rows) if clustered else NAIVE
        return randomization_test(difference, -difference, statistic, reassignments=999, clusters=by).p

    return p


def correlation_p(data: Any, clustered: bool) -> float:
    rows, metric, _ = data
    people = np.random.default_rng(len(metric) + int(1e6 * abs(metric[0])))
    unrelated = people.normal(0, 1, int(rows[0].max()) + 1)[rows[0]] + people.normal(0, 1, len(metric))
    by: Clustered = columns(*rows) if clustered else NAIVE
    return correlation(metric, unrelated, clusters=by, resamples=0).p


def shares(found: list[float]) -> str:
    """Return the share of 1 among 1 and 0, and that of nan if there are any."""
    without = float(np.isnan(found).mean())
    share = f"{np.nanmean(found):.3f}".lstrip("0") if without < 1 else "none"
    return f"{share} ({without:.3f} without)".replace("(0", "(") if without else share


def votes(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    """Draw votes on pairs, two an image, and what two metrics name; each rater favours each metric's candidate."""
    pair, rater = design.rows(generator)
    image = np.arange(design.items) // 2
    quality = generator.normal(0, 0.7, design.items) + generator.normal(0, 0.7, design.items)[image]
    scores = quality + generator.normal(0, 1.2, (2, design.items))
    taste = generator.normal(0, design.rater, (design.raters, 2))[rater]
    leaning = quality[pair] + (taste * np.sign(scores).T[pair]).sum(axis=1)
    vote = np.where(leaning + generator.normal(0, 1, len(pair)) > 0, 1, 2)
    lead = np.bincount(pair, weights=3 - 2 * vote, minlength=design.items)
    winner = np.where(lead > 0, 1, np.where(lead < 0, 2, 0))
    both = [np.column_stack([row, np.zeros(design.items)]) for row in scores]
    return both, winner, image, winners_without_raters(pair, rater, vote, design.items)


def by_image_and_rater(data: Any, clustered: bool) -> Clustered:
    """Return the clusters; "naive" of this table is by image alone."""
    return {"item": data[2], "rater": data[3]} if clustered else {"item": data[2]}


def grades(design: Design, generator: np.random.Generator, captions: int = 2) -> tuple[Any, ...]:
    """Draw grades of captions, some an image, and two metrics' scores; each rater favours what each metric likes."""
    caption, rater = design.rows(generator)
    image = np.arange(design.items) // captions
    quality = generator.normal(0, 0.7, design.items) + generator.normal(0, 0.7, design.items)[image]
    scores = quality + generator.normal(0, 1.2, (2, design.items))
    taste = generator.normal(0, design.rater, (design.raters, 2))[rater]
    liking = quality[caption] + (taste * scores.T[caption]).sum(axis=1) / 1.5
    liking += generator.normal(0, 0.5, design.raters)[rater] + generator.normal(0, 1, len(caption))
    grade = np.clip(np.round(3 + 1.2 * liking), 1, 5)
    means = np.bincount(caption, grade) / np.bincount(caption)
    return scores, means, image, means_without_raters(caption, rater, grade, design.items)


def of_tau(data: Any, clustered: bool) -> Interval:
    estimate = correlation(
        data[0][0], data[1], "kendall-tau-b", resamples=0, clusters=by_image_and_rater(data, clustered)
    )
    return estimate.low, estimate.high


def of_tau_within(data: Any, clustered: bool) -> Interval:
    estimate = grouped_correlation(
        data[0][0],
        data[1],
        data[2],
        np.arange(len(data[1])),
        "kendall-tau-b",
        clusters=by_image_and_rater(data, clustered),
    )
    return estimate.low, estimate.high


def of_kappa(data: Any, clustered: bool) -> Interval:
    estimate = threshold_kappa(data[0][0], data[1], 0.3, 3.2, clusters=by_image_and_rater(data, clustered))
    return estimate.low, estimate.high


def of_tau_difference(data: Any, clustered: bool) -> Any:
    first, second = data[0]
    return correlation_difference(first, second, data[1], clusters=by_image_and_rater(data, clustered))


def of_tau_difference_interval(data: Any, clustered: bool) -> Interval:
    difference = of_tau_difference(data, clustered)
    return difference.low, difference.high


def metric_interval(data: Any, clustered: bool) -> Interval:
    by = by_image_and_rater(data, clustered)
    estimate = pair_accuracy(data[0][0][:, 0], data[0][0][:, 1], data[1], clusters=by)["all"]
    return estimate.low, estimate.high


def metric_accuracy(data: Any) -> float:
    return pair_accuracy(data[0][0][:, 0], data[0][0][:, 1], data[1])["all"].value


def difference_interval(data: Any, clustered: bool) -> Interval:
    by = by_image_and_rater(data, clustered)
    estimate = accuracy_difference(data[0][0], data[0][1], data[1], clusters=by)["all"]
    return estimate.low, estimate.high


def difference_p(data: Any, clustered: bool) -> float:
    return accuracy_difference(data[0][0], data[0][1], data[1], clusters=by_image_and_rater(data, clustered))[
        "all"
    ].p


def contests(design: Design, generator: np.random.Generator) -> tuple[Any, ...]:
    """Draw majorities on pairs of systems, two an image; images and raters like systems in their own way."""
    pair, rater = design.rows(generator)
    image = np.arange(design.items) // 2
    first = generator.integers(0, SYSTEMS, design.items)
    second = (first + generator.integers(1, SYSTEMS, design.items)) % SYSTEMS
    liked = 0.4 * np.arange(SYSTEMS) + generator.normal(0, 0.7, (design.items, SYSTEMS))[image]
    taste = generator.normal(0, design.rater, (design.raters, SYSTEMS))[rater]
    at, row = np.arange(len(pair)), np.arange(design.items)
    leaning = (
        (liked[row, first] - liked[row, second])[pair] + taste[at, first[pair]] - taste[at, second[pair]]
    )
    vote = np.where(leaning + generator.logistic(size=len(pair)) > 0, 1, 2)
    lead = np.bincount(pair, weights=3 - 2 * vote, minlength=design.items)
    winner = np.where(lead > 0, 1, np.where(lead < 0, 2, 0))
    return (first, second), winner, image, winners_without_raters(pair, rater, vote, design.items)


def contest_strengths(data: Any, by: Clustered = NAIVE) -> Any:
    first, second = data[0]
    return bradley_terry_of_comparisons(first, second, data[1], tie_model="davidson", clusters=by)


def contest_interval(data: Any, clustered: bool) -> Interval:
    strengths = contest_strengths(data, by_image_and_rater(data, clustered))
    return float(strengths.low[-1]), float(strengths.high[-1])


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often an interval holds the truth: a formula, or the value of many rows."""

    draw: Callable[[Design, np.random.Generator], Any]
    interval: Callable[[Any, bool], Interval]
    truth: Callable[[Any], float]

    def held(self, design: Design, data_sets: int, clustered: bool) -> str:
        truth = self.truth(self.draw(design.many(), np.random.default_rng(SEED)))
        generator = np.random.default_rng(SEED)
        found = [self.interval(self.draw(design, generator), clustered) for _ in range(data_sets)]
        return shares([float(low <= truth <= high) if not np.isnan(low) else np.nan for low, high in found])


@dataclass(frozen=True, slots=True)
class Size:
    """How often a test rejects a hypothesis that is true."""

    draw: Callable[[Design, np.random.Generator], Any]
    p: Callable[[Any, bool], float]

    def held(self, design: Design, data_sets: int, clustered: bool) -> str:
        generator = np.random.default_rng(SEED)
        found = [self.p(self.draw(design, generator), clustered) for _ in range(data_sets)]
        return shares([float(p <= 0.05) if not np.isnan(p) else np.nan for p in found])


OF_METRICS: dict[str, Coverage | Size] = {
    "a metric's accuracy": Coverage(votes, metric_interval, metric_accuracy),
    "a difference of accuracies": Coverage(votes, difference_interval, lambda data: 0.0),
    "a difference of accuracies, size": Size(votes, difference_p),
    "a metric's tau-b": Coverage(
        grades, of_tau, lambda data: correlation(data[0][0], data[1], "kendall-tau-b", resamples=0).value
    ),
    "a metric's tau-b within images": Coverage(
        partial(grades, captions=5),
        of_tau_within,
        lambda data: (
            grouped_correlation(
                data[0][0], data[1], data[2], np.arange(len(data[1])), "kendall-tau-b", resamples=0
            ).value
        ),
    ),
    "a metric's kappa": Coverage(
        grades, of_kappa, lambda data: threshold_kappa(data[0][0], data[1], 0.3, 3.2, resamples=1).kappa.value
    ),
    "a system's strength": Coverage(
        contests, contest_interval, lambda data: float(contest_strengths(data).log_strength[-1])
    ),
    "a difference of tau-b": Coverage(grades, of_tau_difference_interval, lambda data: 0.0),
    "a difference of tau-b, size": Size(grades, lambda data, clustered: of_tau_difference(data, clustered).p),
}
FIGURES: dict[str, Coverage | Size] = {
    "accuracy": Coverage(accuracy, accuracy_intervals, lambda data: float(data[1].mean())),
    "alpha, nominal": Coverage(answers, *coefficient(Alpha("nominal"))),
    "alpha, ordinal": Coverage(answers, *coefficient(Alpha("ordinal"))),
    "alpha, interval": Coverage(answers, *coefficient(Alpha("interval"))),
    "Fleiss' kappa": Coverage(answers, *coefficient(FleissKappa())),
    "Gwet's AC1": Coverage(answers, *coefficient(Gwet())),
    "percent agreement": Coverage(answers, *coefficient(Percent())),
    "Cohen's kappa, by image": Coverage(two_sources, kappa_interval, kappa_value),
    "Pearson's r": Coverage(scores, *correlated("pearson")),
    "Spearman's rho": Coverage(scores, *correlated("spearman")),
    "Kendall's tau-b": Coverage(scores, *correlated("kendall-tau-b")),
    "Bradley-Terry": Coverage(games, strength_interval, strength),
    "tournament": Coverage(
        games, fraction_interval, lambda data: float(tournament(*data[1:], resamples=0).fraction[-1])
    ),
    "within items, tau-b": Coverage(scores, within_items, within_value),
    "pairwise accuracy, by image": Coverage(ordered, ordered_interval, ordered_value),
    "best-worst": Coverage(extremes, extremes_interval, extremes_value),
    "Luce's choice": Coverage(extremes, choice_interval, choice_value),
    "McNemar, size": Size(outcomes, mcnemar_p),
    "randomisation of means, size": Size(differences, randomization_p("mean")),
    "randomisation of medians, size": Size(differences, randomization_p("median")),
    "Pearson's p, size": Size(scores, correlation_p),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("figures", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--data-sets", type=int, default=DATA_SETS)
    options = parser.parse_args()
    print_table(FIGURES, DESIGNS, "naive, clustered", options)
    print()
    print_table(OF_METRICS, PANELS, "by image, by image and rater", options)


def print_table(
    figures: Mapping[str, Coverage | Size],
    designs: Sequence[Design],
    columns: str,
    options: argparse.Namespace,
) -> None:
    print(f"| figure | {' | '.join(f'{design.name}: {columns}' for design in designs)} |")
    print(f"|---|{'---|' * len(designs)}")
    for name, figure in figures.items():
        if options.figures and not name.startswith(tuple(options.figures)):
            continue
        cells = [
            ", ".join(figure.held(design, options.data_sets, clustered) for clustered in (False, True))
            for design in designs
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

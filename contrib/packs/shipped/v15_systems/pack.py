"""V15, Vedantam et al. 2015, §7.3 and §7.4: a tournament of systems, and predictions from half of the references.

The tournament: the five systems of PASCAL-50S meet in its machine-machine pairs. Each system's share of comparisons won
is computed from people's winners and from each metric's, and both are correlated.

The halves: the references of each pair are divided at random. The winner by the votes on one half is predicted from the
other half, by people's votes on it and by metrics that have only these references.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from contrib.bounds.bounds import computable_metrics
from contrib.packs.estimates import estimate_of_draws, share_by_image
from contrib.packs.fifty_sentences import (
    ABSTRACT,
    DATASET_TITLES,
    PASCAL,
    TOKENIZER,
    FiftySentenceData,
    read_fifty_sentence_data,
    read_triplet_votes,
)
from contrib.packs.running import Run
from evaluation.presentation.content import Column, DotPanel, DotPlot, Estimate, Level, Plot, Table
from evaluation.results.metrics.scoring import score_texts
from evaluation.results.metrics.texts import pair_kinds
from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.statistics.aggregation import TournamentResult, tournament
from quorum.statistics.correlation import pearson
from quorum.statistics.crossed import CONFIDENCE
from quorum.statistics.meta import halves_of_votes, metric_winners
from quorum.statistics.resampling import percentile_interval

# The authors number their systems; §6 and Figure 10 tell which number is which system.
SYSTEMS = {
    "machine-1": "Midge", "machine-2": "Babytalk", "machine-3": "Story", "machine-4": "Video", "machine-5": "Video+",
}  # fmt: skip
TOURNAMENT_METRICS = ("cider", "cider-d", "bleu-4|stem:porter", "rouge-l")
HALVES_METRICS = (
    "bleu-1|stem:porter", "bleu-4|stem:porter", "rouge-1|measure:recall", "rouge-l", "cider", "cider-d", "meteor",
)  # fmt: skip
VOTES = "pascal-50s-votes"  # the data set with the votes on PASCAL-50S
SPLITS, RESAMPLES = 20, 1000  # random halves of the references; resamples of the images


def analyse(run: Run) -> None:
    """Run the tournament on PASCAL-50S, and the comparison of halves on each set whose votes are there."""
    pascal = read_fifty_sentence_data(PASCAL, run.data[PASCAL])
    run.note_judgments(
        f"PASCAL-50S: {int(pascal.is_of_kind('MM').sum()):,} machine-machine pairs with the published winners of their "
        "triplets; the votes are not published."
    )
    run.progress(0.1, "tournament")
    _add_tournament(run, pascal)
    abstract = read_fifty_sentence_data(ABSTRACT, run.data[ABSTRACT])
    run.note_judgments(
        f"ABSTRACT-50S: {abstract.votes.size:,} triplets of {len(abstract.pairs)} pairs, majorities of three."
    )
    _add_halves(run, ABSTRACT, abstract, computable_metrics(HALVES_METRICS))
    if run.has_data(VOTES):
        votes = read_triplet_votes(run.data[VOTES] / "consensus_pascal.mat", pascal.pairs)
        run.note_judgments(
            f"PASCAL-50S: {votes.size:,} triplets of {len(votes):,} pairs, majorities of three."
        )
        _add_halves(run, PASCAL, replace(pascal, votes=votes), ["cider"])


@dataclass(frozen=True, slots=True)
class _Tournament:
    """The tournament of K systems by the winners that people or a metric name.

    Attributes:
        wins: (K,) each system's mean share of comparisons won over its opponents.
        draws: (B, K) the same in B resamples of the images.
    """

    result: TournamentResult
    wins: Floats
    draws: Floats

    def estimate(self, system: int) -> Estimate:
        """Return the mean share of the system with this index, with its interval over images."""
        low, high, _undefined = percentile_interval(self.draws[:, system], CONFIDENCE)
        return Estimate(float(self.wins[system]), low, high, int(self.result.compared[system].sum()))


def _add_tournament(run: Run, data: FiftySentenceData) -> None:
    """Compute the shares of comparisons that systems win by people and by metrics, and correlate them (section 7.3)."""
    machine_pairs = np.flatnonzero(data.is_of_kind("MM"))
    first, second = ([SYSTEMS[data.systems[pair][side]] for pair in machine_pairs] for side in (0, 1))
    images = [data.images[pair] for pair in machine_pairs]
    scores, signatures = data.scores(TOURNAMENT_METRICS)
    winners = {"people": data.winners[machine_pairs]} | {
        metric: metric_winners(pair_scores[machine_pairs, 0], pair_scores[machine_pairs, 1])
        for metric, pair_scores in scores.items()
    }
    tournaments = {}
    for name, winning_sides in winners.items():
        result = tournament(first, second, winning_sides, ties="no-win", resamples=0)
        draws = _resampled_wins(winning_sides, first, second, images, run.seed)
        tournaments[name] = _Tournament(result, _mean_wins(result.table), draws)
        run.add_signature(
            f"tournament of {name}", f"{signatures.get(name, 'published winners')}; {result.signature}"
        )
    people, cider = tournaments["people"], tournaments["cider"]
    correlations = {name: pearson(people.wins, tournaments[name].wins) for name in TOURNAMENT_METRICS}
    low, high, _undefined = percentile_interval(_correlations_by_row(people.draws, cider.draws), CONFIDENCE)
    pooled_r = pearson(people.result.fraction, cider.result.fraction)
    by_other_conventions = {"all comparisons pooled": pooled_r} | _agreement_on_all_pairs(data, people.wins)
    estimate = Estimate(correlations["cider"], low, high, len(SYSTEMS))
    run.number("section-7.3/pearson", estimate, others=by_other_conventions)
    _report_tournament(run, tournaments, correlations)


def _report_tournament(
    run: Run, tournaments: Mapping[str, _Tournament], correlations: Mapping[str, float]
) -> None:
    """Add Figure 4, with the systems in people's order."""
    systems = [str(name) for name in tournaments["people"].result.systems.tolist()]
    order_by_people, order_by_cider = (
        np.argsort(-tournaments[name].wins, kind="stable").tolist() for name in ("people", "cider")
    )
    names = [systems[index] for index in order_by_people]
    cells = {
        name: [tournament.estimate(index) for index in order_by_people]
        for name, tournament in tournaments.items()
    }
    rows = tuple((system, *(cells[name][row] for name in tournaments)) for row, system in enumerate(names))
    columns = (Column("system"), *(Column(f"{name}, %", "share") for name in tournaments))
    title = (
        "Share of comparisons that a system wins, mean over its four opponents [95 % interval over images]"
    )
    table = Table("tournament", title, columns, rows)
    sentences = [
        f"People: {' > '.join(names)}. CIDEr: {' > '.join(systems[index] for index in order_by_cider)}. The paper has "
        "Midge first and Babytalk second for both, Story last, and the two versions of Video in another order for "
        "CIDEr than for people.",
        "Pearson's r with people over the five systems: "
        f"{', '.join(f'{name} {value:.2f}' for name, value in correlations.items())}.",
    ]
    drawing = DotPlot(
        tuple(names),
        tuple(
            DotPanel(label, tuple(cells[name])) for label, name in (("people", "people"), ("CIDEr", "cider"))
        ),
        axis="comparisons won, %, with 95 % interval over images",
        shows="share",
    )
    plot = Plot("figure-4", "Comparisons that each system wins", sentences[0], drawing, table)
    run.add_section(
        "tournament", "Figure 4: a tournament of systems", sentences, plots=[plot], tables=[table]
    )


def _mean_wins(table: Floats) -> Floats:
    """Return each system's mean share of comparisons won over its opponents: (..., K) for K systems.

    Args:
        table: (..., K, K) shares of comparisons that the row's system won, with a diagonal of nan.
    """
    has_met = ~np.isnan(table)
    return ratio(np.where(has_met, table, 0.0).sum(axis=-1), has_met.sum(axis=-1))


def _resampled_wins(
    winners: Ints, first: list[str], second: list[str], images: list[str], seed: int
) -> Floats:
    """Return the mean shares of comparisons that K systems win in B resamples of the images: (B, K).

    Args:
        winners: (P,) the winning side of each of P pairs: 1, 2, or 0 for a tie.
        first, second, images: the systems on the two sides, and the image, of each pair.
    """
    systems = sorted({*first, *second})
    first_index, second_index = (np.array([systems.index(name) for name in side]) for side in (first, second))
    _, image = np.unique(images, return_inverse=True)
    image_count = int(image.max()) + 1
    shape = (image_count, len(systems), len(systems))
    won_counts, met_counts = np.zeros(shape), np.zeros(shape)
    # Comparisons by image, system and opponent. Each pair is one comparison for either of its two systems.
    for side, system, opponent in ((1, first_index, second_index), (2, second_index, first_index)):
        np.add.at(met_counts, (image, system, opponent), 1)
        np.add.at(won_counts, (image, system, opponent), winners == side)
    # How often each image is in each resample. Equal seeds give equal resamples for people and metrics.
    weights = np.random.default_rng(seed).multinomial(
        image_count, np.full(image_count, 1 / image_count), size=RESAMPLES
    )
    return _mean_wins(
        ratio(np.tensordot(weights, won_counts, axes=1), np.tensordot(weights, met_counts, axes=1))
    )


def _correlations_by_row(people: Floats, metric: Floats) -> Floats:
    """Return Pearson's r between corresponding rows of two (B, K) tables, of K systems in B resamples: (B,)."""
    x, y = (draws - draws.mean(axis=1, keepdims=True) for draws in (people, metric))
    return ratio((x * y).sum(axis=1), np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1)))


def _agreement_on_all_pairs(data: FiftySentenceData, people: Floats) -> dict[str, float]:
    """Return the correlation of CIDEr's shares of wins with people's, where CIDEr judges all ten pairs of systems.

    These pairs are of images that all five systems described. The result is empty if there are none; otherwise, it is
    the correlation by a text that says what it is.
    """
    captions: dict[str, dict[str, str]] = {}  # by image and by system
    for pair, names, image in zip(data.pairs, data.systems, data.images, strict=True):
        for name, text in zip(names, (pair.first, pair.second), strict=True):
            if name in SYSTEMS:
                captions.setdefault(image, {}).setdefault(SYSTEMS[name], text)
    complete_captions = {image: texts for image, texts in captions.items() if len(texts) == len(SYSTEMS)}
    if not complete_captions:
        return {}
    systems = sorted(SYSTEMS.values())  # the order of ``people``
    result = score_texts(
        [texts[name] for texts in complete_captions.values() for name in systems],
        [data.references[image] for image in complete_captions for _ in systems],
        list(data.references.values()),
        metrics=["cider"],
        tokenizer=TOKENIZER,
    )
    scores = result.scores["cider"].images.reshape(len(complete_captions), len(systems))
    win_shares = np.mean(scores[:, :, np.newaxis] > scores[:, np.newaxis, :], axis=0)
    np.fill_diagonal(win_shares, np.nan)
    label = f"CIDEr on all ten pairs of the {len(complete_captions)} images with captions of all five systems"
    return {label: pearson(people, _mean_wins(win_shares))}


@dataclass(frozen=True, slots=True)
class _PredictionAccuracy:
    """How often the winner of each of P pairs is predicted right.

    Attributes:
        share: (P,) share of right predictions.
        weight: (P,) the pair's weight: how many halves have a winner to predict, or the chance that a half has one.
    """

    share: Floats
    weight: Floats


def _add_halves(run: Run, dataset: str, data: FiftySentenceData, metrics: list[str]) -> None:
    """Add how often people and metrics predict the winner by one half of the references from the other half."""
    is_right = _right_predictions(run, dataset, data, metrics)
    counted_pairs = {kind: data.is_of_kind(kind) for kind in pair_kinds(data.kinds)}
    counted_pairs["all"] = np.ones(len(data.pairs), dtype=np.bool_)
    accuracies = {name: _mean_over_splits(rows) for name, rows in is_right.items()}
    # People's accuracy over all halves, in closed form, replaces that over the drawn halves.
    first_votes, second_votes, ties = ((data.votes == vote).sum(axis=1) for vote in (1, 2, 0))
    halves = halves_of_votes(first_votes, second_votes, ties)
    for name, right_chances in (
        ("people", halves.agree),
        ("people, a tied half being half right", halves.agree_ties_half),
    ):
        accuracies[name] = _PredictionAccuracy(
            ratio(right_chances, halves.decided_chances), halves.decided_chances
        )
    cells = {
        name: {
            kind: share_by_image(
                accuracy.share, data.clusters, is_counted & (accuracy.weight > 0), accuracy.weight
            )
            for kind, is_counted in counted_pairs.items()
        }
        for name, accuracy in accuracies.items()
    }
    for name in ("people", "cider"):
        deviation = float(np.nanmean(is_right[name], axis=1).std(ddof=1))
        run.number(
            f"section-7.4/{dataset}/{name}",
            estimate_of_draws(cells[name]["all"].value or 0.0, deviation, SPLITS),
        )
    _report_halves(run, dataset, cells, list(counted_pairs))


def _right_predictions(
    run: Run, dataset: str, data: FiftySentenceData, metrics: list[str]
) -> dict[str, Floats]:
    """Return whether people and each metric predict the winners of P pairs right, by name: (SPLITS, P).

    A value is 1 or 0, or nan if the half to predict has no winner.
    """
    rng = np.random.default_rng(run.seed)
    is_right: dict[str, list[Floats]] = {}
    signatures: dict[str, str] = {}
    for split in range(SPLITS):
        run.progress(0.2 + 0.8 * split / SPLITS, f"halves of the references, {split + 1} of {SPLITS}")
        order = rng.permutation(data.votes.shape[1])
        predicted_half, known_half = (np.sort(half) for half in np.split(order, 2))
        true_winners = _majority_of_votes(data.votes[:, predicted_half])
        people_winners = _majority_of_votes(data.votes[:, known_half])
        scores, signatures = data.scores(metrics, reference_indices=known_half.tolist())
        winners_by_metric = {
            name: metric_winners(pair_scores[:, 0], pair_scores[:, 1]) for name, pair_scores in scores.items()
        }
        for name, winners in ({"people": people_winners} | winners_by_metric).items():
            outcomes = np.where(true_winners == 0, np.nan, winners == true_winners)
            is_right.setdefault(name, []).append(outcomes)
    for metric, signature in signatures.items():
        run.add_signature(f"halves of {DATASET_TITLES[dataset]}, {metric}", signature)
    return {name: np.array(rows) for name, rows in is_right.items()}


def _report_halves(
    run: Run, dataset: str, cells: Mapping[str, Mapping[str, Estimate]], kinds: Sequence[str]
) -> None:
    names = sorted(cells, key=lambda name: -(cells[name]["all"].value or 0.0))
    title = "Accuracy in predicting the winner by 24 references from the 24 others [95 % interval]"
    note = (
        f"People over all halves, in closed form; metrics over {SPLITS} random ones, the same for each. A pair whose "
        "winner people leave open by one half is left out; where they are tied by the other half, or a metric is, the "
        "prediction is wrong. Intervals are by image."
    )
    columns = (Column("who predicts"), *(Column(f"{kind}, %", "share") for kind in kinds))
    table = Table(
        f"halves-{dataset}", title, columns, tuple((name, *cells[name].values()) for name in names), note
    )
    drawing = DotPlot(
        tuple(names),
        tuple(
            DotPanel(kind, tuple(cells[name][kind] for name in names), (Level("chance", 0.5),))
            for kind in kinds
        ),
        axis="accuracy, %, with 95 % interval by image",
        shows="share",
        accent=("people",),
    )
    sentence = (
        "People and metrics predict, from the same 24 references, which candidate wins by the other 24, and are "
        "measured alike."
    )
    plot = Plot(f"halves-{dataset}", "People and metrics on the same halves", sentence, drawing, table)
    title = f"Section 7.4: human performance on {DATASET_TITLES[dataset]}"
    run.add_section(f"halves-{dataset}", title, plots=[plot], tables=[table])


def _majority_of_votes(votes: Ints) -> Ints:
    """Return the (P,) winners by the majorities of (P, N) votes, N for each of P pairs: 1, 2, or 0 for a tie."""
    first, second = (votes == 1).sum(axis=1), (votes == 2).sum(axis=1)
    return (first > second) + 2 * (second > first).astype(np.int64)


def _mean_over_splits(is_right: Floats) -> _PredictionAccuracy:
    """Return each pair's mean of (S, P) ``_right_predictions`` over the splits that have a winner to predict."""
    has_winner = ~np.isnan(is_right)
    share = ratio(np.where(has_winner, is_right, 0.0).sum(axis=0), has_winner.sum(axis=0))
    return _PredictionAccuracy(share, has_winner.sum(axis=0).astype(np.float64))

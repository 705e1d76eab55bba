"""WG15, Wang and Gaizauskas 2015: content selection, that is, which boxes of an image a description names.

People are compared with each other (the upper bound), and with baselines and their combinations, on the paper's data
if these are there, and on simulated data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from common.amounts import json_float
from contrib.packs.estimates import estimate_from, estimate_of_draws
from contrib.packs.rehearsal import rehearse_votes
from contrib.packs.running import Run
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Column, Curve, CurvePanel, Estimate, LinePlot, Plot, Table
from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns
from judgments.importers.records.json_records import read_json_lines
from quorum.metrics.content import ContentFigure, ContentScore, content_selection, content_upper_bound
from quorum.metrics.content_baselines import (
    BigramPrior,
    BoxRanks,
    UnigramPrior,
    bigram_ranks,
    centre_ranks,
    mean_ranks,
    mentions_of,
    random_ranks,
    size_ranks,
    unigram_ranks,
)
from quorum.numeric.arrays import Floats
from quorum.statistics.significance import bootstrap_interval

DATA = "imageclef-2015"  # the data set with the paper's boxes
DRAWS = 20  # number of draws of random boxes
MAX_BOXES = 15  # number of boxes that a baseline chooses
SHOWN_BOX_COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)
COMBINED_PRIORS = ("unigram", "bigram")
LABELS, IMAGES, PEOPLE = 40, 400, 7  # of the rehearsal: labels, training and test images, people per image


@dataclass(frozen=True, slots=True)
class BoxImages:
    """Images with labelled boxes, and with the boxes that people's descriptions name. All lists are by image.

    Attributes:
        labels: the labels of the image's B boxes.
        boxes: (B, 4) x, y, width and height of the boxes.
        sizes: width and height of the image.
        descriptions: for each description of the image, the indices of the boxes that it names.
    """

    labels: list[list[str]]
    boxes: list[np.ndarray]
    sizes: list[tuple[float, float]]
    descriptions: list[list[list[int]]]


def analyse(run: Run) -> None:
    # The baseline "bigram" walks from a label to the one that most often follows it in descriptions. Of these nine
    # boxes, the walk does not reach the last six, which share a rank.
    nine_boxes = bigram_ranks([["a", "b", "c", *"uvwxyz"]], BigramPrior.fit([["a", "b", "c"]]))
    run.number("shared-rank", Estimate(float(nine_boxes.ranks[-1])))
    if run.has_data(DATA):
        training, test = _read_images(run.data[DATA] / "boxes.jsonl")
        _analyse_set(run, "imageclef-2015", "ImageCLEF 2015", training, test, are_published=True)
    training, test = _simulated_images(run.seed)
    description_count = sum(len(image) for image in test.descriptions)
    run.note_judgments(
        f"Simulated: the descriptions of ImageCLEF 2015 are not released, so that {PEOPLE} rehearsed workers name "
        f"boxes of {IMAGES:,} invented images, {description_count:,} descriptions of test images in all. They show the "
        "analyses, and say nothing about people."
    )
    _analyse_set(
        run, "rehearsed", "Invented images and rehearsed workers", training, test, are_published=False
    )


def _analyse_set(
    run: Run, name: str, title: str, training: BoxImages, test: BoxImages, *, are_published: bool
) -> None:
    """Compute the figures of a set. ``are_published`` says whether they are the published numbers."""
    upper_bound = content_upper_bound(test.descriptions)
    run.add_signature(f"upper bound, {name}", upper_bound.signature)
    mean_box_count = float(np.mean([len(set(boxes)) for image in training.descriptions for boxes in image]))
    scores = {
        baseline: {
            # precision and F are 0 if no box is chosen
            k: content_selection(ranks.selections(k), test.descriptions, empty="zero")
            for k in range(1, MAX_BOXES + 1)
        }
        for baseline, ranks in _baselines(training, test, run.seed).items()
    }
    if are_published:
        _record_numbers(run, test, upper_bound, scores)
        run.number("mean-boxes", Estimate(mean_box_count))
    rows = [("people", "", *_estimates_of_score(upper_bound, run.seed))]
    rows += [
        (baseline, str(k), *_estimates_of_score(by_count[k], run.seed))
        for baseline, by_count in scores.items()
        for k in (1, 2, 3, 4, 5, 10)
    ]
    columns = (Column("who"), Column("boxes"), *(Column(figure, "coefficient") for figure in ("P", "R", "F")))
    run.add_section(
        name,
        title,
        [
            f"{len(test.labels):,} test images; a training description names {mean_box_count:.2f} boxes. "
            "Combinations take the mean of the ranks; boxes that the walk over bigrams leaves out share a rank."
        ],
        plots=[_f1_plot(name, title, scores)],
        tables=[Table(f"scores-{name}", f"Precision, recall and F, {title}", columns, tuple(rows))],
    )


# The scores of the baselines, by name and by the number of boxes that they choose.
BaselineScores = Mapping[str, Mapping[int, ContentScore]]


def _record_numbers(run: Run, test: BoxImages, upper_bound: ContentScore, scores: BaselineScores) -> None:
    """Record the numbers of Table 1: the upper bound, and each baseline with three and with four boxes."""
    for figure in ("precision", "recall", "f1"):
        bound = getattr(upper_bound, figure)
        run.number(f"upper/{figure}", Estimate(bound.mean))
        run.number(f"upper/{figure}/sd", Estimate(bound.sd))
        for k in (3, 4):
            drawn_scores = [getattr(_random_score(test, seed, k), figure).mean for seed in range(DRAWS)]
            mean, deviation = float(np.mean(drawn_scores)), float(np.std(drawn_scores, ddof=1))
            run.number(f"random/{k}/{figure}", estimate_of_draws(mean, deviation, DRAWS))
            for baseline in ("position", "size", "unigram", "bigram"):
                run.number(f"{baseline}/{k}/{figure}", Estimate(getattr(scores[baseline][k], figure).mean))


def _f1_plot(name: str, title: str, scores: BaselineScores) -> Plot:
    """Return a plot of F by the number of boxes: single priors, and combinations (A+B) in a second panel."""
    curves = [
        Curve(baseline, SHOWN_BOX_COUNTS, tuple(json_float(by_count[k].f1.mean) for k in SHOWN_BOX_COUNTS))
        for baseline, by_count in scores.items()
    ]
    panels = (
        CurvePanel("one prior", tuple(curve for curve in curves if "+" not in curve.label)),
        CurvePanel("mean ranks of two", tuple(curve for curve in curves if "+" in curve.label)),
    )
    plot_title = f"F by the number of boxes, {title}"
    points = Table(
        f"f-{name}",
        plot_title,
        (Column("baseline"), Column("boxes", "count"), Column("F", "coefficient")),
        tuple((curve.label, int(k), f) for curve in curves for k, f in zip(curve.x, curve.y, strict=True)),
    )
    sentence = "F of the baselines by the largest number of boxes that they choose."
    return Plot(f"f-{name}", plot_title, sentence, LinePlot(panels, "boxes", "F, %", log=False), points)


def _random_score(test: BoxImages, seed: int, k: int) -> ContentScore:
    ranks = random_ranks([len(labels) for labels in test.labels], seed=seed)
    return content_selection(ranks.selections(k), test.descriptions, empty="zero")


def _baselines(training: BoxImages, test: BoxImages, seed: int) -> dict[str, BoxRanks]:
    """Return how each baseline, and each combination of two, ranks the boxes of the test images."""
    mentions = mentions_of(training.labels, training.descriptions)
    ranks = {
        "random": random_ranks([len(labels) for labels in test.labels], seed=seed),
        "position": centre_ranks(test.boxes, test.sizes),
        "size": size_ranks(test.boxes),
        "unigram": unigram_ranks(test.labels, UnigramPrior.fit(mentions)),
        "bigram": bigram_ranks(test.labels, BigramPrior.fit(mentions)),
    }
    return ranks | {
        f"{text}+{visual}": mean_ranks(ranks[text], ranks[visual])
        for text in COMBINED_PRIORS
        for visual in ("position", "size")
    }


def _estimates_of_score(score: ContentScore, seed: int) -> tuple[Estimate, Estimate, Estimate]:
    return (
        _estimate_of_figure(score.precision, seed),
        _estimate_of_figure(score.recall, seed),
        _estimate_of_figure(score.f1, seed),
    )


def _estimate_of_figure(figure: ContentFigure, seed: int) -> Estimate:
    image_values = figure.images[~np.isnan(figure.images)]
    interval = bootstrap_interval(image_values, resamples=1000, seed=seed)
    return replace(estimate_from(interval, image_values.size), value=json_float(figure.mean))


def _read_images(file: Path) -> tuple[BoxImages, BoxImages]:
    """Return the training and the test images of a JSON lines file, whose columns pack.toml describes."""
    images_by_split: dict[str, BoxImages] = {
        "train": BoxImages([], [], [], []),
        "test": BoxImages([], [], [], []),
    }
    columns = Columns(("image", "split", "width", "height", "boxes", "descriptions"))
    for record in read_json_lines(file, columns, ImportNotes(), None):
        row: Mapping[str, Any] = record.values
        try:
            images = images_by_split[row["split"]]
            images.labels.append([str(box["label"]) for box in row["boxes"]])
            images.boxes.append(
                np.array(
                    [[float(box[side]) for side in ("x", "y", "width", "height")] for box in row["boxes"]]
                ).reshape(-1, 4)  # (0, 4) without boxes
            )
            images.sizes.append((float(row["width"]), float(row["height"])))
            images.descriptions.append([[int(box) for box in boxes] for boxes in row["descriptions"]])
        except (KeyError, TypeError, ValueError) as error:
            raise EvaluationError(
                f"{file}, line {record.line}: {error!r}; expected split train or test, width, height, boxes with "
                "label, x, y, width and height, and descriptions as lists of box numbers."
            ) from None
    for split, images in images_by_split.items():
        if not any(image for image in images.descriptions):
            raise EvaluationError(
                f"{file} has no described images whose split is {split}, expected some of train and some of test."
            )
    return images_by_split["train"], images_by_split["test"]


def _simulated_images(seed: int) -> tuple[BoxImages, BoxImages]:
    """Return invented training and test images of 100 x 100, with boxes that simulated workers name."""
    rng = np.random.default_rng(seed)
    label_frequencies = 1 / np.arange(1, LABELS + 1)  # Zipf's law
    sets = []
    for _ in range(2):  # training and test images
        box_counts = rng.integers(3, MAX_BOXES + 1, size=IMAGES // 2).tolist()
        labels = [
            rng.choice(LABELS, size=count, p=label_frequencies / label_frequencies.sum())
            for count in box_counts
        ]
        boxes = []
        for count in box_counts:
            sides = rng.uniform(5, 60, size=(count, 2))
            boxes.append(np.hstack([rng.uniform(0, 1, size=(count, 2)) * (100 - sides), sides]))
        # Careful people name the one to four boxes of an image that are most likely to be named.
        is_worth_naming = []
        for image_boxes, image_labels in zip(boxes, labels, strict=True):
            most_salient_first = np.argsort(-_salience(image_boxes, label_frequencies[image_labels]))
            rank = np.argsort(most_salient_first)  # of each box, from 0
            is_worth_naming.append((rank < rng.integers(1, 5)).astype(np.int64))
        judgments = rehearse_votes(
            np.concatenate(is_worth_naming), (0, 1), PEOPLE, crowd=RehearsalCrowd(workers=30, seed=seed)
        )
        # Whether each box (row) is named by each person (column). The boxes come image by image.
        is_named = judgments.value.reshape(-1, PEOPLE) == 1
        is_named_by_image = np.split(is_named, np.cumsum(box_counts)[:-1])
        descriptions = []
        for image_labels, image_is_named in zip(labels, is_named_by_image, strict=True):
            # A description names boxes in the order of their labels, the most frequent first.
            order = np.argsort(image_labels, kind="stable")
            descriptions.append(
                [[int(box) for box in order if image_is_named[box, person]] for person in range(PEOPLE)]
            )
        names = [[f"label-{label}" for label in image_labels.tolist()] for image_labels in labels]
        sets.append(BoxImages(names, boxes, [(100.0, 100.0)] * len(names), descriptions))
    return sets[0], sets[1]


def _salience(boxes: Floats, label_frequencies: Floats) -> Floats:
    """Return a number for each box that is greater for large and central boxes, and for frequent labels.

    The weights are arbitrary.

    Args:
        boxes: (B, 4) x, y, width and height of the boxes of an image of 100 x 100.
        label_frequencies: (B,) how frequent the label of each box is.
    """
    centres = boxes[:, :2] + boxes[:, 2:] / 2
    distance = np.hypot(*(centres - 50).T)
    size = np.sqrt(boxes[:, 2] * boxes[:, 3])
    salience: Floats = size / 20 - distance / 40 + np.log(label_frequencies) / 2
    return salience

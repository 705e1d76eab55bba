"""WG16, Wang and Gaizauskas 2016: bounds of metrics, and how metrics rank images and captions.

A caption of an image is scored against the image's other captions. Captions of people give the upper bound of a metric,
and unrelated texts in their place give lower bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from common.amounts import DASH
from contrib.bounds.bounds import WG16_METRICS, Bound, Bounds, computable_metrics, compute_bounds
from contrib.bounds.corpora import read_corpus
from contrib.packs.estimates import heatmap_plot
from contrib.packs.references import references_by_image
from contrib.packs.running import Run
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Cell, Column, Estimate, HeatmapPanel, Plot, Table
from judgments.importers import open_dataset
from quorum.metrics.held_out import draw_from_other_images, hold_out, score_held_out

PASCAL, ABSTRACT = "pascal-50s", "abstract-50s"
SCENES = "abstract-scenes"
OPTIONAL_DATASETS = ("vlt2k", SCENES, "imageclef-2015")  # data sets without which the pack runs, too
MAX_REPLACED_CAPTIONS = 5  # random captions of each image that other texts replace
CIDER = "cider-nostem"
BLEU_1, BLEU_2, BLEU_3, BLEU_4 = (f"bleu-{n}|smoothing:nist" for n in range(1, 5))
BLEU_1_WITHOUT_PENALTY = "bleu-h13"  # BLEU-1 without the brevity penalty
OTHER_FAMILIES = ("rouge", "meteor", "cider")  # beginnings of the names of metrics that are not BLEU
# Section 4.2: for two metrics, the range of tau-b over the eight datasets, by image.
TAU_RANGES = (
    (BLEU_2, BLEU_3, 0.83, 0.88),
    (BLEU_3, BLEU_4, 0.89, 0.93),
    (BLEU_2, BLEU_4, 0.74, 0.82),
    (BLEU_1, BLEU_2, 0.67, 0.79),
    (BLEU_1, BLEU_3, 0.57, 0.70),
    (BLEU_1, BLEU_4, 0.51, 0.66),
    ("rouge-l-155", "rouge-w", 0.87, 0.93),
    (CIDER, "cider-d|scale:1", 0.80, 0.97),
    ("meteor", CIDER, 0.55, 0.68),
)
NORMAL_QUANTILE = 1.96  # of a two-sided interval of 95 %
ROUNDING = 0.005  # ranges are printed with two digits
# Figures of a bound in the tables: mean over captions, mean over images of their means, and others over captions.
BOUND_FIELDS = ("micro", "macro", "deviation", "median", "least", "most")
# ROUGE options that were tried where our value differs from the published one.
ROUGE_OPTIONS = ("measure:recall", "measure:precision", "stem:porter")


def analyse(run: Run) -> None:
    sets = dict(_read_sets(run))
    corpus = read_corpus(run.data["brown"]) if run.has_data("brown") else []
    metrics = computable_metrics((*WG16_METRICS, BLEU_1_WITHOUT_PENALTY))
    run.note_judgments(
        f"None. {sum(len(captions) for images in sets.values() for captions in images):,} captions that people wrote "
        f"for {len(sets)} datasets are compared with each other."
    )
    bounds_by_set: dict[str, Bounds] = {}
    for name in (PASCAL, ABSTRACT, *(dataset for dataset in OPTIONAL_DATASETS if run.has_data(dataset))):
        run.progress(len(bounds_by_set) / (len(OPTIONAL_DATASETS) + 2), f"holding out captions of {name}")
        other_texts = {
            other_name: [text for captions in images for text in captions]
            for other_name, images in sets.items()
            if other_name != name
        }
        bounds_by_set[name] = compute_bounds(
            sets[name],
            metrics=metrics,
            others=other_texts,
            corpus=corpus,
            max_replaced=MAX_REPLACED_CAPTIONS,
            seed=run.seed,
        )
    for metric, signature in bounds_by_set[PASCAL].signatures.items():
        run.add_signature(metric, signature)
    _record_numbers(run, bounds_by_set, sets)
    for name, bounds in bounds_by_set.items():
        _add_bounds(run, name, bounds)
    _add_taus(run, bounds_by_set)


def _read_sets(run: Run) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the name and the captions of each image of each available dataset."""
    for name, format, file in (  # without a file, a format reads the folder
        *((PASCAL, PASCAL, ""), (ABSTRACT, ABSTRACT, ""), ("flickr8k", "flickr8k", "")),
        ("coco-captions", "coco", "captions_karpathy_test4.json"),
        *((name, "jsonl", "captions.jsonl") for name in OPTIONAL_DATASETS),
    ):
        if run.has_data(name):
            if name == SCENES:
                captions = _read_scenes(run)
            else:
                captions = references_by_image(open_dataset(format, run.data[name] / file).rows())
            yield name, list(captions.values())


def _read_scenes(run: Run) -> dict[str, list[str]]:
    """Return the sentences of each scene.

    A line of a file is either empty, or has the scene's number, the sentence's number and the sentence, between tabs.
    """
    captions: dict[str, list[str]] = {}
    for file in run.pack.contents.data[SCENES].files:
        path = run.data[SCENES] / file
        for number, line in enumerate(path.read_text(encoding="latin-1").splitlines(), 1):
            scene, *columns = line.split("\t")
            if columns and (len(columns) != 2 or not scene.strip().isdigit()):
                raise EvaluationError(
                    f"{path}, line {number}: expected a scene, a number and a sentence, by tabs."
                )
            if columns and columns[1].strip():
                captions.setdefault(scene, []).append(columns[1].strip())
    return captions


def _record_numbers(
    run: Run, bounds_by_set: Mapping[str, Bounds], sets: Mapping[str, list[list[str]]]
) -> None:
    """Record the published numbers. Their ids that end in "most" and "least" are of the greatest and least values.

    ``sets`` are the captions of each image, by name of the data set.
    """
    v15_sets = {name: bounds_by_set[name] for name in (PASCAL, ABSTRACT)}
    other_convention = "without the brevity penalty"
    bleu_1 = {name: bounds.upper[BLEU_1] for name, bounds in v15_sets.items()}
    unpenalised_bounds = {name: bounds.upper[BLEU_1_WITHOUT_PENALTY] for name, bounds in v15_sets.items()}
    highest_bleu_1 = max(bleu_1.values(), key=lambda bound: bound.micro)
    highest_without_penalty = max(bound.micro for bound in unpenalised_bounds.values())
    run.number(
        "bleu-1/most", _estimate_of_bound(highest_bleu_1), others={other_convention: highest_without_penalty}
    )
    run.number(
        "pascal-50s/bleu-1/median",
        Estimate(bleu_1[PASCAL].median),
        others={other_convention: unpenalised_bounds[PASCAL].median},
    )
    for name, bounds in v15_sets.items():
        run.number(f"{name}/bleu-4/most", Estimate(bounds.upper[BLEU_4].most))
        if "meteor" in bounds.upper:
            run.number(f"{name}/meteor/most", Estimate(bounds.upper["meteor"].most))
    highest_cider = max((bounds.upper[CIDER] for bounds in v15_sets.values()), key=lambda bound: bound.micro)
    run.number("cider/most", _estimate_of_bound(highest_cider))
    options = _rouge_options(sets[ABSTRACT], run.seed)
    abstract_set = bounds_by_set[ABSTRACT]
    run.number(
        "abstract-50s/rouge-1/upper",
        _estimate_of_bound(abstract_set.upper["rouge-1"]),
        others={option: upper for option, upper, _ in options},
    )
    run.number(
        "abstract-50s/rouge-1/other-image",
        _estimate_of_bound(abstract_set.lower["other-image"]["rouge-1"]),
        others={option: lower for option, _, lower in options},
    )
    if "meteor" in abstract_set.upper:
        for source in ("other-image", "other-dataset"):  # of the texts that replace captions
            bound = abstract_set.lower[source]["meteor"]
            run.number(f"abstract-50s/meteor/{source}", _estimate_of_bound(bound))
    taus = [tau for bounds in v15_sets.values() for tau in _taus_with_others(bounds, BLEU_1)]
    other_taus = [
        tau for bounds in v15_sets.values() for tau in _taus_with_others(bounds, BLEU_1_WITHOUT_PENALTY)
    ]
    run.number("tau/bleu-1/least", Estimate(min(taus)), others={other_convention: min(other_taus)})
    run.number("tau/bleu-1/most", Estimate(max(taus)), others={other_convention: max(other_taus)})
    for name in OPTIONAL_DATASETS:
        if name in bounds_by_set:
            _record_numbers_of_optional(run, name, bounds_by_set[name])


def _record_numbers_of_optional(run: Run, name: str, bounds: Bounds) -> None:
    """Record the numbers on an optional data set. Their ids are DATASET/METRIC/FIGURE.

    FIGURE is "deviation", "upper" (the upper bound), or the name of a lower bound.
    """
    # The metrics by their names in ids.
    metrics = {"bleu-1": BLEU_1, "cider": CIDER, "rouge-1": "rouge-1", "meteor": "meteor"}
    for number in run.pack.numbers:
        if number.data != name:
            continue
        _, metric_id, figure = number.id.split("/")
        metric = metrics[metric_id]
        if metric not in bounds.upper:
            continue
        if figure == "deviation":
            run.number(number.id, Estimate(bounds.upper[metric].deviation))
        else:
            bounds_by_metric = bounds.upper if figure == "upper" else bounds.lower[figure]
            run.number(number.id, _estimate_of_bound(bounds_by_metric[metric]))


def _estimate_of_bound(bound: Bound) -> Estimate:
    """Return a bound with the prediction interval of another draw of captions and texts."""
    # Other texts are drawn for each image, so ``within``, the mean standard deviation within images, gives the error.
    # A second draw would differ from the first by the errors of both.
    half_width = NORMAL_QUANTILE * bound.within * math.sqrt(2 / bound.n)
    return Estimate(bound.micro, bound.micro - half_width, bound.micro + half_width, bound.n)


def _rouge_options(captions: Sequence[Sequence[str]], seed: int) -> list[tuple[str, float, float]]:
    """Return each tried option of ROUGE-1 with its upper bound (people) and lower bound (captions of other images)."""
    generator = np.random.default_rng(seed)
    held_out = hold_out(captions, max_per_image=MAX_REPLACED_CAPTIONS, generator=generator)
    metrics = [f"rouge-1|{option}" for option in ROUGE_OPTIONS]
    scores = score_held_out(
        held_out, metrics, replacements={"other": draw_from_other_images(held_out, generator)}
    )
    return [
        (
            option,
            float(scores.caption_scores[metric].mean()),
            float(scores.replacement_scores["other"][metric].mean()),
        )
        for option, metric in zip(ROUGE_OPTIONS, metrics, strict=True)
    ]


def _taus_with_others(bounds: Bounds, metric: str) -> list[float]:
    """Return tau-b of a metric with each metric that is not BLEU, over images."""
    names = list(bounds.upper)
    row = bounds.image_taus[names.index(metric)].tolist()
    return [tau for name, tau in zip(names, row, strict=True) if name.startswith(OTHER_FAMILIES)]


def _add_bounds(run: Run, name: str, bounds: Bounds) -> None:
    """Add the upper and lower bounds of the metrics on a data set (sections 4.1 and 5)."""
    replacements = list(bounds.lower)  # names of what stood in the place of captions
    rows = [
        (
            _short_name(metric),
            *(getattr(bound, field) for field in BOUND_FIELDS),
            *(bounds.lower[replacement][metric].micro for replacement in replacements),
        )
        for metric, bound in bounds.upper.items()
    ]
    columns = (Column("metric"), *(Column(field, "number") for field in (*BOUND_FIELDS, *replacements)))
    title = "Upper bounds, and what stood in the place of captions"
    share = bounds.lower["other-image"]["rouge-1"].micro / bounds.upper["rouge-1"].micro
    sentences = [
        f"{bounds.captions:,} captions of {bounds.images:,} images were left out. A caption has "
        f"{bounds.mean_length} words on average. ROUGE-1 of captions of other images is {share:.0%} of "
        "what people reach."
    ]
    if "corpus" in bounds.lower:
        sentences_score = bounds.lower["corpus"][BLEU_1].micro
        words_score = bounds.lower["corpus-words-10"][BLEU_1].micro
        sentences.append(
            f"BLEU-1 of sentences of Brown is {sentences_score:.3f}, and of ten of its words {words_score:.3f}: as "
            "in the paper, BLEU favours the shorter."
        )
    run.add_section(
        name,
        f"Bounds on {name} (sections 4.1 and 5)",
        sentences,
        plots=[_tau_plot(name, bounds)],
        tables=[Table(f"bounds-{name}", title, columns, tuple(rows))],
    )


def _add_taus(run: Run, bounds_by_set: Mapping[str, Bounds]) -> None:
    """Add tau-b between metrics on the two sets of V15, and whether it is in the printed range (section 4.2)."""
    rows: list[tuple[Cell, ...]] = []
    for first, second, low, high in TAU_RANGES:
        cells: list[float | str] = []
        for name in (PASCAL, ABSTRACT):
            names = list(bounds_by_set[name].upper)
            if first in names and second in names:
                tau = float(bounds_by_set[name].image_taus[names.index(first), names.index(second)])
                cells += [tau, "yes" if low - ROUNDING <= tau <= high + ROUNDING else "no"]
            else:
                cells += [math.nan, DASH]
        rows.append((f"{_short_name(first)}, {_short_name(second)}", f"{low:.2f} to {high:.2f}", *cells))
    title = "Kendall's tau-b between metrics over images, beside the printed ranges"
    columns = [
        ("metrics", "text"), ("printed", "text"), ("PASCAL-50S", "coefficient"), ("inside", "text"),
        ("ABSTRACT-50S", "coefficient"), ("is inside", "text"),
    ]  # fmt: skip
    sentence = "The paper prints the range of tau-b over its eight datasets, of which two are at hand."
    run.add_table_section("taus", "How metrics agree on images (section 4.2)", sentence, title, columns, rows)


def _tau_plot(name: str, bounds: Bounds) -> Plot:
    """Return heat maps of tau-b between every two metrics on a data set, over images and over captions."""
    names = tuple(_short_name(metric) for metric in bounds.upper)
    panels = tuple(
        HeatmapPanel(title, names, names, tuple(tuple(row) for row in taus.tolist()))
        for title, taus in (("over images", bounds.image_taus), ("over captions", bounds.caption_taus))
    )
    return heatmap_plot(
        f"taus-{name}",
        f"How metrics order {name}",
        "Kendall's tau-b between every two metrics, over the mean scores of images and over captions.",
        panels,
        ("metric", "metric"),
        [("level", "text"), ("first", "text"), ("second", "text"), ("tau-b", "coefficient")],
    )


def _short_name(metric: str) -> str:
    """Return the name of a metric without its options."""
    return metric.partition("|")[0]

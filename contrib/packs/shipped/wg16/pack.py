"""WG16: bounds of every metric from people and unrelated texts, and how metrics rank images and captions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from contrib.bounds.bounds import WG16_METRICS, Bound, Bounds, computable_metrics, compute_bounds, read_corpus
from contrib.packs.estimates import heat_plot
from contrib.packs.flickr8k import references_by_image
from contrib.packs.running import Run
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Cell, Column, Estimate, HeatmapPanel, Plot, Table
from judgments.importers import open_dataset
from quorum.metrics.held_out import draw_from_other_images, hold_out, score_held_out

PASCAL, ABSTRACT = "pascal-50s", "abstract-50s"
DATASETS_BY_PATH = ("vlt2k", "abstract-scenes", "imageclef-2015")
SCENES = "abstract-scenes"
# Other texts replace this many captions of each image, drawn at random.
MAX_REPLACED_CAPTIONS = 5
CIDER, BLEU = "cider-nostem", "bleu-{}|smoothing:nist"
PRECISION = "bleu-h13"  # BLEU-1 without the brevity penalty
OTHER_FAMILIES = ("rouge", "meteor", "cider")
# Section 4.2: the ranges of coefficients over the eight datasets, by image.
RANGES = (
    (BLEU.format(2), BLEU.format(3), 0.83, 0.88),
    (BLEU.format(3), BLEU.format(4), 0.89, 0.93),
    (BLEU.format(2), BLEU.format(4), 0.74, 0.82),
    (BLEU.format(1), BLEU.format(2), 0.67, 0.79),
    (BLEU.format(1), BLEU.format(3), 0.57, 0.70),
    (BLEU.format(1), BLEU.format(4), 0.51, 0.66),
    ("rouge-l-155", "rouge-w", 0.87, 0.93),
    (CIDER, "cider-d|scale:1", 0.80, 0.97),
    ("meteor", CIDER, 0.55, 0.68),
)
NORMAL_QUANTILE = 1.96  # of a two-sided interval of 95 %
ROUNDING = 0.005  # ranges are printed with two digits
FIELDS = ("micro", "macro", "deviation", "median", "least", "most")
# ROUGE options that were tried where our value differs from the published one.
ROUGE_OPTIONS = ("measure:recall", "measure:precision", "stem:porter")


def analyse(run: Run) -> None:
    sets = dict(_read_sets(run))
    corpus = read_corpus(run.data["brown"]) if run.has("brown") else []
    metrics = computable_metrics((*WG16_METRICS, PRECISION))
    run.judged(
        f"None. {sum(len(captions) for images in sets.values() for captions in images):,} captions that people wrote "
        f"for {len(sets)} datasets are compared with each other."
    )
    by_set: dict[str, Bounds] = {}
    for name in (PASCAL, ABSTRACT, *(dataset for dataset in DATASETS_BY_PATH if run.has(dataset))):
        run.progress(len(by_set) / (len(DATASETS_BY_PATH) + 2), f"holding out captions of {name}")
        others = {
            other_name: [text for captions in images for text in captions]
            for other_name, images in sets.items()
            if other_name != name
        }
        by_set[name] = compute_bounds(
            sets[name],
            metrics=metrics,
            others=others,
            corpus=corpus,
            max_replaced=MAX_REPLACED_CAPTIONS,
            seed=run.seed,
        )
    for metric, signature in by_set[PASCAL].signatures.items():
        run.signed(metric, signature)
    _record_numbers(run, by_set, sets)
    _add_sections(run, by_set)


def _read_sets(run: Run) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the name and the captions of each image of each available dataset."""
    for name, format, file in (
        *((PASCAL, PASCAL, ""), (ABSTRACT, ABSTRACT, ""), ("flickr8k", "flickr8k", "")),
        ("coco-captions", "coco", "captions_karpathy_test4.json"),
        *((name, "jsonl", "captions.jsonl") for name in DATASETS_BY_PATH),
    ):
        if run.has(name):
            if name == SCENES:
                captions = _read_scenes(run)
            else:
                captions = references_by_image(open_dataset(format, run.data[name] / file).rows())
            yield name, list(captions.values())


def _read_scenes(run: Run) -> dict[str, list[str]]:
    """Return the sentences of each scene. A line has the scene's number, the sentence's number, and the sentence."""
    captions: dict[str, list[str]] = {}
    for file in run.pack.contents.data[SCENES].files:
        path = run.data[SCENES] / file
        for number, line in enumerate(path.read_text(encoding="latin-1").splitlines(), 1):
            scene, *rest = line.split("\t")
            if rest and (len(rest) != 2 or not scene.strip().isdigit()):
                raise EvaluationError(
                    f"{path}, line {number}: expected a scene, a number and a sentence, by tabs."
                )
            if rest and rest[1].strip():
                captions.setdefault(scene, []).append(rest[1].strip())
    return captions


def _record_numbers(run: Run, by_set: Mapping[str, Bounds], sets: Mapping[str, list[list[str]]]) -> None:
    fifty = {name: by_set[name] for name in (PASCAL, ABSTRACT)}
    bleu = BLEU.format(1)
    highest = max(fifty, key=lambda name: fifty[name].upper[bleu].micro)
    plain = {name: fifty[name].upper[PRECISION] for name in fifty}
    highest_mean = max(bound.micro for bound in plain.values())
    what = "without the brevity penalty"
    run.number("bleu-1/most", _estimate(fifty[highest].upper[bleu]), others={what: highest_mean})
    median = Estimate(fifty[PASCAL].upper[bleu].median)
    run.number("pascal-50s/bleu-1/median", median, others={what: plain[PASCAL].median})
    for name, bounds in fifty.items():
        run.number(f"{name}/bleu-4/most", Estimate(bounds.upper[BLEU.format(4)].most))
        if "meteor" in bounds.upper:
            run.number(f"{name}/meteor/most", Estimate(bounds.upper["meteor"].most))
    highest = max(fifty, key=lambda name: fifty[name].upper[CIDER].micro)
    run.number("cider/most", _estimate(fifty[highest].upper[CIDER]))
    options = _rouge_options(sets[ABSTRACT], run.seed)
    abstract = by_set[ABSTRACT]
    run.number(
        "abstract-50s/rouge-1/upper",
        _estimate(abstract.upper["rouge-1"]),
        others={option: upper for option, upper, _ in options},
    )
    run.number(
        "abstract-50s/rouge-1/other-image",
        _estimate(abstract.lower["other-image"]["rouge-1"]),
        others={option: lower for option, _, lower in options},
    )
    if "meteor" in abstract.upper:
        for what in ("other-image", "other-dataset"):
            run.number(f"abstract-50s/meteor/{what}", _estimate(abstract.lower[what]["meteor"]))
    taus = [tau for bounds in fifty.values() for tau in _taus_of(bounds, bleu)]
    others = [tau for bounds in fifty.values() for tau in _taus_of(bounds, PRECISION)]
    run.number("tau/bleu-1/least", Estimate(min(taus)), others={"without the brevity penalty": min(others)})
    run.number("tau/bleu-1/most", Estimate(max(taus)), others={"without the brevity penalty": max(others)})
    for name in DATASETS_BY_PATH:
        if name in by_set:
            _record_numbers_by_path(run, name, by_set[name])


def _record_numbers_by_path(run: Run, name: str, bounds: Bounds) -> None:
    metrics = {"bleu-1": BLEU.format(1), "cider": CIDER, "rouge-1": "rouge-1", "meteor": "meteor"}
    for number in run.pack.numbers:
        if number.data != name:
            continue
        _, short, what = number.id.split("/")
        metric = metrics[short]
        if metric not in bounds.upper:
            continue
        if what == "deviation":
            run.number(number.id, Estimate(bounds.upper[metric].deviation))
        else:
            side = bounds.upper if what == "upper" else bounds.lower[what]
            run.number(number.id, _estimate(side[metric]))


def _estimate(bound: Bound) -> Estimate:
    # Other texts are drawn for each image. A second draw would differ from the first by the errors of both.
    half = NORMAL_QUANTILE * bound.within * math.sqrt(2 / bound.n)
    return Estimate(bound.micro, bound.micro - half, bound.micro + half, bound.n)


def _rouge_options(captions: Sequence[Sequence[str]], seed: int) -> list[tuple[str, float, float]]:
    """Return each tried option of the ROUGE script, with its upper bound by people and lower bound by other images."""
    generator = np.random.default_rng(seed)
    held_out = hold_out(captions, most=MAX_REPLACED_CAPTIONS, generator=generator)
    metrics = [f"rouge-1|{option}" for option in ROUGE_OPTIONS]
    scores = score_held_out(held_out, metrics, instead={"other": draw_from_other_images(held_out, generator)})
    return [
        (
            option,
            float(scores.caption_scores[metric].mean()),
            float(scores.replacement_scores["other"][metric].mean()),
        )
        for option, metric in zip(ROUGE_OPTIONS, metrics, strict=True)
    ]


def _taus_of(bounds: Bounds, metric: str) -> list[float]:
    names = list(bounds.upper)
    row = bounds.image_taus[names.index(metric)].tolist()
    return [tau for name, tau in zip(names, row, strict=True) if name.startswith(OTHER_FAMILIES)]


def _add_sections(run: Run, by_set: Mapping[str, Bounds]) -> None:
    for name, bounds in by_set.items():
        floors = list(bounds.lower)
        rows = [
            (
                _short_name(metric),
                *(getattr(bound, field) for field in FIELDS),
                *(bounds.lower[what][metric].micro for what in floors),
            )
            for metric, bound in bounds.upper.items()
        ]
        columns = (Column("metric"), *(Column(field, "number") for field in (*FIELDS, *floors)))
        title = "Upper bounds, and what stood in the place of captions"
        people, others = bounds.upper["rouge-1"].micro, bounds.lower["other-image"]["rouge-1"].micro
        sentences = [
            f"{bounds.captions:,} captions of {bounds.images:,} images were left out. A caption has "
            f"{bounds.mean_length} words on average. ROUGE-1 of captions of other images is {others / people:.0%} of "
            "what people reach."
        ]
        if "corpus" in bounds.lower:
            sentences_score = bounds.lower["corpus"][BLEU.format(1)].micro
            words_score = bounds.lower["corpus-words-10"][BLEU.format(1)].micro
            sentences.append(
                f"BLEU-1 of sentences of Brown is {sentences_score:.3f}, and of ten of its words {words_score:.3f}: as "
                "in the paper, BLEU favours the shorter."
            )
        run.section(
            name,
            f"Bounds on {name} (sections 4.1 and 5)",
            sentences,
            plots=[_tau_plot(name, bounds)],
            tables=[Table(f"bounds-{name}", title, columns, tuple(rows))],
        )
    taus: list[tuple[Cell, ...]] = []
    for first, second, low, high in RANGES:
        cells: list[float | str] = []
        for name in (PASCAL, ABSTRACT):
            names = list(by_set[name].upper)
            tau = math.nan
            if first in names and second in names:
                tau = float(by_set[name].image_taus[names.index(first), names.index(second)])
            cells += [tau, "yes" if low - ROUNDING <= tau <= high + ROUNDING else "no"]
        taus.append((f"{_short_name(first)}, {_short_name(second)}", f"{low:.2f} to {high:.2f}", *cells))
    title = "Kendall's tau-b between metrics over images, beside the printed ranges"
    heads = [
        ("metrics", "text"), ("printed", "text"), ("PASCAL-50S", "coefficient"), ("inside", "text"),
        ("ABSTRACT-50S", "coefficient"), ("is inside", "text"),
    ]  # fmt: skip
    sentence = "The paper prints the range of tau-b over its eight datasets, of which two are at hand."
    run.tabulate("taus", "How metrics agree on images (section 4.2)", sentence, title, heads, taus)


def _tau_plot(name: str, bounds: Bounds) -> Plot:
    names = tuple(_short_name(metric) for metric in bounds.upper)
    panels = tuple(
        HeatmapPanel(over, names, names, tuple(tuple(row) for row in taus.tolist()))
        for over, taus in (("over images", bounds.image_taus), ("over captions", bounds.caption_taus))
    )
    return heat_plot(
        f"taus-{name}",
        f"How metrics order {name}",
        "Kendall's tau-b between every two metrics, over the mean scores of images and over captions.",
        panels,
        ("metric", "metric"),
        [("level", "text"), ("first", "text"), ("second", "text"), ("tau-b", "coefficient")],
    )


def _short_name(metric: str) -> str:
    return metric.partition("|")[0]

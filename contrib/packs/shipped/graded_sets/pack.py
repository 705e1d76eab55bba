"""Correlate metrics with people's grades of captions in Flickr8k-Expert, Flickr8k-CF, Composite and Polaris.

The printed correlations are those of Hessel et al. 2021 and Wada et al. 2024, and of Vedantam et al. 2015 (V15).
"""

import ast
import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common.amounts import json_float
from contrib.bounds.bounds import computable_metrics
from contrib.packs.estimates import estimate_from
from contrib.packs.reading import ReplicationError
from contrib.packs.references import references_by_image
from contrib.packs.running import Run
from evaluation.presentation.content import Column, DotPanel, DotPlot, Estimate, Plot, Table
from evaluation.results.metrics.scoring import score_captions
from evaluation.results.metrics.texts import CaptionTexts
from judgments.importers import open_dataset, open_judgments
from judgments.importers.records.rows import JudgmentRow, ReferenceRow
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.correlation import correlation
from quorum.statistics.meta import grouped_correlation

FREQUENCY_METRICS = ("cider", "cider-d")  # metrics that depend on document frequencies
METRICS = ("bleu-1", "bleu-4", "rouge-l", "cider", "cider-d", "meteor")
TAU_B, TAU_C, RHO = "kendall-tau-b", "kendall-tau-c", "spearman"
COEFFICIENT_LABELS = {TAU_B: "tau-b", TAU_C: "tau-c", RHO: "rho"}
RESAMPLES = 100
EXPERT_SET = "flickr8k-expert"
# Metrics by their names in the MS COCO evaluation, whose CIDEr is CIDEr-D.
RHO_METRICS = {"cider": "cider-d", "meteor": "meteor"}
REQUIRED_COLUMNS = ("mt", "refs", "score", "imgid")


@dataclass(frozen=True, slots=True)
class GradedCaptions:
    """The judged captions of a set, and N grades of them. A caption can have several grades.

    Attributes:
        title: name of the set.
        grades: (N,) grades.
        caption_indices: (N,) indices of the graded captions.
    """

    title: str
    captions: list[CaptionTexts]
    grades: Floats
    caption_indices: Ints


def analyse(run: Run) -> None:
    """Correlate every metric on each available set."""
    rows = list(open_dataset("flickr8k", run.data["flickr8k"]).rows())
    references = references_by_image(rows)
    texts = {row.caption_id: row.text for row in rows if isinstance(row, ReferenceRow)}
    _add_rhos(run, _read_experts(run.data["flickr8k"], references, texts, keep_own=True))
    sets = {
        EXPERT_SET: (_read_experts(run.data["flickr8k"], references, texts), TAU_C),
        "flickr8k-cf": (_read_crowd(run.data["flickr8k"], references, texts), TAU_B),
    }
    for name, file in {"composite": "en_test_composite_da2.csv", "polaris": "polaris_test.csv"}.items():
        if run.has_data(name):
            sets[name] = _read_polos_table(name.capitalize(), run.data[name] / file), TAU_C
    for index, (name, (corpus, coefficient)) in enumerate(sets.items()):
        run.progress(index / len(sets), f"correlations on {corpus.title}")
        run.note_judgments(
            f"{corpus.title}: {len(corpus.captions):,} judged captions, {len(corpus.grades):,} data points."
        )
        _correlate_metrics(run, name, corpus, coefficient)


def _grades_by_caption(rows: Iterable[JudgmentRow]) -> dict[tuple[str, str], list[float]]:
    """Return the grades of each caption of an image, by image and caption id."""
    grades: dict[tuple[str, str], list[float]] = {}
    for row in rows:  # whose values are None for open answers only
        grades.setdefault((str(row.image), str(row.first)), []).append(float(row.value or 0))
    return grades


def _read_experts(
    folder: Path, references: dict[str, list[str]], texts: dict[str, str], *, keep_own: bool = False
) -> GradedCaptions:
    """Return the grades of experts. A caption that equals a reference of its image is left out, unless ``keep_own``.

    Args:
        references: the texts of each image's references.
        texts: the text of each caption, by its id.
    """
    captions, grades = [], []
    grades_by_caption = _grades_by_caption(open_judgments(EXPERT_SET, folder).judgments())
    for (image, caption_id), caption_grades in grades_by_caption.items():
        if keep_own or texts[caption_id] not in references[image]:
            mean = sum(caption_grades) / len(caption_grades)
            captions.append(_graded_caption(image, texts[caption_id], references[image], mean))
            grades.append(caption_grades)
    caption_indices = np.repeat(np.arange(len(captions)), list(map(len, grades)))
    return GradedCaptions("Flickr8k-Expert", captions, np.concatenate(grades), caption_indices)


def _read_crowd(folder: Path, references: dict[str, list[str]], texts: dict[str, str]) -> GradedCaptions:
    """Return the mean answers of the crowd. Each judged caption is taken out of its image's references once."""
    grades = _grades_by_caption(open_judgments("flickr8k-crowd", folder).judgments())
    remaining_texts = {image: list(image_texts) for image, image_texts in references.items()}
    for image, caption_id in grades:
        if texts[caption_id] in remaining_texts[image]:
            remaining_texts[image].remove(texts[caption_id])
    captions = []
    for (image, caption_id), caption_grades in grades.items():
        mean = sum(caption_grades) / len(caption_grades)
        captions.append(_graded_caption(image, texts[caption_id], list(remaining_texts[image]), mean))
    return GradedCaptions("Flickr8k-CF", captions, _mean_grades(captions), np.arange(len(captions)))


def _read_polos_table(title: str, path: Path) -> GradedCaptions:
    """Read a file of the authors of Polos (Wada et al. 2024).

    It is a CSV with a judged caption in each line, whose columns REQUIRED_COLUMNS are the caption, a list of its
    references as a Python literal, its grade, and its image.
    """
    captions = []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing_columns = [name for name in REQUIRED_COLUMNS if name not in (reader.fieldnames or ())]
        if missing_columns:
            raise ReplicationError(
                f"{path} has no column {missing_columns[0]}, expected {', '.join(REQUIRED_COLUMNS)}."
            )
        for row in reader:
            try:
                references, grade = ast.literal_eval(row["refs"]), float(row["score"])
            except (ValueError, SyntaxError, TypeError):
                references, grade = None, 0.0  # refused below
            if (
                not isinstance(references, list)
                or not references
                or not all(isinstance(text, str) for text in references)
            ):
                raise ReplicationError(
                    f"{path}, line {reader.line_num}: expected a list of texts in refs and a number in score."
                )
            captions.append(_graded_caption(row["imgid"], row["mt"], references, grade))
    if not captions:
        raise ReplicationError(f"{path} holds no rows, expected one judged caption or more.")
    return GradedCaptions(title, captions, _mean_grades(captions), np.arange(len(captions)))


def _graded_caption(image: str, text: str, references: list[str], grade: float) -> CaptionTexts:
    """Return a caption that is in no database, so it has no row ids. Its key is the image, as its cluster."""
    return CaptionTexts(unit=None, item=0, key=image, text=text, references=references, people=grade)


def _mean_grades(captions: Sequence[CaptionTexts]) -> Floats:
    return np.array([caption.people for caption in captions], dtype=np.float64)


def _add_rhos(run: Run, corpus: GradedCaptions) -> None:
    """Compute Spearman's rho on all grades of experts. Captions that equal one of their references stay (V15 §7.2)."""
    documents = [caption.references for caption in corpus.captions]
    metrics = computable_metrics(RHO_METRICS.values())
    scores = score_captions(corpus.captions, documents, metrics=metrics, tokenizer="ptb").scores
    for name, metric in RHO_METRICS.items():
        if metric in metrics:
            rho = correlation(
                scores[metric].images[corpus.caption_indices], corpus.grades, RHO, resamples=0
            ).value
            run.number(f"v15/{EXPERT_SET}/{name}", Estimate(rho, n=len(corpus.grades)))


def _correlate_metrics(run: Run, name: str, corpus: GradedCaptions, coefficient: str) -> None:
    number_ids = {number.id for number in run.pack.numbers}
    correlations = _correlations_of_set(run, corpus, coefficient)
    for metric, values in correlations.items():
        if f"{name}/{metric}" in number_ids:
            run.number(f"{name}/{metric}", values.as_printed)
    table = _table_of(name, corpus, coefficient, correlations)
    plot = _plot_of(name, corpus, coefficient, correlations, table)
    run.add_section(name, corpus.title, plots=[plot], tables=[table])


@dataclass(frozen=True, slots=True)
class MetricCorrelations:
    """The rank correlations of a metric with people, by several conventions.

    Attributes:
        as_printed: as in the paper: for document frequencies, each judged caption's references are a document.
        frequencies_over_images: as printed, but each image's are one; None for metrics without such frequencies.
        all_coefficients: tau-b, tau-c and rho with the single grades, then with the captions' mean grades.
    """

    as_printed: Estimate
    frequencies_over_images: float | None
    all_coefficients: tuple[float | None, ...]


def _correlations_of_set(run: Run, corpus: GradedCaptions, coefficient: str) -> dict[str, MetricCorrelations]:
    """Return the correlations of each metric with the grades of a set. ``coefficient`` is the printed one."""
    metrics = computable_metrics(METRICS)
    images = [caption.key for caption in corpus.captions]
    # A document, for document frequencies, is the references of a judged caption, as in the paper, or of an image.
    row_documents = [caption.references for caption in corpus.captions]
    image_documents = list(dict(zip(images, row_documents, strict=True)).values())
    printed_scores = score_captions(corpus.captions, row_documents, metrics=metrics, tokenizer="ptb").scores
    scores_over_images = score_captions(
        corpus.captions, image_documents, metrics=FREQUENCY_METRICS, tokenizer="ptb"
    ).scores
    means = _mean_grades(corpus.captions)
    correlations = {}
    for metric in metrics:
        run.add_signature(f"{corpus.title}: {metric}", printed_scores[metric].signature)
        scores = printed_scores[metric].images  # a score for each caption
        grade_scores = scores[corpus.caption_indices]  # the score of each grade's caption
        over_images = None
        if metric in scores_over_images:
            grade_scores_over_images = scores_over_images[metric].images[corpus.caption_indices]
            over_images = _coefficient(grade_scores_over_images, corpus.grades, coefficient)
        correlations[metric] = MetricCorrelations(
            _clustered_correlation(grade_scores, corpus, images, coefficient, run.seed),
            over_images,
            tuple(
                _coefficient(x, y, name)
                for x, y in ((grade_scores, corpus.grades), (scores, means))
                for name in COEFFICIENT_LABELS
            ),
        )
    return correlations


def _coefficient(scores: Floats, people: Floats, coefficient: str) -> float | None:
    return json_float(correlation(scores, people, coefficient, resamples=0).value)


def _clustered_correlation(
    scores: Floats, corpus: GradedCaptions, images: Sequence[str], coefficient: str, seed: int
) -> Estimate:
    """Correlate scores with grades. The interval resamples images with all their judgments."""
    result = grouped_correlation(
        scores,
        corpus.grades,
        [images[caption] for caption in corpus.caption_indices.tolist()],
        range(len(scores)),  # the systems, which the grouping "none" does not use
        coefficient,
        grouping="none",
        resamples=RESAMPLES,
        seed=seed,
    )
    return estimate_from(result, len(scores))


def _table_of(
    name: str, corpus: GradedCaptions, coefficient: str, correlations: dict[str, MetricCorrelations]
) -> Table:
    label = COEFFICIENT_LABELS[coefficient]
    columns = (
        Column("metric"),
        Column(f"{label} as printed", "coefficient"),
        Column(f"{label}, document frequencies over images", "coefficient"),
        *(
            Column(f"{coefficient_label}, {kind}", "coefficient")
            for kind in ("data points", "means")
            for coefficient_label in COEFFICIENT_LABELS.values()
        ),
    )
    rows = tuple(
        (metric, values.as_printed, values.frequencies_over_images, *values.all_coefficients)
        for metric, values in correlations.items()
    )
    title = f"Rank correlation of metrics with people on {corpus.title} [95 % interval over images]"
    return Table(name, title, columns, rows)


def _plot_of(
    name: str,
    corpus: GradedCaptions,
    coefficient: str,
    correlations: dict[str, MetricCorrelations],
    table: Table,
) -> Plot:
    label = COEFFICIENT_LABELS[coefficient]
    order = sorted(correlations, key=lambda metric: -(correlations[metric].as_printed.value or 0.0))
    drawing = DotPlot(
        tuple(order),
        (DotPanel(corpus.title, tuple(correlations[metric].as_printed for metric in order)),),
        axis=f"Kendall's {label} with people, 95 % interval over images",
    )
    sentence = f"Kendall's {label} of each metric with what people said of {len(corpus.captions):,} captions."
    return Plot(f"figure-{name}", f"Metrics and people on {corpus.title}", sentence, drawing, table)

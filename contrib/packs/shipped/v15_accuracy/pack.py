"""V15, Vedantam et al. 2015, Table 1 and Figure 3: accuracy of metrics by kind of pair and by number of references."""

import numpy as np

from contrib.bounds.bounds import computable_metrics
from contrib.packs.estimates import accuracy_at, estimates_of_curve, plot_curve
from contrib.packs.fifty_sentences import (
    ABSTRACT,
    DATASET_TITLES,
    PASCAL,
    TOKENIZER,
    FiftySentenceData,
    accuracy_by_kind,
    curve_over_decided_pairs,
    read_fifty_sentence_data,
    scores_by_shared_subsets,
)
from contrib.packs.references import references_by_image
from contrib.packs.running import Run
from evaluation.presentation.content import (
    Cell,
    Column,
    CurvePanel,
    Estimate,
    LinePlot,
    Plot,
    Table,
    estimate_of,
)
from evaluation.results.metrics.figures import accuracy_of_pairs
from evaluation.results.metrics.scoring import score_texts
from evaluation.results.metrics.texts import pair_kinds
from judgments.importers import open_dataset
from quorum.numeric.arrays import Floats
from quorum.statistics.meta import ReferenceCurve

BLEU, ROUGE_1 = "bleu-4|stem:porter", "rouge-1|measure:recall"
# The metrics of Table 1, by set and by the names in the ids of numbers.
METRICS_BY_NAME = {
    PASCAL: {"bleu-4": BLEU, "rouge-l": "rouge-l", "meteor": "meteor", "cider": "cider"},
    ABSTRACT: {"bleu-4": BLEU, "rouge-1": ROUGE_1, "meteor": "meteor", "cider": "cider"},
}
METRICS = (
    "bleu-1|stem:porter", "bleu-2|stem:porter", "bleu-3|stem:porter", BLEU, "bleu-4", "bleu-4|stem:porter|length:mean",
    ROUGE_1, "rouge-1", "rouge-l", "rouge-s4", "cider", "cider-d", "cider-logn",
)  # fmt: skip
# The metrics of Figure 3 by their labels. METEOR is added if it can be computed.
METRICS_BY_LABEL = {
    "BLEU-1": "bleu-1|stem:porter",
    "BLEU-4": BLEU,
    "ROUGE-1": ROUGE_1,
    "ROUGE-L": "rouge-l",
    "CIDEr": "cider",
}
SIZES, DRAWS = (1, 2, 5, 10, 20, 48), 5  # numbers of references, and of random subsets of each size
AUTHOR_SCORES = "cider-v01"  # the data set with the scores of the authors' program
AUTHOR_SCORE_COLUMN = 5  # index of the column of the scores in its file
EQUAL_TOLERANCE = 1e-12
# METEOR is slow, so it is computed at fewer points, as in the paper.
METEOR_SIZES, METEOR_DRAWS = (1, 5, 48), 1


def analyse(run: Run) -> None:
    """Compare every metric with the winners that people named, in both data sets."""
    curves_by_set: dict[str, dict[str, ReferenceCurve]] = {}
    for index, name in enumerate(DATASET_TITLES):
        data = read_fifty_sentence_data(name, run.data[name])
        _record_judgments(run, name, data)
        progress_before = 0.5 * index
        run.progress(progress_before + 0.02, f"scoring {DATASET_TITLES[name]}")
        scores, signatures = data.scores(METRICS)
        for metric, signature in signatures.items():
            run.add_signature(f"{DATASET_TITLES[name]}: {metric}", signature)
        run.progress(progress_before + 0.1, f"subsets of references of {DATASET_TITLES[name]}")
        subsets = scores_by_shared_subsets(
            data, list(METRICS_BY_LABEL.values()), SIZES, draws=DRAWS, seed=run.seed
        )
        if "meteor" in computable_metrics(["meteor"]):
            run.progress(progress_before + 0.3, f"METEOR on {DATASET_TITLES[name]}")
            subsets |= scores_by_shared_subsets(
                data, ["meteor"], METEOR_SIZES, draws=METEOR_DRAWS, seed=run.seed
            )
            # There is only one draw of all references.
            (first_scores,), (second_scores,) = subsets["meteor"][METEOR_SIZES[-1]]
            scores["meteor"] = np.stack([first_scores, second_scores], axis=1)
        _add_table_1(run, name, data, scores)
        curves = curves_by_set[name] = {
            metric: curve_over_decided_pairs(data, metric_scores) for metric, metric_scores in subsets.items()
        }
        _record_section_7_2(run, name, data, scores, curves)
        if name == PASCAL:
            _compare_with_authors(run, data)
    _add_figure_3(run, curves_by_set)


def _record_judgments(run: Run, name: str, data: FiftySentenceData) -> None:
    ties = int((data.winners == 0).sum())
    source = (
        f"{data.votes.size:,} triplets as majorities of three judgments; {ties} pairs are drawn"
        if data.votes.size
        else "only the winners are published; some 60 ties among them were broken at random and cannot be distinguished"
    )
    run.note_judgments(
        f"{DATASET_TITLES[name]}: {len(data.pairs):,} candidate pairs of {len(set(data.images)):,} images; {source}."
    )


def _add_table_1(run: Run, name: str, data: FiftySentenceData, scores: dict[str, Floats]) -> None:
    """Add the accuracies of Table 1. Undecided pairs count half. A second table leaves them out."""
    kinds = pair_kinds(data.kinds)
    accuracies = {metric: accuracy_by_kind(data, pair_scores) for metric, pair_scores in scores.items()}
    decided_accuracies = {
        metric: accuracy_of_pairs(pair_scores, data.people, data.kinds)["accuracy"]
        for metric, pair_scores in scores.items()
    }
    by_mean_length = accuracies["bleu-4|stem:porter|length:mean"]
    for name_in_paper, metric in METRICS_BY_NAME[name].items():
        if metric not in accuracies:
            continue
        for kind in kinds:
            # Values by other conventions, which the run records beside the paper's number.
            variants = {"mean length of the references": by_mean_length[kind].value} if metric == BLEU else {}
            if (data.winners == 0).any():
                variants["undecided pairs left out"] = decided_accuracies[metric][kind]["value"]
            run.number(f"table-1/{name}/{name_in_paper}/{kind}", accuracies[metric][kind], others=variants)
    shown_kinds = [*kinds, "all"]
    rows: list[tuple[Cell, ...]] = [
        (metric, *(accuracies[metric][kind] for kind in shown_kinds)) for metric in sorted(accuracies)
    ]
    columns = (Column("metric"), *(Column(f"{kind}, %", "share") for kind in shown_kinds))
    title = f"Accuracy on all pairs of {DATASET_TITLES[name]}, 48 references [95 % interval]"
    tables = [Table(f"accuracy-{name}", title, columns, tuple(rows))]
    if (data.winners == 0).any():
        rows = [
            (metric, *(estimate_of(accuracy[kind]) for kind in shown_kinds))
            for metric, accuracy in sorted(decided_accuracies.items())
        ]
        title = f"Accuracy on the pairs of {DATASET_TITLES[name]} that people decided [95 % interval]"
        tables.append(Table(f"accuracy-{name}-decided", title, columns, tuple(rows)))
    run.add_section(f"table-1-{name}", f"Table 1: {DATASET_TITLES[name]}", tables=tables)


def _record_section_7_2(
    run: Run, name: str, data: FiftySentenceData, scores: dict[str, Floats], curves: dict[str, ReferenceCurve]
) -> None:
    """Record the accuracies over all kinds of pairs that section 7.2 prints: with 48 and with five references."""
    accuracy = accuracy_by_kind(data, scores["cider"])["all"]
    run.number(f"section-7.2/{name}/cider/48", accuracy)
    if name != PASCAL:
        return
    scores_at_blanks = scores_by_shared_subsets(
        data, ["bleu-1"], [5], draws=DRAWS, seed=run.seed, tokenizer="space"
    )["bleu-1"]
    curve_at_blanks = curve_over_decided_pairs(data, scores_at_blanks)
    variants = {"captions cut at blanks, bleu-1": accuracy_at(curve_at_blanks, 5).value}
    run.number(f"section-7.2/{name}/bleu-1/5", accuracy_at(curves["bleu-1|stem:porter"], 5), others=variants)
    run.number(f"section-7.2/{name}/rouge-1/5", accuracy_at(curves[ROUGE_1], 5))


def _compare_with_authors(run: Run, data: FiftySentenceData) -> None:
    """Compare Quorum's CIDEr with the authors' scores of each pair's first candidate, by all fifty references."""
    if not run.has_data(AUTHOR_SCORES):
        return
    references = references_by_image(open_dataset(PASCAL, run.data[PASCAL]).rows())
    lines = (run.data[AUTHOR_SCORES] / "cider_v01_first.tsv").read_text(encoding="utf-8").splitlines()[1:]
    author_scores = np.array([float(line.split("\t")[AUTHOR_SCORE_COLUMN]) for line in lines])
    texts = [pair.first for pair in data.pairs]
    references_by_pair = [references[image] for image in data.images]
    result = score_texts(
        texts, references_by_pair, list(references.values()), metrics=["cider"], tokenizer=TOKENIZER
    )
    # `images` has the score of each text.
    differences = np.abs(result.scores["cider"].images - author_scores)
    differing_pairs = np.flatnonzero(differences > EQUAL_TOLERANCE)
    matches = len(author_scores) - differing_pairs.size
    sentence = f"Of {len(author_scores):,} scores of the authors' program {matches:,} are ours to {EQUAL_TOLERANCE:g}"
    if differing_pairs.size:
        images = ", ".join(sorted({data.images[pair] for pair in differing_pairs.tolist()}))
        sentence += f"; those of {images} differ by {differences.max():.1e} at most"
    run.add_section("authors-scores", "The authors' own CIDEr scores", [f"{sentence}."])


def _curve_rows(title: str, label: str, curve: ReferenceCurve) -> list[tuple[str, str, int, int, Estimate]]:
    """Return rows of the table of Figure 3: data set, metric, numbers of references and of subsets, and accuracy."""
    points = zip(curve.references.tolist(), curve.draws.tolist(), estimates_of_curve(curve), strict=True)
    return [(title, label, *point) for point in points]


def _add_figure_3(run: Run, curves_by_set: dict[str, dict[str, ReferenceCurve]]) -> None:
    """Add the curves of accuracy over the number of references, which are by data set and by metric."""
    panels: list[CurvePanel] = []
    points: list[tuple[str, str, int, int, Estimate]] = []
    for name, curves in curves_by_set.items():
        title = DATASET_TITLES[name]
        metrics = METRICS_BY_LABEL | ({"METEOR": "meteor"} if "meteor" in curves else {})
        plot_curves = [plot_curve(label, curves[metric]) for label, metric in metrics.items()]
        panels.append(CurvePanel(title, tuple(plot_curves)))
        for label, metric in metrics.items():
            points += _curve_rows(title, label, curves[metric])
    columns = (
        Column("data"), Column("metric"), Column("references", "count"), Column("subsets", "count"),
        Column("accuracy, %", "share"),
    )  # fmt: skip
    title = "Accuracy over the number of references"
    sentence = (
        f"Accuracy on the pairs that people decided, over the number of references: mean of {DRAWS} random subsets "
        f"({METEOR_DRAWS} for METEOR, which is slow). The 95 % intervals in the table say how far another sample of "
        "pairs could change the accuracy."
    )
    drawing = LinePlot(tuple(panels), x_axis="references (log scale)", y_axis="accuracy, %")
    data = Table("accuracy-by-references", title, columns, tuple(points))
    plot = Plot("figure-3", title, sentence, drawing, data)
    run.add_section("figure-3", "Figure 3: how many references are enough", plots=[plot], tables=[data])

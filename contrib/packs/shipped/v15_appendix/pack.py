"""V15, Vedantam et al. 2015, appendices I to IV and VIII, on PASCAL-50S and ABSTRACT-50S.

Metrics are compared with the candidates that people call better (I and III). Each image's references are ranked by
metrics (II and IV). Versions of BLEU, ROUGE and CIDEr are compared with each other (VIII).
"""

from itertools import pairwise

import numpy as np

from contrib.bounds.bounds import computable_metrics
from contrib.packs.estimates import (
    accuracy_at,
    estimates_of_curve,
    format_per_cent,
    plot_curve,
    share_by_image,
)
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
from contrib.packs.running import Run
from evaluation.presentation.content import Cell, Column, CurvePanel, Estimate, LinePlot, Plot, Table
from evaluation.results.metrics.scoring import score_texts
from evaluation.results.metrics.texts import pair_kinds
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.correlation import spearman
from quorum.statistics.crossed import ITEM
from quorum.statistics.meta import accuracy_by_references, metric_winners
from quorum.statistics.significance import mcnemar_test

BLEU_1, BLEU_4, MEAN_LENGTH = "bleu-1|stem:porter", "bleu-4|stem:porter", "bleu-4|stem:porter|length:mean"
ROUGE_1 = "rouge-1|measure:recall"
PLAIN_METEOR = "meteor|stages:exact-stem"
FIVE_REFERENCE_METRICS = {"rouge-l": "rouge-l", "bleu-4": BLEU_4, "rouge-1": ROUGE_1, "bleu-1": BLEU_1}
FIVE_REFERENCES = 5  # references of a pair in appendix I
DRAWS, METEOR_DRAWS = 10, 3  # random subsets of five references
VERSIONS = {  # of Figures 11 and 12
    "BLEU": {f"BLEU-{n}": f"bleu-{n}|stem:porter" for n in range(1, 5)},
    "ROUGE": {"ROUGE-1": ROUGE_1, "ROUGE-L": "rouge-l", "ROUGE-S": "rouge-s4"},
    "CIDEr": {
        "CIDEr": "cider", "CIDEr exp": "cider-exp", "CIDEr max": "cider-max", "CIDEr no idf": "cider-noidf",
        "CIDEr no stem": "cider-nostem", "CIDEr-1": "cider|n:1", "CIDEr-D": "cider-d",
    },
}  # fmt: skip
SIZES, VERSION_DRAWS = (1, 5, 20, 48), 2  # numbers of references, and random subsets of each size
# The metrics by which references are ranked, by their names in the report.
RANKING_METRICS = {
    "CIDEr": "cider",
    "CIDEr-D": "cider-d",
    "BLEU-1": "bleu-1",
    "BLEU-1 without brevity penalty": "bleu-h13",
    "ROUGE-1": ROUGE_1,
}
MAX_EXAMPLES = 12  # random pairs with different winners in a table


def analyse(run: Run) -> None:
    data = {name: read_fifty_sentence_data(name, run.data[name]) for name in DATASET_TITLES}
    pascal = data[PASCAL]
    run.note_judgments(
        f"PASCAL-50S: {len(pascal.pairs):,} pairs with 11 published pairwise votes each, and the published winners of "
        f"their triplets; ABSTRACT-50S: {data[ABSTRACT].votes.size:,} triplet votes."
    )
    run.progress(0.05, "pairwise judgments")
    _add_pairwise(run, pascal)
    _compare_preferences(run, pascal)
    run.progress(0.4, "leave one out")
    _leave_one_out(run, pascal)
    for index, (name, dataset) in enumerate(data.items()):
        run.progress(0.6 + 0.2 * index, f"versions of metrics on {DATASET_TITLES[name]}")
        _add_versions(run, name, dataset)


def _add_pairwise(run: Run, data: FiftySentenceData) -> None:
    """Compare people's choices with metrics that have five references, and with CIDEr that has 48 (appendix I).

    People choose in two ways: the better candidate of each pair (pairwise votes), and the candidate that is more like
    a reference (consensus of triplets). Five references are compared with both, 48 with the consensus.
    """
    metrics = [*FIVE_REFERENCE_METRICS.values(), MEAN_LENGTH, "cider"]
    scores = scores_by_shared_subsets(data, metrics, [FIVE_REFERENCES], draws=DRAWS, seed=run.seed)
    names = dict(FIVE_REFERENCE_METRICS)
    if "meteor" in computable_metrics(["meteor"]):
        scores |= scores_by_shared_subsets(
            data, ["meteor"], [FIVE_REFERENCES], draws=METEOR_DRAWS, seed=run.seed
        )
        names["meteor"] = "meteor"
    kinds = [*pair_kinds(data.kinds), "all"]
    rows: list[tuple[Cell, ...]] = []
    accuracies: dict[str, Estimate] = {}
    for metric, by_size in scores.items():
        better = accuracy_by_references(by_size, data.pairwise_winners, data.kinds, clusters=data.clusters)
        consensus = accuracy_by_references(by_size, data.winners, data.kinds, clusters=data.clusters)
        estimates = [estimates_of_curve(curves[kind])[0] for curves in (better, consensus) for kind in kinds]
        accuracies[metric] = accuracy_at(better["all"], FIVE_REFERENCES)
        rows.append((metric, *estimates))
    # By metric, values by other conventions, which the run records beside the paper's number.
    other_values = {"bleu-4": {"mean length of the references": accuracies[MEAN_LENGTH].value}}
    if "meteor" in names:
        blank_separated = scores_by_shared_subsets(
            data, [PLAIN_METEOR], [FIVE_REFERENCES], draws=METEOR_DRAWS, seed=run.seed, tokenizer="space"
        )
        plain_curve = accuracy_by_references(
            blank_separated[PLAIN_METEOR], data.pairwise_winners, clusters=data.clusters
        )["all"]
        convention = "captions cut at blanks, without synonyms and paraphrases"
        other_values["meteor"] = {convention: accuracy_at(plain_curve, FIVE_REFERENCES).value}
    for name, metric in names.items():
        run.number(f"appendix-1/{name}/5", accuracies[metric], others=other_values.get(name))
    scores_of_pairs, signatures = data.scores(["cider"])
    run.add_signature("CIDEr, 48 references", signatures["cider"])
    run.number("appendix-1/cider/48", accuracy_by_kind(data, scores_of_pairs["cider"])["all"])
    shares = ((f"{target}, {kind}, %", "share") for target in ("better", "consensus") for kind in kinds)
    heading = "Accuracy on the better candidate and on the consensus of triplets [95 % interval]"
    columns = [("metric, 5 references", "text"), *shares]
    run.add_table_section("pairwise", "Appendix I: the better candidate", "", heading, columns, rows)


def _compare_preferences(run: Run, data: FiftySentenceData) -> None:
    """Compare pairwise votes for the better candidate with triplets, for the human-like one (appendices I and III)."""
    is_decided = (data.winners != 0) & (data.pairwise_winners != 0)
    is_different = is_decided & (data.winners != data.pairwise_winners)
    extra_words = _extra_words_of_liked(data)
    rows = []
    for kind in [*pair_kinds(data.kinds), "all"]:
        is_counted = is_decided & (data.is_of_kind(kind) if kind != "all" else True)
        has_longer = is_counted & is_different & (extra_words != 0)
        rows.append(
            (
                kind,
                share_by_image(~is_different, data.clusters, is_counted),
                int((is_counted & is_different).sum()),
                share_by_image(extra_words > 0, data.clusters, has_longer),
            )
        )
    columns = (
        Column("pairs"), Column("same winner, %", "share"), Column("parted", "count"),
        Column("liked one is the longer, %", "share"),
    )  # fmt: skip
    table = Table(
        "parting", "Triplets and pairwise votes on the same pairs [95 % interval]", columns, tuple(rows)
    )
    *_, longer_share = rows[-1]  # over all pairs
    rng = np.random.default_rng(run.seed)
    shown_pairs = rng.permutation(np.flatnonzero(is_different))[:MAX_EXAMPLES].tolist()
    examples = Table(
        "parting-examples",
        "Pairs on which they part, drawn at random",
        (Column("image"), Column("pairs"), Column("human-like"), Column("liked by humans")),
        tuple(
            (
                data.images[index],
                data.pairs[index].kind,
                _candidate(data, index, int(data.winners[index])),
                _candidate(data, index, int(data.pairwise_winners[index])),
            )
            for index in shown_pairs
        ),
    )
    sentences = [
        "The paper says that pairwise judgments often favour the longer sentence. Where the two part, the liked one "
        f"is the longer in {format_per_cent(longer_share)} of {longer_share.n:,} pairs of different lengths."
    ]
    run.add_section(
        "parting", "Appendix III: human-like, and what humans like", sentences, tables=[table, examples]
    )


def _extra_words_of_liked(data: FiftySentenceData) -> Ints:
    """Return (P,) numbers of words of the better candidates minus those of the more human-like ones.

    The numbers of undecided pairs mean nothing.
    """
    liked_words, human_like_words = (
        [len(_candidate(data, index, winner).split()) for index, winner in enumerate(winners.tolist())]
        for winners in (data.pairwise_winners, data.winners)
    )
    return np.array(liked_words, dtype=np.int64) - np.array(human_like_words, dtype=np.int64)


def _candidate(data: FiftySentenceData, index: int, winner: int) -> str:
    """Return a candidate of the pair with this index: the first if ``winner`` is 1, else the second."""
    pair = data.pairs[index]
    return (pair.first if winner == 1 else pair.second).strip()


def _leave_one_out(run: Run, data: FiftySentenceData) -> None:
    """Rank each image's references. Each reference is scored against all others (App. II and IV)."""
    captions_by_image = list(data.references.values())
    result = score_texts(
        [text for captions in captions_by_image for text in captions],
        [
            captions[:index] + captions[index + 1 :]
            for captions in captions_by_image
            for index in range(len(captions))
        ],
        captions_by_image,
        metrics=list(RANKING_METRICS.values()),
        tokenizer=TOKENIZER,
    )
    # The scores are those of all images, one after the other. They are cut into one array for each image.
    starts = np.cumsum([0, *map(len, captions_by_image)])
    scores = {
        name: [result.scores[metric].images[start:end] for start, end in pairwise(starts.tolist())]
        for name, metric in RANKING_METRICS.items()
    }
    for name, metric in RANKING_METRICS.items():
        run.add_signature(f"leave one out, {name}", result.scores[metric].signature)
    rho_by_image = np.array(list(map(spearman, scores["CIDEr"], scores["CIDEr-D"])))
    pooled_rho = spearman(result.scores["cider"].images, result.scores["cider-d"].images)
    run.number(
        "section-8/cider-d/spearman",
        Estimate(float(rho_by_image.mean()), n=len(rho_by_image)),
        others={"over the sentences of all images at once": pooled_rho},
    )
    _report_ranked_references(run, data, scores)


def _report_ranked_references(run: Run, data: FiftySentenceData, scores: dict[str, list[Floats]]) -> None:
    """Add how long the references are that each metric ranks first and last.

    Args:
        scores: the scores of each image's references, by name of the metric.
    """
    images = list(data.references)
    word_counts = [
        np.array([len(text.split()) for text in captions]) for captions in data.references.values()
    ]
    rows = []
    # Mean numbers of words of the first five references, and of all, by metric.
    words_of_first_five: dict[str, float] = {}
    words_of_all: dict[str, float] = {}
    for name, image_scores in scores.items():
        orders = [np.argsort(-scores_of_texts, kind="stable") for scores_of_texts in image_scores]
        ordered_counts = [counts[order] for counts, order in zip(word_counts, orders, strict=True)]
        words_of_first_five[name], words_of_all[name], words_of_last_five = (
            float(np.mean([counts[ranks].mean() for counts in ordered_counts]))
            for ranks in (slice(5), slice(None), slice(-5, None))
        )
        rho_with_cider = float(np.mean(list(map(spearman, image_scores, scores["CIDEr"]))))
        rows.append((name, words_of_first_five[name], words_of_all[name], words_of_last_five, rho_with_cider))
    columns = (
        Column("metric"), Column("words, first five", "number"), Column("words, all", "number"),
        Column("words, last five", "number"), Column("rho with CIDEr", "coefficient"),
    )  # fmt: skip
    title = f"References of {len(images)} images, each scored against the 47 others and ranked"
    lengths = Table("leave-one-out", title, columns, tuple(rows))
    sentences = [
        "The paper says that ROUGE favours long sentences, and BLEU without brevity penalty short ones: the first five "
        f"of an image have {words_of_first_five['ROUGE-1']:.1f} words by ROUGE-1, "
        f"{words_of_first_five['BLEU-1 without brevity penalty']:.1f} by BLEU-1 without brevity penalty and "
        f"{words_of_first_five['CIDEr']:.1f} by CIDEr; all have {words_of_all['CIDEr']:.1f}."
    ]
    run.add_section(
        "leave-one-out",
        "Appendices II and IV: leave one out",
        sentences,
        tables=[lengths, _example_ranking(data, images[0], scores)],
    )


def _example_ranking(data: FiftySentenceData, image: str, scores: dict[str, list[Floats]]) -> Table:
    """Return a table of the first and last three references of the first image by each metric, as in Figure 5."""
    rows = []
    for name, by_image in scores.items():
        image_scores = by_image[0]
        ranking = list(enumerate(np.argsort(-image_scores, kind="stable").tolist(), start=1))
        rows += [
            (name, rank, float(image_scores[text]), data.references[image][text].strip())
            for rank, text in ranking[:3] + ranking[-3:]
        ]
    columns = (Column("metric"), Column("rank", "count"), Column("score", "number"), Column("reference"))
    return Table("ranked-references", f"First and last references of {image}", columns, tuple(rows))


def _add_versions(run: Run, name: str, data: FiftySentenceData) -> None:
    """Compare versions of metrics (App. VIII, figures 11 and 12)."""
    metrics = [metric for versions in VERSIONS.values() for metric in versions.values()]
    by_size = scores_by_shared_subsets(data, metrics, SIZES, draws=VERSION_DRAWS, seed=run.seed)
    curves = {metric: curve_over_decided_pairs(data, by_size[metric]) for metric in metrics}
    panels = tuple(
        CurvePanel(
            f"{family} on {DATASET_TITLES[name]}",
            tuple(plot_curve(label, curves[metric]) for label, metric in versions.items()),
        )
        for family, versions in VERSIONS.items()
    )
    # Whether each metric, by all 48 references, names people's winner of the pairs that people decided.
    is_right = {}
    for metric in metrics:
        # There is only one draw of all references.
        (first_scores,), (second_scores,) = by_size[metric][SIZES[-1]]
        names_winner = metric_winners(first_scores, second_scores) == data.winners
        is_right[metric] = names_winner[data.winners != 0]
    images = [image for image, winner in zip(data.images, data.winners, strict=True) if winner]
    rows: list[tuple[Cell, ...]] = []
    accuracy_at_48: dict[str, Estimate] = {}
    for versions in VERSIONS.values():
        for label, metric in versions.items():
            estimates = estimates_of_curve(curves[metric])
            p = None
            if metric != "cider":
                p = mcnemar_test(is_right[metric], is_right["cider"], clusters={ITEM: images}).best_p
            rows.append((label, *estimates, p))
            accuracy_at_48[label] = estimates[-1]
    columns = (
        Column("version"), *(Column(f"{size} references, %", "share") for size in SIZES),
        Column("p against CIDEr", "p"),
    )  # fmt: skip
    title = f"Versions of metrics on {DATASET_TITLES[name]}: accuracy on the decided pairs [95 % interval]"
    note = "p: McNemar's test at 48 references, by image."
    table = Table(f"versions-{name}", title, columns, tuple(rows), note)
    sentence = (
        f"At 48 references CIDEr is right on {format_per_cent(accuracy_at_48['CIDEr'])}, without IDF on "
        f"{format_per_cent(accuracy_at_48['CIDEr no idf'])}, with the best reference on "
        f"{format_per_cent(accuracy_at_48['CIDEr max'])}, with exponential weights on "
        f"{format_per_cent(accuracy_at_48['CIDEr exp'])}. The paper says that leaving out IDF hurts most, and that the "
        "other two are slightly worse."
    )
    drawing = LinePlot(panels, x_axis="references (log scale)", y_axis="accuracy, %")
    figure = "11" if name == PASCAL else "12"
    plot = Plot(
        f"figure-{figure}", f"Versions of metrics on {DATASET_TITLES[name]}", sentence, drawing, table
    )
    run.add_section(
        f"versions-{name}",
        f"Appendix VIII, Figure {figure}: {DATASET_TITLES[name]}",
        plots=[plot],
        tables=[table],
    )

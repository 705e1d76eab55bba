"""V15 App. I, II, IV and VIII: the better candidate, rankings of an image's references, and versions of metrics."""

from itertools import pairwise

import numpy as np

from contrib.bounds.bounds import computable_metrics
from contrib.packs.estimates import drawn_curve, drawn_point, estimates_of, format_per_cent, share_by_image
from contrib.packs.fifty import (
    ABSTRACT,
    DATASET_TITLES,
    PASCAL,
    TOKENIZER,
    FiftySentenceData,
    accuracy_of_all,
    curve_of_all,
    read_fifty,
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
FIVE, DRAWS, METEOR_DRAWS = 5, 10, 3
# Figures 11 and 12: versions of BLEU, ROUGE and CIDEr.
VERSIONS = {
    "BLEU": {f"BLEU-{n}": f"bleu-{n}|stem:porter" for n in range(1, 5)},
    "ROUGE": {"ROUGE-1": ROUGE_1, "ROUGE-L": "rouge-l", "ROUGE-S": "rouge-s4"},
    "CIDEr": {
        "CIDEr": "cider", "CIDEr exp": "cider-exp", "CIDEr max": "cider-max", "CIDEr no idf": "cider-noidf",
        "CIDEr no stem": "cider-nostem", "CIDEr-1": "cider|n:1", "CIDEr-D": "cider-d",
    },
}  # fmt: skip
SIZES, VERSION_DRAWS = (1, 5, 20, 48), 2
METRICS_BY_NAME = {
    "CIDEr": "cider",
    "CIDEr-D": "cider-d",
    "BLEU-1": "bleu-1",
    "BLEU-1 without brevity penalty": "bleu-h13",
    "ROUGE-1": ROUGE_1,
}
EXAMPLES = 12  # random pairs with different winners in a table


def analyse(run: Run) -> None:
    data = {name: read_fifty(name, run.data[name]) for name in DATASET_TITLES}
    pascal = data[PASCAL]
    run.judged(
        f"PASCAL-50S: {len(pascal.pairs):,} pairs with 11 published pairwise votes each, and the published winners of "
        f"their triplets; ABSTRACT-50S: {data[ABSTRACT].votes.size:,} triplet votes."
    )
    run.progress(0.05, "pairwise judgments")
    _add_pairwise(run, pascal)
    _compare_preferences(run, pascal)
    run.progress(0.4, "leave one out")
    _leave_one_out(run, pascal)
    for index, (name, fifty) in enumerate(data.items()):
        run.progress(0.6 + 0.2 * index, f"versions of metrics on {DATASET_TITLES[name]}")
        _add_versions(run, name, fifty)


def _add_pairwise(run: Run, data: FiftySentenceData) -> None:
    """Compare metrics with five references, and CIDEr with 48, with people's choices (appendix I).

    The metrics are compared with the better candidate, CIDEr with the consensus.
    """
    metrics = [*FIVE_REFERENCE_METRICS.values(), MEAN_LENGTH, "cider"]
    tables = scores_by_shared_subsets(data, metrics, [FIVE], draws=DRAWS, seed=run.seed)
    names = dict(FIVE_REFERENCE_METRICS)
    if "meteor" in computable_metrics(["meteor"]):
        tables |= scores_by_shared_subsets(data, ["meteor"], [FIVE], draws=METEOR_DRAWS, seed=run.seed)
        names["meteor"] = "meteor"
    kinds = [*pair_kinds(data.kinds), "all"]
    rows: list[tuple[Cell, ...]] = []
    points: dict[str, Estimate] = {}
    for metric, by_size in tables.items():
        better = accuracy_by_references(by_size, data.pairwise_winners, data.kinds, clusters=data.clusters)
        consensus = accuracy_by_references(by_size, data.winners, data.kinds, clusters=data.clusters)
        estimates = [estimates_of(curves[kind])[0] for curves in (better, consensus) for kind in kinds]
        points[metric] = drawn_point(better["all"], FIVE)
        rows.append((metric, *estimates))
    others = {"bleu-4": {"mean length of the references": points[MEAN_LENGTH].value}}
    if "meteor" in names:
        blank_separated = scores_by_shared_subsets(
            data, [PLAIN_METEOR], [FIVE], draws=METEOR_DRAWS, seed=run.seed, tokenizer="space"
        )
        plain = accuracy_by_references(
            blank_separated[PLAIN_METEOR], data.pairwise_winners, clusters=data.clusters
        )["all"]
        what = "captions cut at blanks, without synonyms and paraphrases"
        others["meteor"] = {what: drawn_point(plain, FIVE).value}
    for name, metric in names.items():
        run.number(f"appendix-1/{name}/5", points[metric], others=others.get(name))
    scores_of_pairs, signatures = data.scores(["cider"])
    run.signed("CIDEr, 48 references", signatures["cider"])
    run.number("appendix-1/cider/48", accuracy_of_all(data, scores_of_pairs["cider"])["all"])
    shares = ((f"{what}, {kind}, %", "share") for what in ("better", "consensus") for kind in kinds)
    heading = "Accuracy on the better candidate and on the consensus of triplets [95 % interval]"
    columns = [("metric, 5 references", "text"), *shares]
    run.tabulate("pairwise", "Appendix I: the better candidate", "", heading, columns, rows)


def _compare_preferences(run: Run, data: FiftySentenceData) -> None:
    """Compare the better candidate of each pair with the more human-like one (appendices I and III)."""
    is_decided = (data.winners != 0) & (data.pairwise_winners != 0)
    is_different = is_decided & (data.winners != data.pairwise_winners)
    extra = _words_more_in_liked(data)
    rows = []
    for kind in [*pair_kinds(data.kinds), "all"]:
        keep = is_decided & (data.is_of_kind(kind) if kind != "all" else True)
        rows.append(
            (
                kind,
                share_by_image(~is_different, data.clusters, keep),
                int((keep & is_different).sum()),
                share_by_image(extra > 0, data.clusters, keep & is_different & (extra != 0)),
            )
        )
    columns = (
        Column("pairs"), Column("same winner, %", "share"), Column("parted", "count"),
        Column("liked one is the longer, %", "share"),
    )  # fmt: skip
    table = Table(
        "parting", "Triplets and pairwise votes on the same pairs [95 % interval]", columns, tuple(rows)
    )
    longer_share = rows[-1][-1]  # over all pairs
    rng = np.random.default_rng(run.seed)
    positions = rng.permutation(np.flatnonzero(is_different))[:EXAMPLES].tolist()
    examples = Table(
        "parting-examples",
        "Pairs on which they part, drawn at random",
        (Column("image"), Column("pairs"), Column("human-like"), Column("liked by humans")),
        tuple(
            (
                data.images[position],
                data.pairs[position].kind,
                *(
                    _candidate(data, position, int(winner))
                    for winner in (data.winners[position], data.pairwise_winners[position])
                ),
            )
            for position in positions
        ),
    )
    sentences = [
        "The paper says that pairwise judgments often favour the longer sentence. Where the two part, the liked one "
        f"is the longer in {format_per_cent(longer_share)} of {longer_share.n:,} pairs of different lengths."
    ]
    run.section(
        "parting", "Appendix III: human-like, and what humans like", sentences, tables=[table, examples]
    )


def _words_more_in_liked(data: FiftySentenceData) -> Ints:
    """Return, for each of P pairs, the words of the better candidate minus those of the more human-like one: (P,)."""
    liked, human_like = (
        [len(_candidate(data, position, winner).split()) for position, winner in enumerate(winners.tolist())]
        for winners in (data.pairwise_winners, data.winners)
    )
    return np.array(liked, dtype=np.int64) - np.array(human_like, dtype=np.int64)


def _candidate(data: FiftySentenceData, position: int, winner: int) -> str:
    pair = data.pairs[position]
    return (pair.first if winner == 1 else pair.second).strip()


def _leave_one_out(run: Run, data: FiftySentenceData) -> None:
    """Rank each image's references. Each reference is scored against all others (App. II and IV)."""
    images, lists = list(data.references), list(data.references.values())
    texts = [text for captions in lists for text in captions]
    others = [
        captions[:index] + captions[index + 1 :] for captions in lists for index in range(len(captions))
    ]
    result = score_texts(
        texts,
        others,
        list(data.references.values()),
        metrics=list(METRICS_BY_NAME.values()),
        tokenizer=TOKENIZER,
    )
    starts = np.cumsum([0, *map(len, lists)])
    scores = {
        name: [result.scores[metric].images[start:end] for start, end in pairwise(starts.tolist())]
        for name, metric in METRICS_BY_NAME.items()
    }
    for name, metric in METRICS_BY_NAME.items():
        run.signed(f"leave one out, {name}", result.scores[metric].signature)
    rho = np.array(list(map(spearman, scores["CIDEr"], scores["CIDEr-D"])))
    pooled = spearman(result.scores["cider"].images, result.scores["cider-d"].images)
    run.number(
        "section-8/cider-d/spearman",
        Estimate(float(rho.mean()), n=len(rho)),
        others={"over the sentences of all images at once": pooled},
    )

    word_counts = [np.array([len(text.split()) for text in captions]) for captions in lists]
    rows, first_five, all_texts = [], {}, {}  # the dictionaries have mean numbers of words by metric
    for name, image_scores in scores.items():
        orders = [np.argsort(-scores_of_texts, kind="stable") for scores_of_texts in image_scores]
        ordered_counts = [counts[order] for counts, order in zip(word_counts, orders, strict=True)]
        first_five[name], all_texts[name], last_five = (
            float(np.mean([counts[part].mean() for counts in ordered_counts]))
            for part in (slice(5), slice(None), slice(-5, None))
        )
        with_cider = float(np.mean(list(map(spearman, image_scores, scores["CIDEr"]))))
        rows.append((name, first_five[name], all_texts[name], last_five, with_cider))
    columns = (
        Column("metric"), Column("words, first five", "number"), Column("words, all", "number"),
        Column("words, last five", "number"), Column("rho with CIDEr", "coefficient"),
    )  # fmt: skip
    title = f"References of {len(images)} images, each scored against the 47 others and ranked"
    lengths = Table("leave-one-out", title, columns, tuple(rows))
    sentences = [
        "The paper says that ROUGE favours long sentences, and BLEU without brevity penalty short ones: the first five "
        f"of an image have {first_five['ROUGE-1']:.1f} words by ROUGE-1, "
        f"{first_five['BLEU-1 without brevity penalty']:.1f} by BLEU-1 without brevity penalty and "
        f"{first_five['CIDEr']:.1f} by CIDEr; all have {all_texts['CIDEr']:.1f}."
    ]
    run.section(
        "leave-one-out",
        "Appendices II and IV: leave one out",
        sentences,
        tables=[lengths, _example(data, images[0], scores)],
    )


def _example(data: FiftySentenceData, image: str, scores: dict[str, list[Floats]]) -> Table:
    """Rank the first image's references as in Figure 5: the first and last three by each metric."""
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
    curves = {metric: curve_of_all(data, by_size[metric]) for metric in metrics}
    panels = tuple(
        CurvePanel(
            f"{family} on {DATASET_TITLES[name]}",
            tuple(drawn_curve(label, curves[metric]) for label, metric in versions.items()),
        )
        for family, versions in VERSIONS.items()
    )
    right = {
        metric: (metric_winners(first[0], second[0]) == data.winners)[data.winners != 0]
        for metric, (first, second) in ((metric, by_size[metric][SIZES[-1]]) for metric in metrics)
    }
    images = [image for image, winner in zip(data.images, data.winners, strict=True) if winner]
    rows: list[tuple[Cell, ...]] = []
    full: dict[str, Estimate] = {}
    for versions in VERSIONS.values():
        for label, metric in versions.items():
            estimates = estimates_of(curves[metric])
            p = None
            if metric != "cider":
                p = mcnemar_test(right[metric], right["cider"], clusters={ITEM: images}).best_p
            rows.append((label, *estimates, p))
            full[label] = estimates[-1]
    columns = (
        Column("version"), *(Column(f"{size} references, %", "share") for size in SIZES),
        Column("p against CIDEr", "p"),
    )  # fmt: skip
    title = f"Versions of metrics on {DATASET_TITLES[name]}: accuracy on the decided pairs [95 % interval]"
    note = "p: McNemar's test at 48 references, by image."
    table = Table(f"versions-{name}", title, columns, tuple(rows), note)
    sentence = (
        f"At 48 references CIDEr is right on {format_per_cent(full['CIDEr'])}, without IDF on "
        f"{format_per_cent(full['CIDEr no idf'])}, with the best reference on {format_per_cent(full['CIDEr max'])}, "
        f"with exponential weights on {format_per_cent(full['CIDEr exp'])}. The paper says that leaving out IDF hurts "
        "most, and that the other two are slightly worse."
    )
    drawing = LinePlot(panels, x_axis="references (log scale)", y_axis="accuracy, %")
    figure = "11" if name == PASCAL else "12"
    plot = Plot(
        f"figure-{figure}", f"Versions of metrics on {DATASET_TITLES[name]}", sentence, drawing, table
    )
    run.section(
        f"versions-{name}",
        f"Appendix VIII, Figure {figure}: {DATASET_TITLES[name]}",
        plots=[plot],
        tables=[table],
    )

"""H13, Hodosh et al. 2013, sections 4.2 and 4.3, on Flickr8k.

Experts graded pairs of an image and a caption, and a crowd said of more pairs whether the caption describes the image.
Metrics and the crowd are compared with the experts. The filter by which pairs were given to the crowd is measured, and
so is the rule by which workers count, on simulated answers. Rankings of captions are evaluated by the crowd's answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product

import numpy as np

from common.amounts import json_float
from common.features import of_features
from contrib.packs.estimates import estimate_from, heatmap_plot, share_by_image
from contrib.packs.flickr8k import POOL_CAPTION, Flickr8kSet, JudgedPairs, read_flickr8k
from contrib.packs.rehearsal import rehearse_votes
from contrib.packs.running import Run
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from evaluation.presentation.content import Cell, Column, Estimate, HeatmapPanel, Plot, Table
from evaluation.results.rankings.measures import COMPARED_MEASURES
from quorum.metrics import bleu_pre_matrix, score
from quorum.metrics.text.changes import STEM_THEN_STOP, STOP_THEN_STEM, change_words
from quorum.metrics.text.tokenizers import TOKENIZERS
from quorum.metrics.text.tokens import encode_texts
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.agreement import alpha_of_judgments, krippendorff_alpha
from quorum.statistics.agreement.thresholds import (
    ASCENDING_GRADES,
    KappaGrid,
    ThresholdAgreement,
    kappa_grid,
    threshold_kappa,
)
from quorum.statistics.crossed import ITEM
from quorum.statistics.ranking import (
    MEDIAN_RANK,
    ORDER_COEFFICIENTS,
    JudgedRankings,
    judge_rankings,
    median_rank,
    order_correlation,
    r_precision,
    recall_at_k,
    success_at_k,
)
from quorum.statistics.significance import mcnemar_test, randomization_test, significance_stars

# Thresholds of the mean of three experts' grades: thirds from 2 to 4. The paper prints 8/3 as 2.66, for example.
GRADES = tuple(round(3 * grade) / 3 for grade in ASCENDING_GRADES)
GOOD, FINE = GRADES[2], GRADES[3]  # mean grades of 2.66 and of 3
EPSILON = 1e-9  # allowance for rounding where means are compared with thresholds
RELEVANCE_THRESHOLD = 0.66  # share of yes of the crowd
SCORE_THRESHOLDS = tuple(step / 10 for step in range(1, 11))
RANK_CUTOFFS = (1, 5, 10)
# Thresholds, in per cent, of Bleu-pre: the share of a caption's words that an image's captions have, after words are
# stemmed and stop words removed. By it, H13 filter the pairs of an image and a caption (4.3.2).
FILTER_THRESHOLDS = (25, 26)
CONTROL_THRESHOLD = 0.7  # least share of control items that a worker must get right
# Ends of the ids of the numbers in Table 10, by index of the grade in GRADES (6 is a mean grade of 4) and by measure.
TABLE_10 = {
    (4, "kappa"): "kappa",
    (2, "precision"): "precision-2.66",
    (6, "recall"): "recall-4",
    (5, "recall"): "recall-3.66",
}
REASSIGNMENTS = 10_000  # of randomisation tests
# Sets of an image's references: indices of its captions. The pool of candidates is the caption POOL_CAPTION of each.
# "gold" is the image's caption in the pool. H13 do not say which one is "other", so each of the four is used.
REFERENCE_SETS: dict[str, tuple[tuple[int, ...], ...]] = {
    "five": ((0, 1, 2, 3, 4),), "gold": ((POOL_CAPTION,),), "four": ((0, 1, 3, 4),), "other": ((0,), (1,), (3,), (4,))
}  # fmt: skip
# The thresholds of metric and experts that 4.2.2 prints, by metric and set of references. For one other caption, it
# prints none.
PRINTED_THRESHOLDS = {
    ("bleu", "five"): ((1.0, GRADES[6]), (0.8, GRADES[5])),
    ("rouge", "five"): ((0.4, GRADES[6]), (0.4, GRADES[5]), (0.3, FINE)),
    ("bleu", "gold"): ((0.8, GRADES[6]),),
    ("rouge", "gold"): ((0.9, GRADES[6]),),
    ("bleu", "four"): ((0.7, GRADES[4]),),
    ("rouge", "four"): ((0.2, GOOD),),
}
# How words are changed before Bleu-pre. The filter's order is stems first, then stop words.
WORD_CHANGES = {
    STEM_THEN_STOP: "stems first", STOP_THEN_STEM: "stop words first", "rouge-keep-porter": "stems alone",
    "rouge-drop-none": "stop words alone", "none": "words as they are",
}  # fmt: skip
# Label and metric, by the names in the ids of numbers.
METRICS = {"bleu": ("Bleu", "bleu-h13"), "rouge": ("Rouge", "rouge-h13")}


def analyse(run: Run) -> None:
    data = read_flickr8k(run.data["flickr8k"])
    experts, crowd = data.experts, data.crowd
    answers = sum(map(len, crowd.answers))
    run.note_judgments(
        f"{experts.count:,} pairs with three grades of experts, and {crowd.count:,} pairs with {answers:,} answers of "
        "the crowd; published without names of people and of systems."
    )
    _add_experts(run, experts)
    run.progress(0.1, "comparing metrics with experts")
    _add_kappas(run, data)
    run.progress(0.4, "filtering")
    shares = _shares_of_yes(data)
    _measure_filter(run, data)
    _add_crowd(run, data, shares)
    _add_control_rule(run)
    run.progress(0.6, "ranking captions")
    _add_rankings(run, data, shares)


def _add_experts(run: Run, experts: JudgedPairs) -> None:
    """Compute alpha of the experts' grades, and the shares of pairs by mean grade (4.2.1)."""
    grades = np.array(experts.answers, dtype=np.float64).T  # (3, P): the grades of a pair are a column
    is_own_caption = experts.image == experts.caption
    people, pairs = np.indices(grades.shape).reshape(2, -1)
    alpha = alpha_of_judgments(
        pairs, people, grades.ravel(), "interval", clusters={ITEM: experts.image[pairs]}
    )
    run.add_signature("alpha", alpha.signature)
    variants = [
        *(("all pairs", level, grades) for level in ("interval", "nominal", "ordinal", "ratio")),
        ("without own captions", "interval", grades[:, ~is_own_caption]),
        ("own captions twice", "interval", np.hstack([grades, grades[:, is_own_caption]])),
        *(
            (f"yes from a grade of {min_grade} on", "nominal", (grades >= min_grade).astype(float))
            for min_grade in (4, 3, 2)
        ),
    ]
    alphas = [
        (name, level, krippendorff_alpha(variant_grades, level)) for name, level, variant_grades in variants
    ]
    other_values = {f"{name}, {level} level": value for name, level, value in alphas[1:]}
    run.number("alpha", estimate_from(alpha), others=other_values)
    level_columns = (Column("grades"), Column("level"), Column("alpha", "coefficient"))
    counts = [(grade, int((experts.means >= grade - EPSILON).sum())) for grade in reversed(GRADES)]
    shares = tuple((grade, count, count / experts.count) for grade, count in counts)
    columns = (Column("mean grade", "number"), Column("pairs", "count"), Column("share, %", "share"))
    run.add_section(
        "experts",
        "Expert grades (4.2.1)",
        [
            "The grades of a pair are sorted in the release, so that alpha is the agreement that can be computed. "
            "Cumulative shares are of all judged pairs, since the systems that returned them are not named."
        ],
        tables=[
            Table("alpha", "Krippendorff's alpha", level_columns, tuple(alphas)),
            Table("grades", "Pairs with a mean grade at or above a threshold", columns, shares),
        ],
    )


def _add_kappas(run: Run, data: Flickr8kSet) -> None:
    """Compute kappa on a grid of thresholds, for each set of references (Tables 8 and 9)."""
    experts = data.experts
    panels: list[HeatmapPanel] = []
    rows: list[tuple[Cell, ...]] = []
    for (metric_id, (name, metric)), reference_set in product(METRICS.items(), REFERENCE_SETS):
        # A number is the mean over the captions that can be the references, with the least and the greatest kappa.
        kappas, other_values = [], {}
        for caption_indices in REFERENCE_SETS[reference_set]:
            label = f"caption {caption_indices[0]}" if reference_set == "other" else reference_set
            scores, signature = _scores(data, metric, caption_indices)
            run.add_signature(f"{name}, {label}", signature)
            # Intervals are not shown, so one resample is enough.
            grid = kappa_grid(scores, experts.means, SCORE_THRESHOLDS, GRADES, resamples=1, seed=run.seed)
            panels.append(_kappa_panel(f"{name}, {label}", SCORE_THRESHOLDS, grid))
            cell = _best_cell(grid)
            printed_thresholds = PRINTED_THRESHOLDS.get((metric_id, reference_set), ())
            thresholds = dict.fromkeys((*printed_thresholds, (cell.first_at_least, cell.second_at_least)))
            estimates = [
                (score_threshold, grade_threshold, _kappa(experts, scores, score_threshold, grade_threshold))
                for score_threshold, grade_threshold in thresholds
            ]
            rows += [
                (name, label, kappa, score_threshold, grade_threshold)
                for score_threshold, grade_threshold, kappa in estimates
            ]
            # The first thresholds give the number, and the others are other conventions.
            (_, _, first_kappa), *other_estimates = estimates
            kappas.append(math.nan if first_kappa.value is None else first_kappa.value)
            for score_threshold, grade_threshold, kappa in other_estimates:
                convention = f"from {score_threshold:g} on against grades from {grade_threshold:.2f} on"
                other_values[convention] = kappa.value
        mean = Estimate(float(np.mean(kappas)), min(kappas), max(kappas))
        run.number(f"kappa/{metric_id}/{reference_set}", mean, others=other_values)
    columns = (
        *(Column("metric"), Column("references"), Column("kappa", "coefficient")),
        *(Column("metric at least", "score"), Column("experts at least", "number")),
    )
    best_table = Table(
        "kappas-at", "Kappa at the thresholds that are printed, or at the best", columns, tuple(rows)
    )
    run.add_section(
        "kappas",
        "Metrics against experts (4.2.2, Tables 8 and 9)",
        [
            "References are all five captions, the candidate's own, the four others, or one other. Thresholds are "
            "those that the paper prints; for one other caption it prints none, and the best is taken, with grades of "
            "2.66 or more as everywhere in the paper."
        ],
        plots=[_kappa_plot("kappas", "metric at least", panels)],
        tables=[best_table],
    )


def _kappa(experts: JudgedPairs, scores: Floats, score_threshold: float, grade_threshold: float) -> Estimate:
    """Return kappa between a metric and the experts' means, where both are cut into yes and no at a threshold."""
    agreement = threshold_kappa(
        scores, experts.means, score_threshold, grade_threshold, clusters=experts.clusters
    )
    return estimate_from(agreement.kappa)


def _scores(data: Flickr8kSet, metric: str, caption_indices: Sequence[int]) -> tuple[Floats, str]:
    """Return a metric's scores of the experts' pairs, by the captions with these indices, and its signature."""
    references, pool = data.references(caption_indices), data.pool
    result = score(
        [pool[caption] for caption in data.experts.caption.tolist()],
        [references[image] for image in data.experts.image.tolist()],
        [metric],
    ).scores[metric]
    return result.images, result.signature


def _best_cell(grid: KappaGrid) -> ThresholdAgreement:
    """Return the cell of the grid with the greatest kappa, among those whose grade threshold is 2.66 or more."""
    cells = [
        cell
        for cell in grid.cells
        if cell.second_at_least > GOOD - EPSILON and not math.isnan(cell.kappa.value)
    ]
    return max(cells, key=lambda cell: cell.kappa.value)


def _kappa_panel(title: str, thresholds: Sequence[float], grid: KappaGrid) -> HeatmapPanel:
    """Return a panel whose rows are ``thresholds`` of a score, and whose columns are mean grades."""
    kappas = tuple(tuple(map(json_float, row)) for row in grid.values().tolist())
    row_labels = tuple(f"{threshold:.2g}" for threshold in thresholds)
    return HeatmapPanel(title, row_labels, tuple(f"{grade:.2f}" for grade in GRADES), kappas)


def _kappa_plot(name: str, row_axis: str, panels: Sequence[HeatmapPanel]) -> Plot:
    return heatmap_plot(
        name,
        "Kappa by thresholds",
        "Cohen's kappa between two scores that are cut into yes and no at a threshold each.",
        panels,
        (row_axis, "mean grade at least"),
        [("panel", "text"), (row_axis, "text"), ("experts at least", "text"), ("kappa", "coefficient")],
    )


def _shares_of_yes(data: Flickr8kSet) -> Floats:
    """Return the crowd's shares of yes by image and caption, as a matrix; nan for pairs that were not judged."""
    shares = np.full((len(data.images), len(data.images)), np.nan)
    shares[data.crowd.image, data.crowd.caption] = data.crowd.means
    return shares


def _measure_filter(run: Run, data: Flickr8kSet) -> None:
    """Measure how many pairs the Bleu-pre filter drops, and how many good ones among them (4.3.2)."""
    experts, crowd = data.experts, data.crowd
    estimates = {change: _filter_estimates(data, change) for change in WORD_CHANGES}
    rows: list[tuple[Cell, ...]] = []
    for change, per_cent in product(WORD_CHANGES, FILTER_THRESHOLDS):
        ids = [f"filter/{per_cent}/{name}" for name in ("pairs", "lost-2.66", "lost-3")]
        rows.append(
            (WORD_CHANGES[change], per_cent / 100, *(estimates[change][number_id] for number_id in ids))
        )
    for number_id, estimate in estimates[STEM_THEN_STOP].items():
        other_value = estimates[STOP_THEN_STEM][number_id].value
        run.number(number_id, estimate, others={WORD_CHANGES[STOP_THEN_STEM]: other_value})
    bleu = _bleu_matrix(data)
    expert_pairs, is_good = (experts.image, experts.caption), experts.means >= GOOD - EPSILON
    # Thresholds of .330 and .333, of which the second leaves out a third itself.
    for name, passes in (("330", bleu >= 0.33), ("333", bleu > 1 / 3 + EPSILON)):
        run.number(f"bleu/{name}/pairs", _share(~passes))
        run.number(f"bleu/{name}/lost", share_by_image(~passes[expert_pairs], experts.clusters, is_good))
    run.add_table_section(
        "filter",
        "The filter by Bleu-pre (4.3.2)",
        "The paper does not print the order in which stems and stop words are removed: stems go first here, for "
        f"every number. The release has {crowd.count:,} judged pairs, the paper counts 30,781 + 10,374 = 41,155.",
        "Pairs left out, and good pairs lost",
        [
            ("order", "text"), ("at least", "number"), ("left out, %", "share"),
            ("lost of 2.66 or more, %", "share"), ("lost of 3 or more, %", "share"),
        ],
        rows,
    )  # fmt: skip


def _filter_estimates(data: Flickr8kSet, change: str) -> dict[str, Estimate]:
    """Return figures of the Bleu-pre filter, by ids of numbers.

    Args:
        change: how words are changed before Bleu-pre: a key of WORD_CHANGES.
    """
    experts, crowd = data.experts, data.crowd
    # Bleu-pre of each image (row) and caption of the pool (column) is the quotient of these counts. Both are whole, so
    # that the comparison with a threshold is exact.
    common_counts, word_counts = bleu_pre_matrix(data.pool, data.references(range(5)), change)
    estimates = {"nonzero/bleu-1": _share(common_counts > 0)}
    if change in (STEM_THEN_STOP, STOP_THEN_STEM):
        estimates["nonzero/bleu-2"] = _share(_have_common_bigram(data, change))
    for per_cent in FILTER_THRESHOLDS:
        # A pair at exactly the threshold is kept.
        is_dropped = ~((100 * common_counts >= per_cent * word_counts) & (word_counts > 0))
        estimates[f"filter/{per_cent}/pairs"] = _share(is_dropped)
        for name, grade in (("2.66", GOOD), ("3", FINE)):
            estimates[f"filter/{per_cent}/lost-{name}"] = share_by_image(
                is_dropped[experts.image, experts.caption],
                experts.clusters,
                is_counted=experts.means >= grade - EPSILON,
            )
        if per_cent == FILTER_THRESHOLDS[0]:  # the threshold of the pairs that the crowd judged
            is_unlikely = is_dropped[crowd.image, crowd.caption]
            is_all_no = np.array([sum(answers) == 0 for answers in crowd.answers])
            estimates["judged/unlikely"] = Estimate(float(is_unlikely.sum()))
            estimates["judged/likely"] = Estimate(float((~is_unlikely).sum()))
            estimates["unlikely/all-no"] = share_by_image(is_all_no, crowd.clusters, is_unlikely)
            estimates["unlikely/most-no"] = share_by_image(crowd.means < 0.5, crowd.clusters, is_unlikely)
    return estimates


def _bleu_matrix(data: Flickr8kSet) -> Floats:
    """Return Bleu of each caption of the pool (columns) with the references of each image (rows)."""
    references, pool = data.references(range(5)), data.pool
    result = score(pool * len(pool), [texts for texts in references for _ in pool], ["bleu-h13"])
    return result.scores["bleu-h13"].images.reshape(len(pool), len(pool))


def _have_common_bigram(data: Flickr8kSet, change: str) -> Flags:
    """Return whether the captions of an image (rows) and a caption of the pool (columns) have a bigram in common."""
    texts = [text for captions in data.captions for text in captions]
    # The words are those of Bleu-pre: ROUGE's.
    table = change_words(encode_texts(texts, TOKENIZERS["rouge"]), change)
    # The tokens of all texts are one array, which is cut at the starts of the texts.
    bigrams = [set(pairwise(tokens.tolist())) for tokens in np.split(table.tokens, table.starts[1:-1])]
    # Each image has equally many captions, one after the other.
    caption_count = len(data.captions[0])
    image_bigrams = [
        set().union(*bigrams[start : start + caption_count])
        for start in range(0, len(bigrams), caption_count)
    ]
    pool_bigrams = bigrams[POOL_CAPTION::caption_count]
    return np.array([[not caption.isdisjoint(image) for caption in pool_bigrams] for image in image_bigrams])


def _add_crowd(run: Run, data: Flickr8kSet, shares: Floats) -> None:
    """Compare the crowd's ``_shares_of_yes`` with the experts, and count the relevant pairs (4.3.2, Table 10)."""
    experts = data.experts
    crowd_shares = shares[experts.image, experts.caption]
    is_own_caption = experts.image == experts.caption
    shares_with_own = np.where(is_own_caption, 1.0, crowd_shares)
    all_pairs = np.ones(experts.count, dtype=np.bool_)
    # By convention, the shares of yes, and whether each pair counts.
    conventions = {
        "own captions relevant": (shares_with_own, all_pairs),
        "own captions as the crowd judged them": (crowd_shares, all_pairs),
        "own captions relevant, only pairs that the crowd saw": (
            shares_with_own,
            ~np.isnan(shares_with_own),
        ),
    }
    rows: list[tuple[Cell, ...]] = []
    # By convention, the estimates by index of the grade and by measure.
    estimates_by_convention: dict[str, dict[tuple[int, str], Estimate]] = {}
    for convention, (yes_shares, is_counted) in conventions.items():
        # Pairs that the crowd never saw are not relevant.
        filled_shares, means = np.nan_to_num(yes_shares, nan=0.0)[is_counted], experts.means[is_counted]
        estimates = estimates_by_convention[convention] = {}
        for index, grade in reversed(list(enumerate(GRADES))):
            agreement = threshold_kappa(
                filled_shares, means, RELEVANCE_THRESHOLD, grade, clusters={ITEM: experts.image[is_counted]}
            )
            measures = ("kappa", "precision", "recall", "f1")
            cells = {measure: estimate_from(getattr(agreement, measure)) for measure in measures}
            rows.append((convention, grade, *cells.values()))
            estimates |= {(index, measure): cell for measure, cell in cells.items()}
    printed_estimates = estimates_by_convention.pop("own captions relevant")
    for grade_and_measure, id_end in TABLE_10.items():
        other_values = {
            name: estimates[grade_and_measure].value for name, estimates in estimates_by_convention.items()
        }
        run.number(f"crowd/{id_end}", printed_estimates[grade_and_measure], others=other_values)
    crowd_thresholds = (1 / 3, RELEVANCE_THRESHOLD, 1.0)
    filled_shares = np.nan_to_num(shares_with_own, nan=0.0)
    grid = kappa_grid(filled_shares, experts.means, crowd_thresholds, GRADES, resamples=1, seed=run.seed)
    coefficients = ((name, "coefficient") for name in ("kappa", "precision", "recall", "F1"))
    run.add_table_section(
        "crowd",
        "The crowd against experts (4.3.2, Table 10)",
        "A pair is relevant from a share of .66 of yes on, and so is an image's own caption, as in the paper's "
        "counts. What the crowd never saw is not relevant. All numbers are by this convention; the table shows "
        "others too.",
        "Relevance by the crowd against the experts' grades",
        [("convention", "text"), ("experts at least", "number"), *coefficients],
        rows,
        plots=[_kappa_plot("crowd", "crowd at least", [_kappa_panel("crowd", crowd_thresholds, grid)])],
    )
    _count_relevant_pairs(run, shares)


def _count_relevant_pairs(run: Run, shares: Floats) -> None:
    """Record how many pairs are relevant by the crowd, and how many images and captions have one, two or more."""
    is_relevant = np.nan_to_num(shares, nan=0.0) >= RELEVANCE_THRESHOLD
    # On the diagonal are the images' own captions.
    np.fill_diagonal(is_relevant, False)
    run.number("relevant/added", Estimate(int(is_relevant.sum())))
    np.fill_diagonal(is_relevant, True)
    for noun, axis in (("captions", 0), ("images", 1)):
        relevant_counts = is_relevant.sum(axis=axis)
        for number, name in enumerate(("one", "two", "three"), start=1):
            run.number(f"relevant/{noun}/{name}", Estimate(int((relevant_counts == number).sum())))
        run.number(f"relevant/{noun}/four", Estimate(int((relevant_counts >= 4).sum())))


def _add_control_rule(run: Run) -> None:
    """Apply the rule of 70 % right control items to a simulated crowd, since the published data do not name workers."""
    rng = np.random.default_rng(run.seed)
    pairs, controls, votes, workers = 3000, 1000, 3, 40
    is_relevant = (rng.random(pairs + controls) < 0.1).astype(np.int64)  # pairs first, then control items
    judgments = rehearse_votes(
        is_relevant, (0, 1), votes, crowd=RehearsalCrowd(workers=workers, spammers=0.2, seed=run.seed)
    )
    is_control = judgments.unit >= pairs
    is_right = judgments.value == is_relevant[judgments.unit]
    control_workers = judgments.worker[is_control]
    seen_counts = np.bincount(control_workers, minlength=workers)
    right_counts = np.bincount(control_workers, weights=is_right[is_control], minlength=workers)
    # Workers who saw no control item are used.
    is_used = (seen_counts == 0) | (right_counts / np.maximum(seen_counts, 1) >= CONTROL_THRESHOLD)
    rows: list[tuple[Cell, ...]] = []
    for name, is_counted in (
        ("all workers", ~is_control),
        ("rule of 70 %", ~is_control & is_used[judgments.worker]),
    ):
        unit, answer = judgments.unit[is_counted], judgments.value[is_counted]
        yes_counts = np.bincount(unit, weights=answer, minlength=pairs)[:pairs]
        answer_counts = np.bincount(unit, minlength=pairs)[:pairs]
        has_answers = answer_counts > 0
        agreement = threshold_kappa(
            yes_counts[has_answers] / answer_counts[has_answers],
            is_relevant[:pairs][has_answers],
            RELEVANCE_THRESHOLD,
            1.0,
            seed=run.seed,
        )
        kappa = estimate_from(agreement.kappa)
        rows.append((name, int(has_answers.sum()), kappa, agreement.precision.value, agreement.recall.value))
    coefficients = ((name, "coefficient") for name in ("kappa", "precision", "recall"))
    run.add_table_section(
        "controls",
        "The control rule, on simulated answers",
        f"The release names no workers, so that the rule is shown on a rehearsed crowd: {pairs:,} pairs, a tenth "
        f"of them relevant, with {votes} votes each of {workers} workers, of whom a fifth answer at random; "
        f"{int((~is_used).sum())} fall below 70 % of {controls:,} check questions. Simulated answers say how the rule "
        "works, and nothing about people.",
        "Relevance against the simulated truth",
        [("judgments used", "text"), ("pairs", "count"), *coefficients],
        rows,
    )


def _add_rankings(run: Run, data: Flickr8kSet, shares: Floats) -> None:
    """Evaluate the rankings of systems that know an image only by its other captions (4.3).

    In annotation, a system ranks the captions for each image, and in search the images for each caption. ``shares`` are
    a result of ``_shares_of_yes``.
    """
    systems = of_features("text_systems")
    if not systems:
        return
    affinities = _affinities(data, systems, run.seed)
    baseline = list(affinities)[-1]  # the last system, with which the others are compared
    for task in ("annotation", "search"):
        run.progress(0.7 if task == "annotation" else 0.85, f"judging rankings ({task})")
        rankings = {
            name: np.argsort(-(affinity if task == "annotation" else affinity.T), axis=1, kind="stable")
            for name, affinity in affinities.items()
        }
        relevance = _relevance_by_query(shares if task == "annotation" else shares.T)
        originals = [[index] for index in range(len(relevance))]  # the one item that belongs to the query
        by_crowd = {name: judge_rankings(order.tolist(), relevance) for name, order in rankings.items()}
        by_original = {name: judge_rankings(order.tolist(), originals) for name, order in rankings.items()}
        run.add_section(
            f"rankings-{task}",
            f"Rankings of captions made from captions, {task} (4.3)",
            [
                "An image is what its four other captions say. Stars are against the last system (McNemar for R@k and "
                f"S@k, randomisation with {REASSIGNMENTS:,} reassignments for medians and means): one for p up to .1, "
                "two for .05, three for .01. Of S@k and R-precision, what the crowd never saw is not relevant."
            ],
            tables=[
                _ranking_table(f"original-{task}", by_original, baseline, run.seed, original=True),
                _ranking_table(f"relevant-{task}", by_crowd, baseline, run.seed, original=False),
            ],
        )
        _add_orders(run, task, by_crowd, by_original)
        if task == "annotation":
            _add_first_captions(run, data, rankings, baseline)


def _relevance_by_query(shares: Floats) -> list[dict[int, float]]:
    """Return, for each query (row), the relevance of the items (columns) that the crowd judged: 1 or 0, by index."""
    return [
        {
            index: float(share >= RELEVANCE_THRESHOLD)
            for index, share in enumerate(row)
            if not math.isnan(share)
        }
        for row in shares.tolist()
    ]


def _affinities(
    data: Flickr8kSet, systems: Sequence[Callable[..., dict[str, Floats]]], seed: int
) -> dict[str, Floats]:
    """Return how well each caption (columns) fits each image (rows), by name of the system.

    ``systems`` are functions that optional apps supply; each returns such matrices, of one or several systems.
    """
    images = [
        [text for position, text in enumerate(captions) if position != POOL_CAPTION]
        for captions in data.captions
    ]
    affinities = {"random": np.random.default_rng(seed).random((len(images), len(data.pool)))}
    for compute_affinities in systems:
        affinities |= compute_affinities(images, data.pool, data.training_captions)
    return affinities


def _add_orders(
    run: Run, task: str, by_crowd: Mapping[str, JudgedRankings], by_original: Mapping[str, JudgedRankings]
) -> None:
    """Correlate the order of systems by people with their order by the original item, by rho and tau-b (Table 7).

    ``by_crowd`` and ``by_original`` are the evaluated rankings by system.
    """
    values_by_measure = {
        **{f"S@{k}": [success_at_k(lists, k=k) for lists in by_crowd.values()] for k in RANK_CUTOFFS},
        "R-precision": [r_precision(lists) for lists in by_crowd.values()],
        **{f"R@{k}": [recall_at_k(lists, k=k) for lists in by_original.values()] for k in RANK_CUTOFFS},
        MEDIAN_RANK: [median_rank(lists) for lists in by_original.values()],
    }
    rows: list[tuple[Cell, ...]] = []
    for people, automatic in COMPARED_MEASURES:
        first, second = values_by_measure[people], values_by_measure[automatic]
        coefficients = (order_correlation(first, second, name).value for name in ORDER_COEFFICIENTS)
        rows.append((people, automatic, *map(json_float, coefficients)))
    run.add_table_section(
        f"orders-{task}",
        f"Orders of systems by people and by the original item, {task} (4.3.5, Table 7)",
        f"Of the {len(by_crowd)} rankings above, not of H13's 30 systems. H13 find that orders by R@1 agree little "
        "with those by S@1 and R-precision, and orders by R@5, R@10 and the median rank well. No interval is given: "
        "orders of a few systems move in steps, and noise in the measures pulls rho towards zero.",
        "Rank correlations over systems",
        [("people", "text"), ("original", "text"), ("rho", "coefficient"), ("tau-b", "coefficient")],
        rows,
    )


def _ranking_table(
    name: str, lists: dict[str, JudgedRankings], baseline: str, seed: int, *, original: bool
) -> Table:
    """Return a table of the systems' rankings, with stars for differences from ``baseline``.

    Args:
        original: whether the table has R@k and the median rank of the original item, or else S@k and R-precision.
    """
    measure_at_k, last_measure = (recall_at_k, median_rank) if original else (success_at_k, r_precision)
    figures_at_k = {
        system: [measure_at_k(ranks, k=k) for k in RANK_CUTOFFS] for system, ranks in lists.items()
    }
    last_figures = {system: last_measure(ranks) for system, ranks in lists.items()}
    rows: list[tuple[str, ...]] = []
    for system in lists:
        cells = []
        for figure, baseline_figure in zip(figures_at_k[system], figures_at_k[baseline], strict=True):
            is_defined = ~np.isnan(figure.per_query)
            stars = ""
            if system != baseline:
                test = mcnemar_test(figure.per_query[is_defined], baseline_figure.per_query[is_defined])
                stars = significance_stars(test.exact_p)
            cells.append(f"{100 * figure.value:.1f}{stars}")
        last_figure, baseline_last_figure = last_figures[system], last_figures[baseline]
        is_defined = ~np.isnan(last_figure.per_query)
        stars = ""
        if system != baseline:
            p = randomization_test(
                last_figure.per_query[is_defined],
                baseline_last_figure.per_query[is_defined],
                "median" if original else "mean",
                reassignments=REASSIGNMENTS,
                seed=seed,
            ).p
            stars = significance_stars(p)
        last_value = last_figure.value if original else 100 * last_figure.value
        rows.append((system, *cells, f"{last_value:.1f}{stars}"))
    letter = "R" if original else "S"
    last_title = "median rank" if original else "R-precision, %"
    columns = (Column("system"), *(Column(f"{letter}@{k}, %") for k in RANK_CUTOFFS), Column(last_title))
    return Table(name, "Rank of the original item" if original else "Relevant items", columns, tuple(rows))


def _add_first_captions(run: Run, data: Flickr8kSet, rankings: dict[str, Ints], baseline: str) -> None:
    """Tabulate cumulative shares of the grades of first captions, with stars for McNemar's test (Table 1).

    Args:
        rankings: by system, (I, I) for each image (row), the indices of the captions of the pool, best first.
        baseline: the system with which the others are compared.
    """
    grade_matrix = np.full((len(data.images), len(data.images)), np.nan)
    grade_matrix[data.experts.image, data.experts.caption] = data.experts.means
    images = np.arange(len(data.images))
    grades_by_system = {system: grade_matrix[images, order[:, 0]] for system, order in rankings.items()}
    rows: list[tuple[Cell, ...]] = []
    baseline_grades = grades_by_system[baseline]
    for system, grades in grades_by_system.items():
        is_graded = ~np.isnan(grades)
        if not is_graded.any():
            rows.append((system, "0", *("–" for _ in GRADES), "–"))
            continue
        is_graded_for_both = is_graded & ~np.isnan(baseline_grades)
        cells = []
        for threshold in reversed(GRADES):
            reaches_threshold = grades >= threshold - EPSILON
            stars = ""
            if system != baseline and is_graded_for_both.any():
                baseline_reaches_threshold = baseline_grades >= threshold - EPSILON
                test = mcnemar_test(
                    reaches_threshold[is_graded_for_both].astype(int),
                    baseline_reaches_threshold[is_graded_for_both].astype(int),
                )
                stars = significance_stars(test.exact_p)
            cells.append(f"{100 * reaches_threshold[is_graded].mean():.1f}{stars}")
        rows.append((system, f"{int(is_graded.sum()):,}", *cells, f"{grades[is_graded].mean():.2f}"))
    headings = ("system", "graded", *(f"{grade:.2f}, %" for grade in reversed(GRADES)), "mean")
    run.add_table_section(
        "first-captions",
        "Grades of first captions (4.2.1, Tables 1 and 2)",
        "Of each system those first captions that the experts happened to grade for H13's systems; stars compare "
        "the images that are graded for both. So these shares are of few and of easy images, and no estimate for "
        "all.",
        "Cumulative shares of mean grades",
        [(heading, "text") for heading in headings],
        rows,
    )


def _share(flags: Flags) -> Estimate:
    return Estimate(float(flags.mean()), n=flags.size)

"""Where a score comes from: every n-gram of a candidate with what it adds, as `scoring.score` counts it.

Figures that are sums are taken apart as such (CIDEr, ROUGE-n, the Bleu-pre filter). BLEU is a geometric mean, which
has no such parts: each order gets an equal share of the score, and an order's matches split it evenly. ROUGE-L is
split evenly over the words of the longest common subsequence, METEOR over its stages by the weight of their matches.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from evaluation.metrics import bleu, meteor, rouge
from evaluation.metrics.comparison import Comparison, View
from evaluation.metrics.documents import Documents
from evaluation.metrics.errors import InvalidInput, UnknownName
from evaluation.metrics.explained_cider import explain_cider
from evaluation.metrics.explanation import (
    Beside,
    Explanation,
    Factor,
    Part,
    Token,
    grams_of,
    holders,
    tokens_of,
)
from evaluation.metrics.registry import METRICS, Metric, OptionValue, Settings, metric_named
from evaluation.metrics.text import tokenizer_named

EXPLAINED = tuple(
    name
    for name in METRICS
    if name.startswith(("bleu-", "cider")) or name in ("rouge-1", "rouge-2", "rouge-l", "meteor")
)


def view_of(metric: str, *, tokenizer: str = "ptb", **options: OptionValue) -> View:
    """The words that a metric counts: the view that its `Documents` have to be made with."""
    declared = metric_named(metric)
    return View(
        tokenizer_named(declared.tokenizer or tokenizer), declared.change_under(declared.settings(options))
    )


def explain(
    candidate: str,
    references: Sequence[str],
    metric: str,
    *,
    tokenizer: str = "ptb",
    documents: Documents | Sequence[Sequence[str]] | None = None,
    **options: OptionValue,
) -> Explanation:
    """Take the score of one candidate apart; the parts sum to what `score` gives for it.

    `documents` is the document corpus of the metrics that weigh by documents: lists of texts, or a `Documents` made
    once for many explanations; left out, the references are the only document, and every n-gram weighs 0.

    Raises UnknownName for an unknown metric, tokenizer or option, InvalidInput for texts that cannot be used and for
    metrics or options that cannot be taken apart.
    """
    declared = metric_named(metric)
    if metric not in EXPLAINED:
        raise InvalidInput(f"metric {metric!r} cannot be explained, expected one of {', '.join(EXPLAINED)}")
    unknown = options.keys() - declared.options.keys()
    if unknown:
        raise UnknownName(f"option of {metric}", min(unknown), sorted(declared.options))
    settings = declared.settings(options)
    view = view_of(metric, tokenizer=tokenizer, **options)
    comparison = Comparison.of([candidate], [references])
    if metric.startswith("cider"):
        if not isinstance(documents, Documents):
            documents = Documents.of([list(references)] if documents is None else documents, view)
        elif documents.view != view:
            raise InvalidInput(f"documents were cut for other words than {metric} counts")
        found = explain_cider(declared, settings, *_texts(comparison, view), documents)
    elif metric in ("bleu-h13", "bleu-pre"):
        found = _precision(declared, settings, comparison, view)
    elif metric.startswith("bleu-"):
        found = _bleu(declared, settings, comparison, view)
    elif metric == "rouge-l":
        found = _rouge_l(declared, settings, comparison, view)
    elif metric == "meteor":
        found = _meteor(declared, settings, candidate, references, view)
    else:
        found = _rouge_n(declared, settings, comparison, view)
    return found


def _texts(comparison: Comparison, view: View) -> tuple[list[str], list[list[str]]]:
    """The words of the candidate and of each reference."""
    words = comparison.words(view)
    bounds = words.starts.tolist()
    texts = [
        [words.vocabulary[number] for number in words.words[begin:end].tolist()]
        for begin, end in pairwise(bounds)
    ]
    return texts[0], texts[1:]


def _explanation(
    metric: Metric,
    settings: Settings,
    view: View,
    score: float,
    words: Sequence[str],
    parts: Sequence[Part],
    factors: Sequence[Factor],
    references: Sequence[Beside],
    said: str,
) -> Explanation:
    return Explanation(
        metric=metric.name,
        tokenizer=view.tokenizer.name,
        settings=dict(settings),
        score=score,
        parts=tuple(parts),
        factors=tuple(factors),
        references=tuple(references),
        tokens=() if metric.name == "rouge-l" else tokens_of(words, parts),
        words=said,
    )


def _bleu(metric: Metric, settings: Settings, comparison: Comparison, view: View) -> Explanation:
    orders = int(metric.name.removeprefix("bleu-"))
    statistics = bleu.bleu_statistics(comparison, view)
    score = float(bleu.bleu_scores(statistics, str(settings["smoothing"]))[0, orders - 1])
    ours, theirs = _texts(comparison, view)
    length, closest = int(statistics.length[0]), int(statistics.reference_length[0])
    parts: list[Part] = []
    factors: list[Factor] = []
    for order in range(1, orders + 1):
        correct, guessed = int(statistics.correct[0, order - 1]), int(statistics.guessed[0, order - 1])
        counted = [grams_of(reference, order) for reference in theirs]
        for gram, count in grams_of(ours, order).items():
            most = max(one[gram] for one in counted)
            matched = min(count, most)
            parts.append(
                Part(
                    " ".join(gram),
                    order,
                    count,
                    matched,
                    holders(gram, counted),
                    score / orders * matched / correct if correct else 0.0,
                    note=f"clipped: no reference holds it more than {most} times"
                    if matched < count and most
                    else "",
                )
            )
        if not correct:
            note = f"no match of order {order}; the smoothing leaves this share of a small score"
            parts.append(Part(f"smoothing of order {order}", 0, 0, 0.0, (), score / orders, note=note))
        factors.append(
            Factor(
                f"precision {order}",
                correct / guessed if guessed else 0.0,
                f"{correct} of {guessed} n-grams of {order} {'word' if order == 1 else 'words'} are matched",
            )
        )
    penalty = float(np.exp(1 - closest / length)) if 0 < length < closest else float(length >= closest)
    said = f"{length} words against {closest} of the reference nearest in length"
    factors.append(Factor("brevity penalty", penalty, said))
    nearest = next((number for number, one in enumerate(theirs) if len(one) == closest), 0)
    beside = [
        Beside(text, len(one), None, "nearest in length" if number == nearest else "")
        for number, (text, one) in enumerate(zip(comparison.texts[1:], theirs, strict=True))
    ]
    sentence = (
        f"The geometric mean of {orders} precision{'s' if orders > 1 else ''}, times the brevity penalty; every order "
        "has an equal share, split over its matches."
    )
    return _explanation(metric, settings, view, score, ours, parts, factors, beside, sentence)


def _precision(metric: Metric, settings: Settings, comparison: Comparison, view: View) -> Explanation:
    ours, theirs = _texts(comparison, view)
    counted = [grams_of(reference, 1) for reference in theirs]
    parts, hits = [], 0
    for gram, count in grams_of(ours, 1).items():
        matched = min(count, max(one[gram] for one in counted))
        hits += matched
        parts.append(Part(gram[0], 1, count, matched, holders(gram, counted), matched / len(ours)))
    score = hits / len(ours) if ours else 0.0
    factors = [Factor("precision", score, f"{hits} of {len(ours)} words are matched")]
    beside = [Beside(text, len(one)) for text, one in zip(comparison.texts[1:], theirs, strict=True)]
    said = "The share of the candidate's words that a reference holds; there is no brevity penalty."
    return _explanation(metric, settings, view, score, ours, parts, factors, beside, said)


def _rouge_n(metric: Metric, settings: Settings, comparison: Comparison, view: View) -> Explanation:
    if settings["multi"] != "average" or settings["jackknife"] != "no":
        raise InvalidInput(f"{metric.name} can be explained with multi:average and jackknife:no alone")
    order = int(metric.name.removeprefix("rouge-"))
    ours, theirs = _texts(comparison, view)
    mine = grams_of(ours, order)
    counted = [grams_of(reference, order) for reference in theirs]
    hits = {gram: sum(min(count, one[gram]) for one in counted) for gram, count in mine.items()}
    total, given = sum(one.total() for one in counted), mine.total() * len(theirs)
    alpha = float(settings["alpha"])
    # F = P R / ((1 - alpha) P + alpha R) with P = hits / given and R = hits / total is linear in the hits.
    below = {"recall": total, "precision": given, "f": (1 - alpha) * total + alpha * given}[
        str(settings["measure"])
    ]
    all_hits = sum(hits.values())
    score = all_hits / below if below and all_hits else 0.0
    parts = [
        Part(" ".join(gram), order, count, hits[gram] / len(theirs), holders(gram, counted),
             hits[gram] / below if below else 0.0)
        for gram, count in mine.items()
    ]  # fmt: skip
    factors = [
        Factor("recall", all_hits / total if total else 0.0, f"{all_hits} of {total} n-grams of the references"),
        Factor("precision", all_hits / given if given else 0.0,
               f"{all_hits} of {given}: the candidate's n-grams, once for each reference"),
    ]  # fmt: skip
    beside = [
        Beside(text, len(one), sum((mine & grams).values()) / below if below else 0.0)
        for text, one, grams in zip(comparison.texts[1:], theirs, counted, strict=True)
    ]
    said = "Matches and totals are summed over the references; each match adds the same."
    return _explanation(metric, settings, view, score, ours, parts, factors, beside, said)


def _rouge_l(metric: Metric, settings: Settings, comparison: Comparison, view: View) -> Explanation:
    score = float(rouge.rouge_l_scores(comparison, view, float(settings["beta"]))[0])
    ours, theirs = _texts(comparison, view)
    common = [_common(ours, reference) for reference in theirs]
    lengths = [
        1.0 if not ours and not one else float(len(found)) for one, found in zip(theirs, common, strict=True)
    ]
    precision = [found / max(len(ours), 1) for found in lengths]
    recall = [found / max(len(one), 1) for found, one in zip(lengths, theirs, strict=True)]
    first, second = precision.index(max(precision)), recall.index(max(recall))
    places = common[first]
    shares = [0.0] * len(ours)
    for place in places:
        shares[place] = score / len(places)
    parts = [
        Part(word, 1, 1, float(bool(share)), (first,) if share else (), share)
        for word, share in zip(ours, shares, strict=True)
    ]
    if not places:
        parts.append(Part("no common word", 0, 0, 0.0, (), score))
    factors = [
        Factor(
            "precision", precision[first], f"{len(places)} of {len(ours)} words, with reference {first + 1}"
        ),
        Factor(
            "recall",
            recall[second],
            f"{len(common[second])} of {len(theirs[second])} words, of reference {second + 1}",
        ),
    ]
    chosen = {second: "best recall"} | {
        first: "best precision" if first != second else "best precision and recall"
    }
    beside = [
        Beside(text, len(one), None, chosen.get(number, ""))
        for number, (text, one) in enumerate(zip(comparison.texts[1:], theirs, strict=True))
    ]
    said = (
        "The longest run of words in the same order, gaps allowed; precision and recall are each the best over the "
        "references. The score is split evenly over those words."
    )
    found = _explanation(metric, settings, view, score, ours, parts, factors, beside, said)
    return replace(found, tokens=tuple(Token(word, share) for word, share in zip(ours, shares, strict=True)))


def _common(ours: Sequence[str], theirs: Sequence[str]) -> list[int]:
    """The places in `ours` of a longest common subsequence."""
    table = np.zeros((len(ours) + 1, len(theirs) + 1), dtype=np.int64)
    for row in range(len(ours) - 1, -1, -1):
        for column in range(len(theirs) - 1, -1, -1):
            table[row, column] = (
                table[row + 1, column + 1] + 1
                if ours[row] == theirs[column]
                else max(table[row + 1, column], table[row, column + 1])
            )
    places, row, column = [], 0, 0
    while row < len(ours) and column < len(theirs):
        if ours[row] == theirs[column]:
            places.append(row)
            row, column = row + 1, column + 1
        elif table[row + 1, column] >= table[row, column + 1]:
            row += 1
        else:
            column += 1
    return places


def _meteor(
    metric: Metric, settings: Settings, candidate: str, references: Sequence[str], view: View
) -> Explanation:
    tables = meteor.find_tables()
    stages = meteor.stages_named(str(settings["stages"]), tables)
    alone = Comparison.of([candidate] * len(references), [[text] for text in references])
    statistics = meteor.meteor_statistics(alone, view, tables, stages)
    scores = meteor.meteor_scores(statistics)
    best = int(np.argmax(scores))  # the first of equals, as the program keeps it
    score = float(scores[best])
    taken = meteor.taken_apart(statistics, best)
    weight = sum(one.weight for one in taken.matches)
    parts = [
        Part(one.name, 0, one.words, one.words, (best,), score * one.weight / weight,
             note=f"each such word weighs {one.each:g}")
        for one in taken.matches
        if one.weight
    ]  # fmt: skip
    if not parts:
        parts.append(Part("no matched word", 0, 0, 0.0, (), score))
    factors = [
        Factor("precision", taken.precision, "weighted share of the candidate's words that are matched"),
        Factor("recall", taken.recall, "weighted share of the reference's words that are matched"),
        Factor("mean", taken.mean, "harmonic mean, recall weighing 0.85"),
        Factor("chunks", taken.chunks, "runs of matched words in the same order in both"),
        Factor("fragmentation penalty", taken.penalty, "the score is the mean times one less this"),
    ]
    lengths = statistics.counts[:, 1].tolist()
    beside = [
        Beside(text, lengths[number], float(scores[number]), "best" if number == best else "")
        for number, text in enumerate(references)
    ]
    said = "The reference of the highest score counts alone; figures beside the others are what they would have given."
    return Explanation(
        metric=metric.name,
        tokenizer=view.tokenizer.name,
        settings=dict(settings) | {"stages": meteor.STAGE_CHOICES[stages - 1]},
        score=score,
        parts=tuple(parts),
        factors=tuple(factors),
        references=tuple(beside),
        words=said,
    )

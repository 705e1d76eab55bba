"""Keywords (MC12 §3.2): workers choose the words of a text that describe its image.

As in the paper by Mason and Charniak 2012 (MC12), they type words and mark offered collocations (``quorum.phrases``).
Answers are stored as they are given. Results merge keywords with the same stem.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext, gettext_lazy

from common.errors import DesignError
from judgments.drawing.controls.splits import divide_images
from judgments.drawing.draws import draw_images, rng_for
from judgments.drawing.keys import content_key
from judgments.drawing.material import Batch, Group, Image, Material, UnitSpec
from judgments.kinds.base import (
    IncludedJudgment,
    KindResults,
    MetricComparison,
    OpenAggregation,
    OpenKind,
    Page,
    RefusedAnswer,
    Results,
    ShownContent,
    sort_by_count,
)
from judgments.kinds.consensus import Consensus, nan_as_none
from quorum.phrases import (
    count_texts_by_ngram,
    frequent_phrases,
    normalise_phrase,
    spellings_of_grams,
    titles_in,
    vocabulary,
    words_of,
)
from quorum.statistics.significance import bootstrap_interval

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

MAX_KEYWORDS = 100  # keywords in an answer
MAX_KEYWORD_LENGTH = 200  # characters
# A separator of typed keywords. The comma of "1,000" does not separate.
KEYWORD_SEPARATOR = re.compile(r"[;\n\r]|,(?!\d)")
# Messages to the worker, which both the page's script and the server show.
WORD_NOT_IN_TEXT = gettext_lazy("“%(word)s” does not occur in the text.")
PHRASE_NOT_OFFERED = gettext_lazy("“%(word)s” is not among the phrases below. Add its words one by one.")
RESAMPLES = 1000  # number of bootstrap resamples
NO_COMMON_UNIT = "No item has two judgments, so participants cannot be compared."


class NoKeyword(RefusedAnswer):
    """The typed text is not a valid keyword."""

    def __init__(self, keyword: str, reason: str, message: Any) -> None:
        """Insert the shortened keyword into the message, and put it before the reason, which is a predicate."""
        short_keyword = keyword if len(keyword) <= 40 else f"{keyword[:39]}…"
        super().__init__(f"“{short_keyword}” {reason}", message % {"word": short_keyword})


class KeywordCounts(OpenAggregation):
    """The consensus is the number of workers per keyword, ignoring case.

    ``share`` is the share of workers with the most frequent keyword.
    """

    rule = "counts"

    def combine(self, answers: list[list[str]]) -> Consensus:
        worker_counts: Counter[str] = Counter()
        for answer in answers:
            worker_counts.update({normalise_phrase(keyword) for keyword in answer})
        counts = sort_by_count(worker_counts)
        highest_count = max(counts.values(), default=0)
        return Consensus(
            n=len(answers),
            share=highest_count / len(answers) if counts else None,
            votes=counts,
            answer=counts,
        )

    def codes(self, unit: Any, answer: Any) -> dict[str, float]:
        """Return 1 for each word and offered collocation that the answer has, and 0 for the others."""
        chosen_keywords = {normalise_phrase(keyword) for keyword in answer}
        names = dict.fromkeys(
            (*words_of(unit.content["text"]), *map(normalise_phrase, unit.content["collocations"]))
        )
        return {name: float(name in chosen_keywords) for name in names}


class KeywordResults(Results):
    def figures(self, judgments: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        """Return how well the answers agree, by words and by stems, and how often each stem was given, by unit.

        The former are ``pairwise_f1`` and ``pairwise_f1_of_stems`` of the study, the latter is ``stems`` of the units.
        """
        # Imported lazily, since the metrics' machine code takes memory in every web process.
        from quorum.metrics.keywords import keyword_forms

        keyword_sets: defaultdict[int, list[frozenset[str]]] = defaultdict(list)  # of each answer, by unit
        stem_sets: defaultdict[int, list[frozenset[str]]] = defaultdict(list)
        worker_counts: defaultdict[int, Counter[str]] = defaultdict(Counter)  # of each keyword, by unit
        for judgment in judgments:
            unit, keywords = judgment.unit.pk, frozenset(map(normalise_phrase, judgment.answer))
            keyword_sets[unit].append(keywords)
            stem_sets[unit].append(frozenset(keyword_forms(sorted(keywords))))
            worker_counts[unit].update(keywords)
        return KindResults(
            units={unit: {"stems": sum_by_stem(counts)} for unit, counts in worker_counts.items()},
            study={
                "pairwise_f1": pairwise_f1(keyword_sets, seed=seed),
                "pairwise_f1_of_stems": pairwise_f1(stem_sets, seed=seed),
            },
        )


def f1(first: Collection[str], second: Collection[str]) -> float:
    """Return the F1 of two sets, 2 |A & B| / (|A| + |B|); 1 for two empty sets."""
    sizes = len(first) + len(second)
    return 2 * len(set(first) & set(second)) / sizes if sizes else 1.0


def pairwise_f1(answers: Mapping[int, Sequence[Collection[str]]], *, seed: int) -> dict[str, Any]:
    """Return the mean F1 over pairs of answers of a unit, averaged over units, with a bootstrap interval.

    ``answers`` has the keywords of each answer, by unit. ``floor`` is the mean F1 of answers to different units.
    """
    means = []
    pair_count = 0
    for unit_answers in answers.values():
        pair_scores = [f1(first, second) for first, second in combinations(unit_answers, 2)]
        pair_count += len(pair_scores)
        if pair_scores:
            means.append(sum(pair_scores) / len(pair_scores))
    interval = bootstrap_interval(means, resamples=RESAMPLES, seed=seed)
    return {
        "value": nan_as_none(interval.value),
        "low": nan_as_none(interval.low),
        "high": nan_as_none(interval.high),
        "floor": _agreement_between_units(answers),
        "n": len(means),
        "pairs_of_answers": pair_count,
        "confidence": interval.confidence,
        "resamples": RESAMPLES,
        "seed": seed,
        "reason": "" if means else NO_COMMON_UNIT,
    }


def _agreement_between_units(answers: Mapping[int, Sequence[Collection[str]]]) -> float | None:
    """Return the mean F1 of each unit's answers with those of the next unit; None if there is a single unit."""
    if len(answers) < 2:
        return None
    units = sorted(answers)
    means = []
    for unit, next_unit in zip(units, units[1:] + units[:1], strict=True):  # the first follows the last
        pairs = product(answers[unit], answers[next_unit])
        means.append(float(np.mean([f1(first, second) for first, second in pairs])))
    return float(np.mean(means))


class ShownText(ShownContent):
    text: str
    collocations: list[str]
    title: str = ""  # that of the text; metrics are compared with it as a baseline (MC12 §4.4)


class Keywords(OpenKind):
    name = "keywords"
    title = "Keywords: which words of the text describe the picture?"
    no_source_reason = "keywords shows the text of each item already"
    defaults = {
        "question": "Which words of the text describe the picture?",
        "judgments_per_unit": 5,
        "units_per_hit": 5,
        "seconds_per_unit": 60.0,
    }
    content = ShownText
    page = Page("annotation/kinds/keywords.html", script="js/kinds/keywords.js")
    aggregation = KeywordCounts()
    results = KeywordResults()
    comparison = MetricComparison(
        refusal=(
            "keywords are not captions. For the keyword measures, use the gold standard in the "
            "export “keywords”."
        )
    )
    specific_formats = ("keywords",)
    required_item_content = ("texts",)
    system_content = "keywords"  # what systems can name for an image, to be scored against what people name
    specific_keys = ("keywords.titles", "keywords.longest")

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        if design.controls.per_hit:
            raise DesignError(
                "controls.per_hit asks for check questions, but of keywords no answer is the only right one; set it "
                "to 0 (a quiz and the agreement with others tell careful participants).",
                field="controls.per_hit",
            )
        images_with_text = [image for image in divide_images(design, material).judged_images if image.text]
        if not images_with_text:
            raise DesignError(
                f"no image of split {design.sampling.split!r} of dataset {material.name!r} stands with a text; "
                "import one with a column text (docs/formats.md).",
                field="sampling.split",
            )
        images = draw_images(images_with_text, design.sampling.images, rng_for(design.seed, "images"))
        titles = design.keywords.titles
        phrases = self._offered_collocations(design, images, images_with_text)
        groups = [Group(image.name, (self.unit(design, image, phrases[image.name]),)) for image in images]
        hits = self.hits(design, groups)
        phrase_count = sum(map(len, phrases.values()))
        source = (
            f"from the {len(titles):,} titles of the design"
            if titles
            else "frequent ones of the texts, as the design names no titles"
        )
        return Batch(
            hits=hits, notes={"sentences": [f"Phrases offered to participants: {phrase_count:,}, {source}."]}
        )

    def _offered_collocations(
        self, design: StudyDesign, images: Sequence[Image], text_images: Sequence[Image]
    ) -> dict[str, list[str]]:
        """Return the collocations that the page offers, spelled as in the text, by image.

        They are the design's titles (of Wikipedia articles in MC12) that occur in the text or, without titles, phrases
        that are frequent in the texts of ``text_images``.
        """
        max_words = design.keywords.longest
        if titles := frozenset(map(normalise_phrase, design.keywords.titles)):
            grams_by_image = {image.name: titles_in(image.text, titles, max_words) for image in images}
        else:
            stop_words = _stop_words()
            texts = dict.fromkeys(image.text for image in text_images)
            counts = count_texts_by_ngram(texts, stop_words, max_words)
            grams_by_image = {
                image.name: frequent_phrases(image.text, counts, stop_words, max_words) for image in images
            }
        return {image.name: spellings_of_grams(image.text, grams_by_image[image.name]) for image in images}

    def unit(self, design: StudyDesign, image: Image, collocations: Sequence[str]) -> UnitSpec:
        title = dict(image.fields).get("title")
        return UnitSpec(
            key=content_key("unit", self.name, design.seed, image.name, image.text, list(collocations)),
            image=image.name,
            content={"text": image.text, "collocations": list(collocations)}
            | ({"title": title} if title else {}),
        )

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be described")},
            "text": {"text": unit.content["text"]},
            "collocations": list(unit.content["collocations"]),
        }

    def describe_answer(self, answer: Any) -> str:
        return ", ".join(answer) or "–"

    def describe_consensus(self, answer: Any, *, unit: Any) -> list[str]:
        return [f"{word} ({count})" for word, count in answer.items()]

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> list[str]:
        """Return the keywords as typed, without extra blanks.

        Of several keywords that differ only in case or in punctuation at the edges, only the first is returned.
        Raise ValueError for an invalid answer, and NoKeyword for a text that is not a keyword.
        """
        if not isinstance(answer, list) or not all(isinstance(text, str) for text in answer):
            raise ValueError(gettext("expected a list of texts"))
        if len(answer) > MAX_KEYWORDS:
            raise ValueError(gettext("expected at most %(most)d keywords") % {"most": MAX_KEYWORDS})
        vocabulary_of_text = _words_in(unit.content["text"])
        offered_phrases = {normalise_phrase(phrase) for phrase in unit.content["collocations"]}
        keywords: dict[str, str] = {}
        for typed_text in answer:
            keyword = " ".join(typed_text.split())
            form = normalise_phrase(keyword)
            # Words may have joiners and direction marks, but no control characters and no single surrogates.
            is_unprintable = any(unicodedata.category(character) in ("Cc", "Cs") for character in keyword)
            if not form or len(keyword) > MAX_KEYWORD_LENGTH or is_unprintable:
                raise NoKeyword(keyword, "is no keyword; expected a word of the text", WORD_NOT_IN_TEXT)
            if form not in vocabulary_of_text and form not in offered_phrases:
                reason = "does not occur in the text; expected its words, or phrases offered with it"
                raise NoKeyword(keyword, reason, PHRASE_NOT_OFFERED if " " in form else WORD_NOT_IN_TEXT)
            keywords.setdefault(form, keyword)
        return list(keywords.values())

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> list[str] | None:
        """Read ``u<position>`` (typed keywords), ``u<position>-c<n>`` (ticks) and ``u<position>-none`` (none fits)."""
        name = f"u{position}"
        typed_keywords = [phrase.strip() for phrase in KEYWORD_SEPARATOR.split(str(form.get(name) or ""))]
        marked_phrases = [
            phrase
            for index, phrase in enumerate(unit.content["collocations"])
            if form.get(f"{name}-c{index}") == "1"
        ]
        keywords = [phrase for phrase in typed_keywords if phrase] + marked_phrases
        return keywords if keywords or f"{name}-none" in form else None


def _stop_words() -> frozenset[str]:
    """Return the stop words. Import them lazily, so that web processes start without numba."""
    from quorum.metrics.text.word_lists import smart_stop_words

    return smart_stop_words()


def sum_by_stem(counts: Mapping[str, int]) -> dict[str, int]:
    """Add up the counts of keywords with the same stem (MC12 §3.2). A sum may exceed the number of workers."""
    from quorum.metrics.keywords import keyword_forms

    merged_counts: Counter[str] = Counter()
    for form, count in zip(keyword_forms(list(counts)), counts.values(), strict=True):
        merged_counts[form] += count
    return sort_by_count(merged_counts)


@lru_cache(maxsize=256)  # every save checks the answers of a form, which are about few texts
def _words_in(text: str) -> frozenset[str]:
    return frozenset(vocabulary(text))

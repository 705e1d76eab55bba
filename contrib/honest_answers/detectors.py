"""Detectors of signs that a program wrote an answer: pasted text, typing, phrasing, a hidden line.

A sign is not a proof: honest people paste, dictate, and describe similar pictures in similar words. So these
detectors only flag for review. Answers without the required data are neither suspicious nor cleared. The page's
counts of how an answer was written, the signals, are listed in README.md.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any, ClassVar

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field

from annotation.quality.detectors.base import Finding, Rule, Share
from annotation.quality.detectors.history import AnswerFormat, History, OwnJudgment, WrittenAnswer, is_pasted
from common.amounts import percent
from judgments.kinds.caption import fold_text

MAX_QUOTED_TEXTS = 5  # number of texts that the evidence quotes
GRAM_LENGTH = 4  # characters of each substring that texts are compared by


class ProgramSign(Rule):
    """A detector of a sign that a program wrote an answer. It may only flag."""

    only_flags: ClassVar[bool] = True
    is_recommended: ClassVar[bool] = True

    @classmethod
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        return answer_format.is_text


class PastedText(ProgramSign):
    """A test for answers that were pasted instead of typed.

    Attributes:
        least: the number of written answers from which a worker is examined.
        share: the share of pasted answers that is flagged.
    """

    name = "pasted-text"
    title = gettext_noop("Pasted text")
    description = gettext_noop(
        "Pastes text instead of typing it. Some honest participants also paste text, because they write in "
        "another program first or use a dictation program."
    )
    false_alarms = gettext_noop(
        "False positives: not measured. Some honest participants paste every answer because they write in another "
        "program, use a translation or spelling program, or dictate."
    )
    setting_labels = {
        "share": gettext_noop("Maximum share of pasted answers"),
    }

    least: Annotated[int, Field(ge=1, le=10_000)] = 3
    share: Share = 0.5

    @classmethod
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        return answer_format.value_count == 0  # open answers

    def examine(self, history: History) -> Finding | None:
        """Find a worker who pasted ``share`` or more of the answers.

        ``is_pasted`` says which answers count as pasted.
        """
        pasted_flags = history.is_pasted[~np.isnan(history.is_pasted)]
        n = len(pasted_flags)
        pasted_count = int(pasted_flags.sum())
        if n < self.least or not pasted_count or pasted_count < self.share * n:
            return None
        # only pages that record how answers are written report the length of the text
        recorded_signals = [
            answer.signals for answer in history.written_answers if answer and "text" in answer.signals
        ]
        pasted_signals = [signals for signals in recorded_signals if is_pasted(signals)]
        details = {}
        if recorded_signals:
            details = {
                "characters": sum(signals["text"] for signals in recorded_signals),
                # a page can report counts that contradict each other
                "characters_pasted": sum(
                    min(signals.get("from_paste", 0), signals["text"]) for signals in recorded_signals
                ),
                "left_the_tab": sum(signals.get("away", 0) > 0 for signals in pasted_signals),
            }
        return self.make_finding(history, n=n, pasted=pasted_count, **details)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        sentence = _("Written answers that were pasted: %(pasted)s of %(n)s.") % {
            "pasted": numbers["pasted"],
            "n": numbers["n"],
        }
        if not numbers.get("characters"):
            return sentence
        details = _(
            "%(share)s of all characters were pasted. The participant left the browser tab during "
            "%(left)s of the pasted answers."
        ) % {
            "share": percent(numbers["characters_pasted"] / numbers["characters"]),
            "left": numbers["left_the_tab"],
        }
        return f"{sentence} {details}"


class Typing(ProgramSign):
    """A test for typing that is faster than any person's, or has gaps that are too even.

    The fastest typist on record peaked at 212 words a minute (Guinness Book of World Records, 1985), which is 17.7
    characters a second. Of the sentences of Dhakal et al. (2018) that ``benchmarks.honesty`` reads, the fastest has
    14.0 characters a second.

    Attributes:
        least: the number of typed answers from which a worker is examined.
        keys: the number of key presses from which an answer counts as typed.
        per_second: the highest plausible number of keys per second.
        spread: the lowest plausible spread of the gaps between keys, as a fraction of their median.
        share: the share of implausible answers that is flagged.
    """

    name = "typing"
    title = gettext_noop("Implausible typing")
    description = gettext_noop(
        "Types faster than the fastest people, or with nearly equal gaps between keys. Dictation, input methods, "
        "suggestions and phone keyboards are not checked. Some dictation, abbreviation and accessibility tools "
        "simulate key presses and cause false positives."
    )
    false_alarms = gettext_noop(
        "False positives: 0 of 2,329 people who typed 27,950 sentences (below 0.2 %), measured on desktop "
        "keyboards (data of Dhakal et al. 2018)."
    )
    setting_labels = {
        "keys": gettext_noop("Minimum key presses per answer"),
        "per_second": gettext_noop("Maximum speed (characters per second)"),
        "spread": gettext_noop(
            "Minimum variation of the time between key presses (spread divided by median)"
        ),
        "share": gettext_noop("Maximum share of implausible answers"),
    }

    least: Annotated[int, Field(ge=1, le=10_000)] = 3
    keys: Annotated[int, Field(ge=10, le=1_000)] = 30
    per_second: Annotated[float, Field(ge=5, le=1_000)] = 20.0
    spread: Share = 0.1
    share: Share = 0.5

    @classmethod
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        return answer_format.is_text and answer_format.records_typing

    @classmethod
    def can_examine(cls, judgment: OwnJudgment) -> bool:
        return judgment.written_answer is not None and "keys" in judgment.written_answer.signals

    def examine(self, history: History) -> Finding | None:
        """Find a worker who typed too many answers too fast or too evenly.

        These must be ``share`` or more of the answers with at least ``keys`` key presses. Only keys pressed less than
        two seconds after the previous one count. Gaps are too even if their interquartile range, divided by their
        median, is below ``spread``.
        """
        typed_answers = [
            answer
            for answer in history.written_answers
            if answer and answer.signals.get("keys", 0) >= self.keys
        ]
        n = len(typed_answers)
        if n < self.least:
            return None
        speeds = [keys_per_second(answer.signals) for answer in typed_answers]
        spreads = [relative_gap_spread(answer.signals) for answer in typed_answers]
        is_fast = [speed > self.per_second for speed in speeds]
        is_even = [spread is not None and spread < self.spread for spread in spreads]
        implausible_indices = [index for index in range(n) if is_fast[index] or is_even[index]]
        if not implausible_indices or len(implausible_indices) < self.share * n:
            return None
        return self.make_finding(
            history,
            n=n,
            typed_so=len(implausible_indices),  # the number of implausible answers
            fast=sum(is_fast),
            even=sum(is_even),
            fastest=max(speeds),
            texts=_texts_for_evidence([typed_answers[index] for index in implausible_indices]),
        )

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _(
            "Implausibly typed answers: %(typed_so)s of %(n)s. Typed too fast: %(fast)s (limit in characters per "
            "second: %(per_second)s; the fastest: %(fastest)s; the human record: 18). With nearly equal times between "
            "key presses: %(even)s."
        ) % {
            **{name: numbers[name] for name in ("typed_so", "n", "fast", "even")},
            "per_second": f"{self.per_second:g}",
            "fastest": f"{numbers['fastest']:.0f}",
        }


def keys_per_second(signals: Mapping[str, int]) -> float:
    """Return the keys per second, without pauses; 0 if no two keys follow each other closely.

    Args:
        signals: the page's counts, of which ``bursts`` is the number of series of keys without a pause.
    """
    gap_count = signals.get("keys", 0) - signals.get("bursts", 0)  # a burst of n keys has n - 1 gaps
    if gap_count <= 0:
        return 0.0
    return 1000 * gap_count / max(1, signals.get("typing_ms", 0))


def relative_gap_spread(signals: Mapping[str, int]) -> float | None:
    """Return the interquartile range of the gaps between keys divided by their median.

    Return None if the median is 0, because the browser's clock was too coarse.
    """
    median_ms = signals.get("gap_ms", 0)
    return signals.get("gap_spread_ms", 0) / median_ms if median_ms else None


class Phrasing(ProgramSign):
    """A test for sentences that are nearly equal to those of other people about other items.

    The similarity is Jaccard's, of sets of four-character substrings (Broder 1997). The same short caption of one
    item is common, so only other items count. Only earlier answers count, so that nobody is flagged because others
    copied them.

    Attributes:
        least: the number of long enough answers from which a worker is examined.
        similar: the similarity from which two texts count as nearly equal.
        length: the number of characters from which an answer is compared.
        copies, share: the number and the share of nearly equal answers that are flagged, if both are reached.
    """

    name = "phrasing"
    title = gettext_noop("Copied sentences")
    description = gettext_noop(
        "Writes unusually many sentences that are nearly equal to sentences of other participants about other items."
    )
    needs_texts = True
    false_alarms = gettext_noop(
        "False positives: 0 of 1,200 simulated participants (below 0.4 %). Their sentences come from anonymous "
        "people and were written before language models existed."
    )
    setting_labels = {
        "similar": gettext_noop("Similarity threshold (0.5 to 1)"),
        "length": gettext_noop("Minimum characters per answer"),
        "copies": gettext_noop("Minimum number of copied answers"),
        "share": gettext_noop("Maximum share of copied answers"),
    }

    least: Annotated[int, Field(ge=1, le=10_000)] = 5
    similar: Annotated[float, Field(ge=0.5, le=1)] = 0.7
    length: Annotated[int, Field(ge=10, le=1_000)] = 30
    copies: Annotated[int, Field(ge=1, le=300)] = 3
    share: Share = 0.2

    def examine(self, history: History) -> Finding | None:
        """Find a worker with many answers that are nearly equal to another person's.

        They must be ``copies`` or more answers, and ``share`` or more of the worker's answers. Only answers of
        ``length`` characters or more count, without punctuation and case. They are compared with the latest
        ``MAX_TEXTS_OF_OTHERS`` answers of others in the study.
        """
        answers = [
            (int(unit), answer)
            for unit, answer in zip(history.unit, history.written_answers, strict=True)
            if answer and len(fold_text(answer.text)) >= self.length
        ]
        n = len(answers)
        if n < self.least or not history.others_texts:
            return None
        copies = list(self._find_copies(answers, history))
        if len(copies) < self.copies or len(copies) < self.share * n:
            return None
        people = len({copy["by"] for copy in copies})
        texts = sorted(copies, key=lambda copy: -copy["similar"])[:MAX_QUOTED_TEXTS]
        return self.make_finding(
            history, n=n, alike=len(copies), people=people, others=len(history.others_texts), texts=texts
        )

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _(
            "Answers that are nearly equal to answers of other participants about other items: %(alike)s of %(n)s "
            "(%(share)s). Number of these participants: %(people)s."
        ) % {
            **{name: numbers[name] for name in ("alike", "n", "people")},
            "share": percent(numbers["alike"] / numbers["n"]),
        }

    def _find_copies(
        self, answers: Sequence[tuple[int, WrittenAnswer]], history: History
    ) -> Iterator[dict[str, Any]]:
        """Yield each text of the worker that is nearly equal to another person's, together with the most similar text.

        Comparing all pairs of texts takes too long. Prefix filtering (Bayardo et al. 2007) finds the pairs that can
        be similar enough: sort the substrings of each text by how rare they are; then the prefixes of two such texts,
        the first few substrings, share at least one. An index of the others' prefixes gives the texts to compare.

        An example of what is yielded: ``{"own": "a dog runs", "other": "the dog runs", "by": 12, "similar": 0.75}``,
        where "by" is the row id of the other worker.

        Args:
            answers: the worker's long answers with row ids of units; ``position`` is the order of the study's answers.
        """
        grams_of_others = [character_grams(answer.text) for answer in history.others_texts]
        indices_by_gram: defaultdict[str, list[int]] = defaultdict(list)
        frequencies = Counter(chain.from_iterable(grams_of_others))  # the number of texts with each substring
        for index, grams in enumerate(grams_of_others):
            for gram in self._prefix(grams, frequencies):
                indices_by_gram[gram].append(index)
        for unit, answer in answers:
            own_grams = character_grams(answer.text)
            prefix = self._prefix(own_grams, frequencies)
            candidate_indices = set(chain.from_iterable(indices_by_gram[gram] for gram in prefix))
            similarities = {
                index: jaccard_similarity(own_grams, grams_of_others[index])
                for index in sorted(candidate_indices)
                if history.others_texts[index].unit != unit
                and history.others_texts[index].position <= answer.position  # it was written earlier
            }
            # the most similar text; of equally similar ones, the first
            best_index = max(similarities, key=similarities.__getitem__, default=None)
            if best_index is not None and similarities[best_index] >= self.similar:
                similar_text = history.others_texts[best_index]
                yield {
                    "own": answer.text,
                    "other": similar_text.text,
                    "by": similar_text.worker,
                    "similar": round(similarities[best_index], 3),
                }

    def _prefix(self, grams: frozenset[str], frequencies: Mapping[str, int]) -> list[str]:
        """Return the rarest substrings of a text: so many that every text that is similar enough has one of them."""
        # a similar text shares at least ceil(similar * len(grams)) of the substrings, so it lacks at most the others;
        # 1e-9 absorbs the rounding of the product
        prefix_length = len(grams) - int(np.ceil(self.similar * len(grams) - 1e-9)) + 1
        return sorted(grams, key=lambda gram: (frequencies.get(gram, 0), gram))[:prefix_length]


# cached, since the study's texts are compared again whenever a worker is examined; the cache takes 30 MB
@lru_cache(maxsize=8_192)
def character_grams(text: str) -> frozenset[str]:
    """Return the substrings of ``GRAM_LENGTH`` characters of a text; the text itself if it is shorter."""
    text = fold_text(text)
    return frozenset(
        text[start : start + GRAM_LENGTH] for start in range(max(1, len(text) - GRAM_LENGTH + 1))
    )


def jaccard_similarity(grams: frozenset[str], other_grams: frozenset[str]) -> float:
    shared_count = len(grams & other_grams)
    return shared_count / (len(grams) + len(other_grams) - shared_count)


class HiddenLine(ProgramSign):
    """A test for a rare word that only the page's hidden line, a line for programs, asks for.

    Attributes:
        least: the number of answers on pages with a hidden line from which a worker is examined.
        words: the number of answers with the word that is flagged.
    """

    name = "canary"
    title = gettext_noop("Word of the hidden line")
    description = gettext_noop(
        "Uses a rare word that a hidden line on the page tells programs to use. If an answer does not contain the "
        "word, this proves nothing, because a program can ignore the line."
    )
    false_alarms = gettext_noop(
        "False positives: none of the words occurs in 134,470 sentences that people wrote before 2016."
    )
    setting_labels = {
        "words": gettext_noop("Minimum number of answers with the word"),
    }

    least: Annotated[int, Field(ge=1, le=10_000)] = 1
    words: Annotated[int, Field(ge=1, le=100)] = 1

    @classmethod
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        return answer_format.is_text and answer_format.hidden_line

    @classmethod
    def can_examine(cls, judgment: OwnJudgment) -> bool:
        return judgment.written_answer is not None and bool(judgment.written_answer.word)

    def examine(self, history: History) -> Finding | None:
        answers = [answer for answer in history.written_answers if answer and answer.word]
        matches = [answer for answer in answers if answer.word in fold_text(answer.text).split()]
        if len(answers) < self.least or len(matches) < self.words:
            return None
        return self.make_finding(
            history, n=len(answers), found=len(matches), texts=_texts_for_evidence(matches)
        )

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _(
            "Answers with the word from the hidden line of the page (%(words)s): %(found)s of %(n)s."
        ) % {
            "found": numbers["found"],
            "n": numbers["n"],
            "words": ", ".join(sorted({text["word"] for text in numbers["texts"]})) or "…",
        }


def _texts_for_evidence(answers: Sequence[WrittenAnswer]) -> list[dict[str, Any]]:
    """Return the last few of these answers, as the evidence quotes them.

    An entry has the text ("own") and, if they are known, the hidden word ("word"), the keys per second ("per_second")
    and the relative spread of the gaps between keys ("spread").
    """
    texts = []
    for answer in answers[-MAX_QUOTED_TEXTS:]:
        evidence: dict[str, Any] = {"own": answer.text}
        if answer.word:
            evidence["word"] = answer.word
        if answer.signals.get("keys"):
            evidence["per_second"] = round(keys_per_second(answer.signals), 1)
            spread = relative_gap_spread(answer.signals)
            if spread is not None:
                evidence["spread"] = round(spread, 3)
        texts.append(evidence)
    return texts

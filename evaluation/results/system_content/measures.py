"""Score the boxes or keywords that a system, a baseline or a person names for images.

Boxes are scored by the measures of Wang and Gaizauskas 2015 (WG15, eq. 1-3), keywords by those of Mason and Charniak
2012 (MC12, section 6.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from evaluation.results.standings import F1, OOT
from evaluation.results.system_content.baselines import People, Selections, box_baselines, keyword_baselines
from judgments.kinds import Kind
from judgments.kinds.grounding import linked_box_indices
from quorum.metrics.content import ZERO, ContentScore, content_selection, content_upper_bound
from quorum.metrics.keywords import (
    CREDITED_ONCE,
    KeywordOverlap,
    KeywordScore,
    keyword_best,
    keyword_best_mode,
    keyword_f1,
    keyword_forms,
    keyword_oot,
    keyword_oot_mode,
)
from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.phrases import normalise_phrase

# Of each image, `Selections` has the named boxes or keywords, and `People` those of each description or person.
UnitsWithAnswers = Iterable[tuple[Any, Sequence[Any]]]  # units, each with the answers of people
Scores = list[Floats]  # for each measure, (images,) scores, nan if undefined

# Measures that are the share of images whose most frequent tag is named.
BEST_MODE, OOT_MODE = "best-mode", "oot-mode"
MODES = (BEST_MODE, OOT_MODE)


class BoxMeasures:
    """Measures of boxes that are named for images.

    Attributes:
        deciding_measure: the measure by which the verdict compares systems.
        averages_people: whether the score of an image is a mean over people.
        baselines: a function that yields the baselines, from units, people, (images,) codes of documents, and a seed.
    """

    names = ("precision", "recall", F1)
    deciding_measure = F1
    averages_people = False  # because people's boxes of a description are the majority of their answers
    baselines = staticmethod(box_baselines)

    def selections_of_people(self, kind: Kind, answers: UnitsWithAnswers) -> list[list[int]]:
        """Return the positions of the boxes that most people link to each description of an image."""
        selections = []
        for unit, unit_answers in answers:
            if unit_answers:
                # The consensus of one group of answers, which has the number 0.
                consensus = kind.aggregation.consensus([0] * len(unit_answers), unit_answers)[0]
                selections.append(linked_box_indices(consensus.answer, unit.content["boxes"]))
        return selections

    def selection_of_system(self, unit: Any, names: Sequence[str]) -> list[int]:
        """Return the positions of the boxes that a system names by their ids."""
        positions = {box["id"]: index for index, box in enumerate(unit.content["boxes"])}
        return [positions[name] for name in names if name in positions]

    def scores(self, selections: Selections, people: People) -> Scores:
        """Return the scores of each image's boxes against people's. No box, where people name some, has precision 0."""
        return self._scores_by_measure(content_selection(selections, people, empty=ZERO))

    def scores_of_people(self, people: People) -> Scores:
        """Return the scores of each description's boxes against those of the image's other descriptions."""
        return self._scores_by_measure(content_upper_bound(people))

    def _scores_by_measure(self, score: ContentScore) -> Scores:
        is_undefined = np.isnan(score.recall.images)  # nobody, or nobody else, names a box
        measures = (score.precision, score.recall, score.f1)
        return [np.where(is_undefined, np.nan, measure.images) for measure in measures]

    def signatures(self) -> list[str]:
        """Return the signatures of the scores, which do not depend on the data."""
        return [
            content_selection([[0]], [[[0]]], empty=ZERO).signature,
            content_upper_bound([[[0]]]).signature,
        ]


class KeywordMeasures:
    """Measures of keywords that are named for images. The attributes are those of ``BoxMeasures``."""

    names = ("best", OOT, BEST_MODE, OOT_MODE, "precision", "recall", F1)
    deciding_measure = OOT
    averages_people = True
    baselines = staticmethod(keyword_baselines)

    def selections_of_people(self, kind: Kind, answers: UnitsWithAnswers) -> list[list[str]]:
        """Return the keywords that each person gives an image."""
        selections = []
        for _, unit_answers in answers:
            for keywords in unit_answers:
                distinct_keywords = dict.fromkeys(normalise_phrase(keyword) for keyword in keywords)
                selections.append(keyword_forms(list(distinct_keywords)))
        return selections

    def selection_of_system(self, unit: Any, names: Sequence[str]) -> list[str]:
        """Return the forms of the keywords that a system names, in which they are compared with people's."""
        return keyword_forms(names)

    def scores(self, selections: Selections, people: People) -> Scores:
        credits, overlap = self._measure_keywords(selections, people)
        # A list without keywords has no precision, which counts as 0.
        is_empty = ~np.isnan(overlap.image_recall) & np.isnan(overlap.image_precision)
        shares = (overlap.image_precision, overlap.image_recall, overlap.image_f1)
        return [*(score.images for score in credits), *(np.where(is_empty, 0.0, share) for share in shares)]

    def _measure_keywords(
        self, selections: Selections, people: People
    ) -> tuple[tuple[KeywordScore, ...], KeywordOverlap]:
        """Return the scores by best, oot and their mode variants, and the overlap, from which the others follow."""
        tags = [Counter(chain.from_iterable(image)) for image in people]
        # "best" and its mode score a single guess; "oot" stands for "out of ten".
        first_keywords = [keywords[:1] for keywords in selections]
        credits = (
            keyword_best(first_keywords, tags, duplicates=CREDITED_ONCE),
            keyword_oot(selections, tags, duplicates=CREDITED_ONCE),
            keyword_best_mode(first_keywords, tags),
            keyword_oot_mode(selections, tags),
        )
        return credits, keyword_f1(selections, tags)

    def scores_of_people(self, people: People) -> Scores:
        """Return the scores of each person's keywords against the others', averaged over the people of an image."""
        images, selections, other_people = [], [], []
        for image, lists in enumerate(people):
            for index, keywords in enumerate(lists):
                if keywords:
                    images.append(image)
                    selections.append(keywords)
                    other_people.append([*lists[:index], *lists[index + 1 :]])
        scores = self.scores(selections, other_people)
        return [_mean_by_image(np.array(images), measure_scores, len(people)) for measure_scores in scores]

    def signatures(self) -> list[str]:
        credits, overlap = self._measure_keywords([["a"]], [[["a"]]])
        return [*(score.signature for score in credits), overlap.signature]


def _mean_by_image(image: Ints, scores: Floats, image_count: int) -> Floats:
    """Return the (images,) means of (N,) scores, of which ``image`` has the images. Undefined scores are left out."""
    is_defined = ~np.isnan(scores)
    counts = np.bincount(image[is_defined], minlength=image_count)
    return ratio(np.bincount(image[is_defined], scores[is_defined], minlength=image_count), counts)

"""Baselines that name boxes or keywords for images without seeing the images, in the form of a system's output.

Boxes are ranked by size, by their distance from the centre relative to the image's sides, and by how often people name
their labels (Wang, Gaizauskas 2015 (WG15): section 4). The number of boxes named is people's mean. Keywords come from
the texts (Mason, Charniak 2012: section 4). Priors are fitted on one half of the images for the other half; all images
of a document are in the same half.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from django.utils.translation import gettext_noop

from quorum.metrics.content_baselines import (
    BOX_COLUMNS,
    BigramPrior,
    BoxRanks,
    UnigramPrior,
    bigram_ranks,
    centre_ranks,
    mean_ranks,
    mentions_of,
    random_ranks,
    size_ranks,
    unigram_ranks,
)
from quorum.metrics.keyword_baselines import (
    corpus_frequency,
    document_title,
    sentence_extraction,
    term_frequency,
    tf_idf,
    topic_words,
)
from quorum.metrics.keywords import keyword_terms
from quorum.metrics.text.word_lists import smart_stop_words
from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.signatures import Value, parse

# Roles of the sources of boxes or keywords, in the order of tables.
SYSTEM, PEOPLE, BASELINE = gettext_noop("system"), gettext_noop("people"), gettext_noop("baseline")
ROLES = (SYSTEM, PEOPLE, BASELINE)
DRAWS = 20  # number of draws of random boxes, over which scores are averaged
# Baselines that rank by a prior (WG15 section 5.1): the function that ranks, the prior, and whether its ranks are
# averaged with the ranks by distance from the centre.
PRIORS: dict[str, tuple[Any, Any, bool]] = {
    gettext_noop("labels that people name often"): (unigram_ranks, UnigramPrior, False),
    gettext_noop("labels in people's order"): (bigram_ranks, BigramPrior, False),
    gettext_noop("labels that people name often, near the centre"): (unigram_ranks, UnigramPrior, True),
    gettext_noop("labels in people's order, near the centre"): (bigram_ranks, BigramPrior, True),
}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
# The boxes or keywords that a source names for each image.
Selections = Sequence[Sequence[Any]]
# The boxes that each description of an image names, or the keywords that each person names, for each image.
People = Sequence[Sequence[Sequence[Any]]]


class SelectionSource(NamedTuple):
    """A source of boxes or keywords for each image. Its role is one of ``ROLES``. A random source has several draws."""

    role: str
    name: str
    draws: Sequence[Selections]
    signature: str = ""


def mean_box_count(people: People) -> int:
    """Return the rounded mean number of boxes of the descriptions that name any, at least 1."""
    box_counts = [len(boxes) for boxes in chain.from_iterable(people) if boxes]
    return max(1, round(float(np.mean(box_counts))))


def box_baselines(
    units: Sequence[Any], people: People, cluster: Ints, seed: int
) -> Iterator[SelectionSource]:
    """Yield the baselines that name boxes. Those with a prior need two documents (``cluster`` has each image's)."""
    k = mean_box_count(people)  # number of boxes to name
    labels = [[box["label"] for box in unit.content["boxes"]] for unit in units]
    sides = [_sides_of_boxes(unit.content["boxes"]) for unit in units]
    ranks = [random_ranks(list(map(len, labels)), seed=seed + draw) for draw in range(DRAWS)]
    yield _make_source(gettext_noop("random boxes"), ranks, k, draws=DRAWS)
    yield _make_source(gettext_noop("larger boxes"), [size_ranks(sides)], k)
    yield _make_source(gettext_noop("boxes near the centre"), [_rank_by_centre(sides)], k, sides="shares")
    if len(np.unique(cluster)) < 2:
        return
    for name, (ranks_of, prior, near_centre) in PRIORS.items():
        boxes_by_image: list[Sequence[int]] = [()] * len(labels)
        # Fit the prior on one half of the images, and rank the boxes of the other half.
        for is_in_half in (cluster % 2 == 0, cluster % 2 == 1):
            half_images = np.flatnonzero(is_in_half).tolist()
            other_images = np.flatnonzero(~is_in_half).tolist()
            mentions = mentions_of(
                [labels[image] for image in other_images], [people[image] for image in other_images]
            )
            box_ranks = ranks_of([labels[image] for image in half_images], prior.fit(mentions))
            if near_centre:
                box_ranks = mean_ranks(box_ranks, _rank_by_centre([sides[image] for image in half_images]))
            source = _make_source(name, [box_ranks], k, fit="half")
            for image, selected_boxes in zip(half_images, source.draws[0], strict=True):
                boxes_by_image[image] = selected_boxes
        yield source._replace(draws=[boxes_by_image])  # the sources of both halves differ only in their boxes


def _sides_of_boxes(boxes: Sequence[Any]) -> Floats:
    """Return the (B, 4) left, top, width and height of boxes, as shares of the image's size."""
    sides = [[box["x"], box["y"], box["width"], box["height"]] for box in boxes]
    return np.array(sides).reshape(-1, BOX_COLUMNS)  # also if there are no boxes


def _rank_by_centre(sides: Sequence[Any]) -> BoxRanks:
    return centre_ranks(sides, np.ones((len(sides), 2)))  # sides are shares of the image's size


def _make_source(name: str, ranks: Sequence[BoxRanks], k: int, **fields: Value) -> SelectionSource:
    """Return the source that names the first ``k`` boxes of each ranking. ``fields`` are added to its signature."""
    signature = parse(ranks[0].signature)
    for field, value in {"boxes": k, **fields}.items():
        signature = signature.with_field(field, value)
    return SelectionSource(BASELINE, name, [draw.selections(k) for draw in ranks], str(signature))


def keyword_baselines(
    units: Sequence[Any], people: People, cluster: Ints, seed: int
) -> Iterator[SelectionSource]:  # `cluster` is not used; `box_baselines` is called in the same way
    stop_words = smart_stop_words()
    texts = [keyword_terms(SENTENCE_END.split(unit.content["text"]), stop_words=stop_words) for unit in units]
    documents = [list(chain.from_iterable(text)) for text in texts]
    tags = [Counter(chain.from_iterable(image)) for image in people]
    keywords_by_baseline = {
        gettext_noop("frequent words of the text"): term_frequency(documents),
        gettext_noop("frequent keywords of other items"): corpus_frequency(tags),
        gettext_noop("the sentence nearest to the text"): sentence_extraction(texts),
        gettext_noop("words of the text’s topics, LDA"): topic_words(documents, seed=seed),
    }
    titles = [unit.content.get("title", "") for unit in units]
    if any(titles):
        title_terms = keyword_terms(titles, stop_words=stop_words)
        keywords_by_baseline[gettext_noop("words of the title")] = document_title(title_terms)
    if len(documents) > 1:
        keywords_by_baseline[gettext_noop("words of the text more than of others, tf-idf")] = tf_idf(
            documents
        )
    for name, keywords in keywords_by_baseline.items():
        yield SelectionSource(BASELINE, name, [keywords.annotations], keywords.signature)

"""Systems that know an image only by its captions: H13's text kernels between these captions and those of a pool."""

from __future__ import annotations

from collections.abc import Sequence

from contrib.ranking_systems.kernels.similar_trigrams import SimilarTrigrams
from contrib.ranking_systems.kernels.tag_rank import TagRank
from contrib.ranking_systems.kernels.texts import (
    BagOfWords,
    Document,
    Trigrams,
    idf_of,
    idf_overlaps,
    stems_of,
)
from contrib.ranking_systems.kernels.word_similarity import alignment_similarity, distributional_similarity
from quorum.numeric.arrays import Floats


def affinities_of_texts(
    images: Sequence[Sequence[str]], captions: Sequence[str], training: Sequence[Sequence[str]]
) -> dict[str, Floats]:
    """Return the affinities of images (rows) and captions (columns) by system.

    The baseline, with which the others are compared, is last.

    Args:
        images: the captions of each image. The systems' names assume four captions.
        captions: the captions of the pool.
        training: captions of other images, from which word similarities are learned.
    """
    documents: list[Document] = [stems_of(texts) for texts in images]
    pool: list[Document] = [stems_of([text]) for text in captions]
    training_stems = [stems_of(texts) for texts in training]
    idf = idf_of(documents)
    first_captions = [document[:1] for document in documents]
    similarities = distributional_similarity, alignment_similarity
    return {
        "f1-idf": idf_overlaps(documents, pool, idf),
        "tag4": TagRank.from_training(documents)(documents, pool),
        "bow1": BagOfWords()(first_captions, pool),
        "bow1-idf": BagOfWords(idf)(first_captions, pool),
        "bow4": BagOfWords()(documents, pool),
        "bow4-idf": BagOfWords(idf)(documents, pool),
        "tri1": Trigrams()(first_captions, pool),
        "tri1-idf": Trigrams(idf)(first_captions, pool),
        "tri4": Trigrams()(documents, pool),
        "tri4-idf": Trigrams(idf)(documents, pool),
        "tri4-dist": SimilarTrigrams.from_training(training_stems, [distributional_similarity])(
            documents, pool
        ),
        "tri4-align": SimilarTrigrams.from_training(training_stems, [alignment_similarity])(documents, pool),
        "tri4-sem": SimilarTrigrams.from_training(training_stems, similarities, idf)(documents, pool),
    }

"""Systems that know an image only by its captions, and score how well the captions of a pool fit it.

They are the text kernels of Hodosh et al. 2013 (H13) between the image's captions and a caption of the pool: bags of
words (``bow``), ranks of words (``tag``) and trigrams (``tri``), each with the number of captions that are used of an
image, and the F1 of the words of all captions (``f1``). ``idf``: words are weighted by their rarity.
``dist``, ``align``, ``sem``: similar words match, by distribution, by alignment, or (with idf) by the larger of both.
"""

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

    The protocol pack h13 calls this function (``Feature.text_systems``), and takes the last system as the baseline of
    the others: the one that is nearest to Tri5Sem, H13's best system.

    Args:
        images: the captions of each image. The systems' names assume four captions.
        captions: the captions of the pool.
        training: captions of other images, from which word similarities are learned.
    """
    documents: list[Document] = [stems_of(texts) for texts in images]
    pool: list[Document] = [stems_of([text]) for text in captions]
    training_documents = [stems_of(texts) for texts in training]
    # The rarity of words, and their usual positions (TagRank), are those in the captions of these images. In H13, they
    # are those in training captions.
    idf = idf_of(documents)
    tag_rank = TagRank.from_training(documents)
    first_captions = [document[:1] for document in documents]
    distributional_kernel = SimilarTrigrams.from_training(training_documents, [distributional_similarity])
    alignment_kernel = SimilarTrigrams.from_training(training_documents, [alignment_similarity])
    semantic_kernel = SimilarTrigrams.from_training(
        training_documents, [distributional_similarity, alignment_similarity], idf
    )
    return {
        "f1-idf": idf_overlaps(documents, pool, idf),
        "tag4": tag_rank(documents, pool),
        "bow1": BagOfWords()(first_captions, pool),
        "bow1-idf": BagOfWords(idf)(first_captions, pool),
        "bow4": BagOfWords()(documents, pool),
        "bow4-idf": BagOfWords(idf)(documents, pool),
        "tri1": Trigrams()(first_captions, pool),
        "tri1-idf": Trigrams(idf)(first_captions, pool),
        "tri4": Trigrams()(documents, pool),
        "tri4-idf": Trigrams(idf)(documents, pool),
        "tri4-dist": distributional_kernel(documents, pool),
        "tri4-align": alignment_kernel(documents, pool),
        "tri4-sem": semantic_kernel(documents, pool),
    }

"""Example calls with which the kernels are compiled before their first use."""

from contrib.ranking_systems.kernels.similar_trigrams import SimilarTrigrams
from contrib.ranking_systems.kernels.tag_rank import TagRank
from contrib.ranking_systems.kernels.word_similarity import distributional_similarity


def compile_text_kernels() -> None:
    documents = [[["dog", "runs"]], [["cat", "sleeps"]]]
    TagRank.from_training(documents)
    SimilarTrigrams.from_training(documents, [distributional_similarity])(documents, documents)

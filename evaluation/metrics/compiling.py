"""Examples that compile the metrics' kernels (`evaluation.compiled`)."""

import numpy as np

from evaluation.metrics.content import content_selection
from evaluation.metrics.content.baselines import BigramPrior, bigram_ranks
from evaluation.metrics.h13 import bleu_pre_matrix, bleu_pre_pairs
from evaluation.metrics.meteor import STAGE_CHOICES, stages_there
from evaluation.metrics.registry import METRICS
from evaluation.metrics.scoring import Scores, score

_CANDIDATES = ["a dog runs over the grass", "two cats sleep"]
_REFERENCES = [["a dog is running on grass", "the dog runs"], ["two cats sleeping", "cats asleep on a bed"]]
_LABELS = [["dog", "grass"], ["cat", "bed"]]


def compile_kernels() -> Scores:
    content_selection([[0, 1], [0]], [[[0], [0, 1]], [[1]]])
    bigram_ranks(_LABELS, BigramPrior.fit(_LABELS))
    bleu_pre_matrix(_CANDIDATES, _REFERENCES)
    bleu_pre_pairs(_CANDIDATES, _REFERENCES, [np.array([0]), np.array([1])])
    stages = STAGE_CHOICES[stages_there() - 1]  # without METEOR's tables, its shorter form
    wanted = [f"{name}|stages:{stages}" if name == "meteor" else name for name in METRICS]
    return score(_CANDIDATES, _REFERENCES, metrics=wanted)

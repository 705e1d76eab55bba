"""Compile all metrics ahead of their first use: `python -m evaluation.metrics.compiling`."""

from evaluation.metrics.meteor import STAGE_CHOICES, stages_there
from evaluation.metrics.registry import METRICS
from evaluation.metrics.scoring import Scores, score

_CANDIDATES = ["a dog runs over the grass", "two cats sleep"]
_REFERENCES = [["a dog is running on grass", "the dog runs"], ["two cats sleeping", "cats asleep on a bed"]]


def compile_metrics() -> Scores:
    stages = STAGE_CHOICES[stages_there() - 1]  # without METEOR's tables, its shorter form
    wanted = [f"{name}|stages:{stages}" if name == "meteor" else name for name in METRICS]
    return score(_CANDIDATES, _REFERENCES, metrics=wanted)


if __name__ == "__main__":  # pragma: no cover
    compile_metrics()

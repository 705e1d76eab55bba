"""Compile all metrics ahead of their first use: `python -m evaluation.metrics.compiling`."""

from evaluation.metrics.registry import METRICS
from evaluation.metrics.scoring import Scores, score

_CANDIDATES = ["a dog runs over the grass", "two cats sleep"]
_REFERENCES = [["a dog is running on grass", "the dog runs"], ["two cats sleeping", "cats asleep on a bed"]]


def compile_metrics() -> Scores:
    return score(_CANDIDATES, _REFERENCES, metrics=METRICS)


if __name__ == "__main__":  # pragma: no cover
    compile_metrics()

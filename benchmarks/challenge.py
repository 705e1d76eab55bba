"""Measure a submission to the evaluation server, from the uploaded bytes to scores and ranks.

The measurement does not include the database and pages.

python -m benchmarks.challenge                      # 40,504 images, five references each
python -m benchmarks.challenge --images 5000
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from quorum.metrics.registry import PreparedReferences
from quorum.statistics.significance import bootstrap_interval, randomization_test

METRICS = ("cider-d", "bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l")
APPS = ("django.contrib.contenttypes", "django.contrib.auth", "judgments", "contrib.challenges")
WORDS, REFERENCES, LENGTH = 12_000, 5, 10


def made_up(count: int, generator: np.random.Generator) -> list[str]:
    """Return random captions by Zipf's law, with a capital and a full stop."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(letters[(number // 26**place) % 26] for place in range(4)) for number in range(WORDS)]
    shares = 1 / np.arange(1, WORDS + 1)
    drawn = generator.choice(WORDS, size=(count, LENGTH), p=shares / shares.sum())
    return [" ".join(words[number] for number in row).capitalize() + "." for row in drawn]


def time_work(what: str, work: Callable[[], Any]) -> Any:
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    print(f"| {what} | {time.perf_counter() - start:.2f} | {time.process_time() - cpu:.2f} |", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the scoring of a submission.")
    parser.add_argument("--images", type=int, default=40_504)
    images = parser.parse_args().images
    from django.conf import settings

    settings.configure(USE_I18N=False, INSTALLED_APPS=APPS, FEATURES={})
    import django

    django.setup()
    from contrib.challenges.caption_files import read_captions
    from contrib.challenges.scores.references import hash_references

    generator = np.random.default_rng(7)
    texts = made_up(images * REFERENCES, generator)
    references = [texts[at : at + REFERENCES] for at in range(0, len(texts), REFERENCES)]
    entries = [{"image_id": at, "caption": text} for at, text in enumerate(made_up(images, generator))]
    raw = json.dumps(entries).encode()
    chunks = [raw[at : at + 65_536] for at in range(0, len(raw), 65_536)]
    PreparedReferences.from_references(references[:100], METRICS).score(texts[:100])  # compile first
    print("| step | s | processor s |")
    print("|---|---|---|")
    captions = time_work(
        f"read and check {len(raw) / 1e6:.1f} MB",
        lambda: read_captions(chunks, {str(at): at for at in range(images)}),
    )
    prepared = time_work(
        "prepare the references, once", lambda: PreparedReferences.from_references(references, METRICS)
    )
    of_image = {f"{at}.jpg": texts for at, texts in enumerate(references)}
    time_work("hash the references, each time", lambda: hash_references(of_image))
    scores = time_work("score a submission", lambda: prepared.score(captions).scores)
    own = scores["cider-d"].images
    time_work("its two intervals", lambda: [bootstrap_interval(own, resamples=2000) for _ in range(2)])
    other = generator.permutation(own)
    time_work("compare it with one other", lambda: randomization_test(own, other, reassignments=10_000))


if __name__ == "__main__":
    main()

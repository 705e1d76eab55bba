"""Measure the time to import scores, and compute WMT23's published figures again.

    python -m benchmarks.imported_scores                                  # 100 metrics x 100,000 captions
    python -m benchmarks.imported_scores ErrorSpanAnnotation/data/mt-metrics-eval-v2/wmt23

Both use an SQLite database in a temporary folder, and leave no files.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

METRICS, SYSTEMS, IMAGES = 100, 10, 10_000
PAIR = "en-de"
# Tie-calibrated accuracy and soft pairwise accuracy as reported for en-de of WMT23, MQM, by metric.
REPORTED_ACCURACIES = {
    "XCOMET-Ensemble-refA": (0.604, 0.939),
    "MetricX-23-refA": (0.603, None),
    "GEMBA-MQM-src": (0.572, 0.982),
    "BLEU-refA": (0.520, 0.857),
    "chrF-refA": (0.519, None),
}


def print_times(label: str, since: tuple[float, float]) -> None:
    print(
        f"{label:44} {time.perf_counter() - since[0]:7.2f} s wall {time.process_time() - since[1]:7.2f} s CPU"
    )


def current_times() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def dataset_of(folder: Path, name: str, references: list[str], outputs: dict[str, list[str]]) -> Any:
    """Import texts with one reference each, and the outputs of systems, line by line. Return the dataset."""
    from judgments.datasets.importing.candidates import import_candidates
    from judgments.datasets.importing.datasets import import_dataset
    from judgments.models import Dataset

    file = folder / "texts.jsonl"

    def write(captions: list[str]) -> Path:
        rows = ({"image": f"{n:06}", "caption": text or "(nothing)"} for n, text in enumerate(captions))
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return file

    import_dataset(format="jsonl", path=write(references), name=name)
    for system, texts in outputs.items():
        import_candidates(format="jsonl", path=write(texts), dataset=name, system=system)
    return Dataset.objects.get(name=name)


def measure_speed(folder: Path) -> None:
    from contrib.comparing.people_scores import compare_with_scores
    from contrib.score_imports.reading import read_scores
    from contrib.score_imports.storing import store_metric_scores

    systems = [f"system-{number}" for number in range(SYSTEMS)]
    outputs = {name: [f"{name} says {n}" for n in range(IMAGES)] for name in systems}
    dataset = dataset_of(folder, "speed", [f"text {n}" for n in range(IMAGES)], outputs)
    scores = folder / "scores"
    scores.mkdir()
    generator = np.random.default_rng(0)
    names = np.repeat(systems, IMAGES).tolist()
    for number in range(METRICS):
        values = generator.normal(size=len(names)).tolist()
        lines = (f"{system}\t{value}\n" for system, value in zip(names, values, strict=True))
        (scores / f"metric-{number}.seg.score").write_text("".join(lines))
    begun = whole = current_times()
    files = read_scores(scores, [])
    print_times(f"read {METRICS} x {len(names):,} scores", begun)
    begun = current_times()
    store_metric_scores(dataset=dataset, files=files)
    print_times("match and store them", begun)
    begun = current_times()
    compare_with_scores(dataset=dataset, first="metric-0", second="metric-1", people="metric-2")
    print_times("compare two", begun)
    print_times("together", whole)


def compare_wmt(folder: Path, data: Path) -> None:
    from contrib.comparing.people_scores import compare_with_scores
    from contrib.score_imports.reading import read_scores
    from contrib.score_imports.storing import store_metric_scores

    def lines(path: Path) -> list[str]:
        return path.read_text(encoding="utf-8").split("\n")[:-1]

    outputs = {
        path.stem: lines(path)
        for path in sorted((data / "system-outputs" / PAIR).iterdir())
        if path.stem not in ("refA", "synthetic_ref")
    }
    dataset = dataset_of(folder, "wmt23", lines(data / "references" / f"{PAIR}.refA.txt"), outputs)
    human = data / "human-scores" / f"{PAIR}.mqm.seg.score"
    begun = current_times()
    for path, names in ((human, ["mqm"]), (data / "metric-scores" / PAIR, [])):
        done = store_metric_scores(dataset=dataset, files=read_scores(path, names), unknown="leave-out")
    print_times(f"import {len(done.metrics)} metrics", begun)
    accuracies: dict[str, tuple[float, float]] = {}
    first, *others = REPORTED_ACCURACIES
    for other in others:
        result = compare_with_scores(dataset=dataset, first=first, second=other, people="mqm")
        systems = result["systems"]
        for name, calibrated, own in zip(
            result["metrics"], systems["calibrated"], systems["own"], strict=True
        ):
            accuracies[name] = calibrated["value"], own["soft_pairwise_accuracy"]["value"]
    print(f"\n{PAIR}, {systems['number']} systems    tie-calibrated          soft pairwise")
    for name, reported in REPORTED_ACCURACIES.items():
        cells = (
            f"{value:.4f} (reported {'–' if stated is None else f'{stated:.3f}'})"
            for value, stated in zip(accuracies[name], reported, strict=True)
        )
        print(f"{name:24}", *cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="of WMT23; left out: the speed is measured")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as name:
        os.environ |= {"DATA_DIR": name, "DJANGO_SETTINGS_MODULE": "config.settings"}
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        if folder:
            compare_wmt(Path(name), folder)
        else:
            measure_speed(Path(name))


if __name__ == "__main__":
    main()

"""Measure the time that more processes save: the same work with one and with several workers, through the product.

    python -m benchmarks.parallel                                  # a tenth of the sizes below, 1 and 2 workers
    python -m benchmarks.parallel --scale 1 --workers 1 2 4 8      # about 20 minutes on two cores

- score: BLEU-1..4, ROUGE-L, CIDEr and CIDEr-D of 1,000,000 captions with five references each (`score`), and the
  whole command from file to file
- alpha: 100,000 resamples of Krippendorff's alpha of 100,000 units, five workers' values from 0 to 100
- export: 1,000,000 graded judgments as `jsonl`, on SQLite

"ceiling" is how much more work two processes that share nothing do in the time of one, which is the most that the
machine allows. Outputs are compared byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.captions import made_up
from benchmarks.export import fill_study, set_up

CAPTIONS, UNITS, RESAMPLES, JUDGMENTS = 1_000_000, 100_000, 100_000, 1_000_000
METRICS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider", "cider-d")

# A function that does the work with a number of workers, and returns its output.
Work = Callable[[int], bytes]


def scoring_work(scale: float, folder: Path) -> Work:
    from quorum.metrics import score
    from quorum.numeric.parallel import LocalPool, use_pool

    captions = made_up(int(CAPTIONS * scale))

    def work(workers: int) -> bytes:
        with use_pool(LocalPool(workers)):
            scores = score(captions.candidates, captions.references, METRICS).scores
        return b"".join(figures.images.tobytes() for figures in scores.values())

    return work


def scoring_files(scale: float, folder: Path) -> Work:
    captions = made_up(int(CAPTIONS * scale))
    (folder / "candidates.json").write_text(json.dumps(dict(enumerate(captions.candidates))))
    (folder / "references.json").write_text(json.dumps(dict(enumerate(captions.references))))
    return command(folder, "score", "--candidates", "candidates.json", "--references", "references.json")


def alpha(scale: float, folder: Path) -> Work:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 101, UNITS)
    values = np.clip(truth + rng.integers(-15, 16, (5, UNITS)), 0, 100)
    judged = rng.random(values.shape) < 0.7
    rows = (
        f"{unit},{worker},{values[worker, unit]}" for worker, unit in zip(*np.nonzero(judged), strict=True)
    )
    (folder / "judgments.csv").write_text("\n".join(["unit,worker,value", *rows]) + "\n")
    resamples = f"{int(RESAMPLES * scale)}"
    return command(
        folder, "agreement", "judgments.csv", "--naive", "--level", "interval", "--resamples", resamples
    )


def export_work(scale: float, folder: Path) -> Work:
    fill_study(int(JUDGMENTS * scale) // 3 + 1)
    return command(folder, "export_judgments", "big", "--format", "jsonl")


def command(folder: Path, name: str, *arguments: str) -> Work:
    manage = Path(__file__).parent.parent / "manage.py"

    def work(workers: int) -> bytes:
        output = folder / f"{name}-{workers}"
        call = [
            sys.executable,
            str(manage),
            name,
            *arguments,
            "--output",
            str(output),
            "--workers",
            f"{workers}",
        ]
        subprocess.run(call, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        return output.read_bytes()

    return work


WORKS = {"score": scoring_work, "score command": scoring_files, "alpha": alpha, "export": export_work}


def measure(name: str, folder: Path, scale: float, counts: list[int], repeats: int) -> None:
    """Print the best time for each number of workers.

    The numbers take turns, so that a slow minute affects all of them.
    """
    work = WORKS[name](scale, folder)
    if name == "score":
        scoring_work(0.001, folder)(1)  # compile and load first
    seconds: dict[int, float] = {}
    digests = set()
    for _ in range(repeats):
        for workers in counts:
            start = time.perf_counter()
            output = work(workers)
            spent = time.perf_counter() - start
            seconds[workers] = min(spent, seconds.get(workers, spent))
            digests.add(hashlib.sha256(output).hexdigest())
    same = "the same" if len(digests) == 1 else "DIFFERENT"
    for workers in counts:
        ratio = seconds[counts[0]] / seconds[workers]
        print(f"| {name} | {workers} | {seconds[workers]:.1f} | {ratio:.2f} | {same} |", flush=True)


def print_ceiling(counts: list[int]) -> None:
    """Print how much more work several processes do together than one, each on a matrix of its own."""
    context = get_context("fork")
    alone = 0.0
    for count in counts:
        processes = [context.Process(target=_draw_and_count) for _ in range(count)]
        start = time.perf_counter()
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        spent = time.perf_counter() - start
        alone = alone or spent
        print(f"| ceiling | {count} | {spent / count:.1f} | {count * alone / spent:.2f} | |", flush=True)


def _draw_and_count() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        np.bincount(rng.integers(0, UNITS, UNITS), minlength=UNITS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("works", nargs="*", help=f"of {', '.join(WORKS)} (default: all)")
    parser.add_argument("--scale", type=float, default=0.1, help="of the sizes above (default: %(default)s)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument("--repeats", type=int, default=2, help="the best counts (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DATA_DIR"] = scratch
        set_up()
        print_table(options, Path(scratch))


def print_table(options: argparse.Namespace, folder: Path) -> None:
    print("| what | workers | seconds | ratio | bytes |\n|---|---|---|---|---|")
    print_ceiling(options.workers)
    for name in options.works or WORKS:
        measure(name, folder, options.scale, options.workers, options.repeats)


if __name__ == "__main__":
    main()

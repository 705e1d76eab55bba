"""Work in parts: the same bytes from any number of processes, whichever is killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from quorum.metrics.comparison import kernel_inputs
from quorum.metrics.text import ngrams, tokens
from quorum.numeric.parallel import LocalPool, map_parts, use_pool
from quorum.statistics import power, resampling
from quorum.statistics.power import VoterModel, simulation
from tests.installations import until

WORDS = ("a", "dog", "cat", "runs", "on", "the", "grass.", "don't", "two", "Dogs,", "in", "snow", "cannot")


def captions(count: int, rng: np.random.Generator) -> list[str]:
    return [" ".join(rng.choice(WORDS, size=rng.integers(1, 12))) for _ in range(count)]


def test_captions_get_the_same_scores_from_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    references, candidates = tmp_path / "references.json", tmp_path / "system.json"
    references.write_text(json.dumps({f"{image}": captions(3, rng) for image in range(300)}))
    candidates.write_text(json.dumps({f"{image}": text for image, text in enumerate(captions(300, rng))}))
    monkeypatch.setattr(
        ngrams, "TOKENS_PER_BUCKET", 600
    )  # numbers of n-grams, and so the order of sums, depend on it
    in_one_part = scored(tmp_path, candidates, references, workers=1)
    monkeypatch.setattr(kernel_inputs, "TOKENS_PER_PART", 500)
    monkeypatch.setattr(tokens, "TEXTS_PER_BLOCK", 64)
    monkeypatch.setattr(tokens, "BLOCKS_PER_PART", 2)
    for workers in (1, 2, 3):
        assert scored(tmp_path, candidates, references, workers=workers) == in_one_part


def scored(folder: Path, candidates: Path, references: Path, *, workers: int) -> bytes:
    output = folder / f"scores-{workers}.json"
    call_command(
        "score", candidates=candidates, references=references, output=output, processes=workers, verbosity=0
    )
    return output.read_bytes()


def test_intervals_are_the_same_from_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    table = tmp_path / "judgments.csv"
    rows = [f"{unit},{worker},{rng.integers(1, 6)}" for unit in range(60) for worker in "abc"]
    table.write_text("\n".join(["unit,worker,value", *rows]) + "\n")
    monkeypatch.setattr(resampling, "MIN_PARALLEL_NUMBERS", 0)
    outputs = []
    for workers in (1, 2, 3):
        output = tmp_path / f"agreement-{workers}.json"
        call_command(
            "agreement", table, naive=True, resamples=9000, output=output, processes=workers, verbosity=0
        )
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]


def test_every_block_of_resamples_has_random_numbers_of_its_own() -> None:
    draws = resampling.bootstrap(
        lambda weights: weights[:, 0],
        np.ones(1000, dtype=np.int64),
        resamples=3 * resampling.BLOCK,
        generator=np.random.default_rng(7),
    ).reshape(3, resampling.BLOCK)
    first = resampling.bootstrap(
        lambda weights: weights[:, 0],
        np.ones(1000, dtype=np.int64),
        resamples=resampling.BLOCK,
        generator=np.random.default_rng(7),
    )
    assert draws[0].tolist() == first.tolist()
    assert draws[1].tolist() != draws[0].tolist()
    assert draws[2].tolist() != draws[1].tolist()
    # a unit is drawn Poisson(1) times, nearly
    assert draws.mean(axis=1) == pytest.approx([1, 1, 1], abs=0.1)


def test_power_is_the_same_from_any_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "VOTES_PER_BATCH", 2_000)
    results = []
    for workers in (1, 2, 3):
        with use_pool(LocalPool(workers)):
            results.append(
                power.power_of(
                    power.TwoSystems(0.6), VoterModel(0.8), [power.Size(100, 1, 3)], simulations=200
                )
            )
    assert results[0] == results[1] == results[2]


def square(folder: Path, number: int) -> int:
    """Kill this process once, in the midst of the work."""
    marker = folder / "killed"
    if number == 5 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2


def test_the_parts_of_a_killed_process_are_computed_again(tmp_path: Path) -> None:
    with use_pool(LocalPool(2)):
        assert list(map_parts(square, tmp_path, range(20))) == [number**2 for number in range(20)]
    assert (tmp_path / "killed").exists()


SLEEPER = """
import os, pathlib, sys, time
from quorum.numeric.parallel import LocalPool, map_parts, use_pool

def part(folder, number):
    pathlib.Path(folder, str(os.getpid())).touch()
    time.sleep(3600)

with use_pool(LocalPool(2)):
    list(map_parts(part, sys.argv[1], [1, 2]))
"""


def test_child_processes_end_when_their_parent_was_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", SLEEPER, str(tmp_path)])
    until(lambda: len(list(tmp_path.iterdir())) == 2, what="two children at work")
    parent.kill()
    parent.wait()
    children = [int(path.name) for path in tmp_path.iterdir()]
    until(lambda: not any(map(is_running, children)), what="the end of the children")


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        state: Any = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"

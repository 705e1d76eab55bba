"""What goes to other processes: the same values come out, nothing that was not declared does, and no code runs."""

import io
import math
import pickle
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.conf import settings

from judgments.jobs import pool
from judgments.jobs.runs import PLATFORM_PACKAGES
from quorum.metrics.comparison import kernel_inputs
from quorum.metrics.registry import score
from quorum.metrics.text import ngrams, tokens
from quorum.numeric import packing
from quorum.numeric.parallel import PartFunction, Results, use_pool
from quorum.statistics import power, resampling
from quorum.statistics.agreement.alpha import alpha_of_judgments
from quorum.statistics.power import simulation
from tests.test_parallel import captions


def through_a_file(value: Any) -> Any:
    file = io.BytesIO()
    packing.write(value, file)
    file.seek(0)
    return packing.read(file, PLATFORM_PACKAGES)


class Elsewhere:
    """A pool that computes every part from what other processes would read."""

    def __init__(self) -> None:
        self.computed: set[str] = set()

    def map(
        self, function: PartFunction, shared: Any, parts: Sequence[Any], *, threads: bool = False
    ) -> Results:
        there, everything, pieces = through_a_file((function, shared, list(parts)))
        assert there is function
        self.computed.add(function.__name__)
        for part in pieces:
            yield through_a_file(there(everything, part))


def test_values_come_out_as_they_went_in() -> None:
    value = {
        "plain": [None, True, 3, 2**200, 0.1, -math.inf, "\u00e9\ud800"],
        3: ({1, 2}, frozenset({"a"}), range(2, 9, 3), b"\0\1", Path("/somewhere")),
        "when": datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC),
        UUID(int=5): power.Size(1, 2, 3),
    }
    assert through_a_file(value) == value
    assert isinstance(through_a_file(np.float32(2.5)), np.float32)
    table = np.arange(12, dtype=np.int16).reshape(3, 4)[:, ::2]
    found = through_a_file([table, np.array(["a", "bc"])])
    assert (found[0].dtype, found[0].tolist()) == (table.dtype, table.tolist())
    assert found[1].tolist() == ["a", "bc"]
    packing.declare(power.true_share)
    generator = np.random.default_rng(4)
    generator.random(3)
    assert through_a_file(generator).random(5).tolist() == generator.random(5).tolist()
    call = through_a_file(partial(power.true_share, 0.6, right=np.float64(0.8)))
    assert call() == power.true_share(0.6, 0.8)


@pytest.mark.parametrize(
    "value",
    [
        lambda: 1,
        print,
        eval,
        partial(eval, "1"),
        object(),
        np.array([object()]),
        np.array([object(), object()]),
        np.array([None]),
        settings,
        {"a": [{1: print}]},
    ],
)
def test_what_nobody_declared_does_not_go(value: Any) -> None:
    with pytest.raises(packing.NotPackable):
        packing.write(value, io.BytesIO())


@pytest.mark.parametrize(
    "line",
    [
        b'{"builtins:eval": null}',
        b'{"os:system": null}',
        b'{"judgments.jobs.claims:import_string": null}',
        b'{"judgments.models.jobs:Job": []}',
        b'{"antigravity:nothing": null}',
        pickle.dumps(print),
    ],
)
def test_what_nobody_declared_is_not_read(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"not declared|codec|Expecting"):
        packing.read(io.BytesIO(line + b"\n"), PLATFORM_PACKAGES)


@pytest.mark.parametrize("name", ["../../uploads", "/", "1-0123abcd-0/..", "1-0123abcd", "uploads"])
def test_a_part_is_computed_in_no_other_folder(
    name: str, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    folder = pool.folder_of_parts() / name
    folder.mkdir(parents=True, exist_ok=True)
    pool.compute_part(name, 1)
    assert "names no folder of parts" in caplog.text
    assert not (folder / "1.claim").exists()


def test_an_array_of_objects_is_not_read() -> None:
    file = io.BytesIO()
    file.write(b'{"array": null}\n')
    np.save(file, np.array([print], dtype=object), allow_pickle=True)
    file.seek(0)
    with pytest.raises(ValueError, match="allow_pickle"):
        packing.read(file, PLATFORM_PACKAGES)


def test_scores_intervals_and_power_are_the_same_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_inputs, "TOKENS_PER_PART", 500)
    monkeypatch.setattr(tokens, "TEXTS_PER_BLOCK", 64)
    monkeypatch.setattr(tokens, "BLOCKS_PER_PART", 2)
    monkeypatch.setattr(resampling, "MIN_PARALLEL_NUMBERS", 0)
    monkeypatch.setattr(simulation, "VOTES_PER_BATCH", 6_000)

    def figures() -> list[Any]:
        rng = np.random.default_rng(5)
        references = [captions(3, rng) for _ in range(300)]
        found = score(captions(300, rng), references, ["bleu-4", "cider", "cider-d", "rouge-l"])
        units, values = np.repeat(np.arange(60), 3), rng.integers(1, 6, 180)
        workers = np.tile(np.arange(3), 60)
        people = power.VoterModel(0.8)
        return [
            {name: one.images.tolist() for name, one in found.scores.items()},
            alpha_of_judgments(units, workers, values, resamples=9000, seed=1, clusters="naive"),
            *power.power_of(power.TwoSystems(0.6), people, [power.Size(100, 1, 3)], simulations=200),
        ]

    monkeypatch.setattr(ngrams, "TOKENS_PER_BUCKET", 600)
    here, pool = figures(), Elsewhere()
    with use_pool(pool):
        assert figures() == here
    assert pool.computed >= {
        "_cut_blocks",
        "_count_part",
        "_bucket_texts",
        "_numbers_of_range",
        "_scores_of_groups",
        "_matches_of_groups",
        "_draw_block",
        "_simulate_batch",
    }

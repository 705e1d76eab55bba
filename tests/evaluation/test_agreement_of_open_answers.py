"""The interval of agreement about open answers goes by image, and by people only where they are known."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evaluation.data.judgment_sets.records import UnitRow, WorkerRow
from evaluation.results.consensus import measure_agreement
from judgments.kinds import IncludedJudgment

UNITS, IMAGES, PEOPLE = 24, 8, 6


@pytest.mark.parametrize(
    ("anonymous", "clusters"), [(False, {"item": IMAGES, "rater": PEOPLE}), (True, {"item": IMAGES})]
)
def test_open_answers_are_by_image_and_by_known_people(anonymous: bool, clusters: dict[str, int]) -> None:
    draw = np.random.default_rng(1)
    kind: Any = SimpleNamespace(
        is_open=True,
        aggregation=SimpleNamespace(
            level="nominal", no_alpha="", codes=lambda _, given: {"a": given, "b": 1}
        ),
    )
    judged = [
        IncludedJudgment(SimpleNamespace(pk=unit), worker, int(draw.random() < 0.3 + 0.4 * (unit % 2)))
        for unit in range(UNITS)
        for worker in range(PEOPLE)
    ]
    table: Any = None
    found = measure_agreement(
        kind,
        table,
        [UnitRow(unit, f"u{unit}", "", None) for unit in range(UNITS)],
        [WorkerRow(pk, f"w{pk}", anonymous, simulated=False) for pk in range(PEOPLE)],
        judged,
        seed=1,
        images=np.arange(UNITS) // 3,
    )
    alpha = found["alpha"]
    assert alpha["clusters"] == clusters
    assert alpha["low"] < alpha["value"] < alpha["high"]

"""A fifth of all calls fail, and the process that makes them is killed: small runs of `python -m tests.fault_runs`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fault_runs.run import FaultRun
from tests.installations import Installation


@pytest.mark.parametrize(("seed", "database"), [(1, "postgresql"), (2, "sqlite")])
def test_both_sides_agree_to_the_cent_after_faults_and_kills(
    seed: int, installation_on: Callable[[str], Installation], database: str
) -> None:
    run = FaultRun(installation_on(database), seed=seed, hits=24, people=2, kills=3)
    outcome = run.run()
    assert outcome.kills >= 1
    assert sum(outcome.faults.values()) > 24
    assert outcome.said["done"] > 24

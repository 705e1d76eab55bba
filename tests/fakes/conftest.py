"""An emulator whose clock stands still, and a requester's client that asks once and does not try again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.fakes.mturk import Clock, MTurkEmulator
from tests.fakes.turking import NOON, mturk_client

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient


@pytest.fixture
def emulator() -> Iterator[MTurkEmulator]:
    """$100.00 prepaid, noon of a day, nobody at work."""
    with MTurkEmulator(seed=5, clock=Clock(at=NOON), balance_cents=10_000) as running:
        yield running


@pytest.fixture
def client(emulator: MTurkEmulator) -> Iterator[MTurkClient]:
    """The requester's boto3 client."""
    made = mturk_client(emulator)
    yield made
    made.close()

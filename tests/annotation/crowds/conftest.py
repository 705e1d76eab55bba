"""What the tests of crowds share."""

from collections.abc import Iterator

import pytest

from tests.annotation.crowds.turking import emulated
from tests.fakes.mturk import MTurkEmulator


@pytest.fixture
def turk(db: None) -> Iterator[MTurkEmulator]:
    """An emulated Mechanical Turk, and settings that lead to it."""
    with emulated() as emulator:
        yield emulator

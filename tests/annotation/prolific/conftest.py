"""An emulated account at Prolific, and a client of it."""

from collections.abc import Iterator

import pytest

from annotation.crowds.prolific.client import ProlificClient
from tests.fakes.prolific import ProlificEmulator


@pytest.fixture
def prolific() -> Iterator[ProlificEmulator]:
    """An account with 1,000.00 in it."""
    with ProlificEmulator() as emulator:
        yield emulator


@pytest.fixture
def client(prolific: ProlificEmulator) -> Iterator[ProlificClient]:
    """A client of that account."""
    with ProlificClient(url=prolific.url, token=prolific.token) as opened:
        yield opened

"""Fixtures of the tests of Prolific: a running emulator, and a study that is open there."""

from collections.abc import Iterator
from decimal import Decimal

import pytest
from pytest_django import Settings

from annotation.crowds.opening import open_study
from contrib.prolific.tests.emulator import Faults, ProlificEmulator
from contrib.prolific.tests.panel import Panel, panel_study, point_at


@pytest.fixture
def prolific(settings: Settings) -> Iterator[ProlificEmulator]:
    with ProlificEmulator(faults=Faults(retry_after=0)) as emulator:
        point_at(emulator, settings)
        settings.PROLIFIC_FEE_PERCENT = Decimal("33.3")
        yield emulator


@pytest.fixture
def panel(prolific: ProlificEmulator) -> Panel:
    """Return a study that is open at the emulator."""
    study = panel_study()
    open_study(study=study)
    return Panel(study, prolific)

"""What the tests of Prolific share."""

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
    """An open study."""
    study = panel_study()
    open_study(study=study)
    return Panel(study, prolific)

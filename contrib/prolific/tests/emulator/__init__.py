"""An emulator of Prolific's public API over HTTP: studies, places, submissions, bonuses, groups, and what goes wrong.

    with ProlificEmulator(faults=Faults(seed=7, shares={Fault.DROP_AFTER: 0.1})) as prolific:
        client = ProlificClient(url=prolific.url, token=prolific.token)

Rules come from the public reference (docs.prolific.com, OpenAPI document 1.0.0 of August 2026; "R" in the modules) and
from what others saw (Mephisto's and Prolific's own command-line client; "O"). Where neither says anything, the choice
is marked "?".
"""

from contrib.prolific.tests.emulator.faults import Fault, Faults
from contrib.prolific.tests.emulator.server import ProlificEmulator
from contrib.prolific.tests.emulator.world import Refusal, World

__all__ = ["Fault", "Faults", "ProlificEmulator", "Refusal", "World"]

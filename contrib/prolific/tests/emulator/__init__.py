"""An emulator of Prolific's public API over HTTP: studies, submissions, bonuses, groups, webhooks, and network faults.

    with ProlificEmulator(faults=Faults(seed=7, shares={Fault.DROP_AFTER: 0.1})) as prolific:
        client = ProlificClient(url=prolific.url, token=prolific.token)

The rules come from the public reference (docs.prolific.com, OpenAPI document 1.0.0 of August 2026), and from what
others observed (Mephisto, and Prolific's own command-line client). Docstrings and comments mark rules of the reference
by "R" and observations by "O". Where neither tells the rule, the emulator's choice is marked "?".
"""

from contrib.prolific.tests.emulator.faults import Fault, Faults
from contrib.prolific.tests.emulator.server import ProlificEmulator
from contrib.prolific.tests.emulator.world import Refusal, World

__all__ = ["Fault", "Faults", "ProlificEmulator", "Refusal", "World"]

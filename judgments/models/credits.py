"""Find the systems for which judgments of a unit count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NO_SYSTEM = 0  # stands for "no system" in lists of systems' row ids, such as ``Unit.systems``


def credited_systems(systems: Sequence[int], output_systems: Iterable[int]) -> list[int]:
    """Return the systems for which a judgment of a unit, or of one of its options, counts.

    Args:
        systems: row ids of the systems that an imported file credits; empty if it credits none.
        output_systems: row ids of the dataset's systems whose output is the text. They count if the file credits none.
    """
    return [system for system in systems if system != NO_SYSTEM] if systems else list(output_systems)

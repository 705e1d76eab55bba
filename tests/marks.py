"""Parameters of which `make test` runs a few and `make test-long` the rest."""

from collections.abc import Iterable
from typing import Any

import pytest


def long_except(values: Iterable[Any], *short: Any) -> list[Any]:
    """Return the values as parameters; all but the `short` ones are marked as long. A tuple is several parameters."""
    rows = [(value, value if isinstance(value, tuple) else (value,)) for value in values]
    return [
        pytest.param(*row, marks=() if value in short else pytest.mark.long, id="-".join(map(str, row)))
        for value, row in rows
    ]

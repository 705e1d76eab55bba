"""The golden numbers: what other people's programs say (tests/golden/README.md names them)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FOLDER = Path(__file__).parent.parent / "golden"


def golden(name: str) -> Any:
    return json.loads((_FOLDER / name).read_text(encoding="utf-8"))


def with_nan(rows: list[list[float | None]]) -> NDArray[np.float64]:
    """A table in which null stands for a missing answer."""
    return np.array([[np.nan if cell is None else cell for cell in row] for row in rows])

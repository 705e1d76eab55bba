"""The loop that counts comparisons, one pass over the rows."""

import numpy as np
from numpy.typing import NDArray

from evaluation.compiled import compiled


@compiled
def tally(
    first: NDArray[np.int64], second: NDArray[np.int64], outcomes: NDArray[np.int64], table: NDArray[np.int64]
) -> int:
    """Add to `table` (3, K, K), zeros at first, one for each row's outcome, first and second item.

    Returns the first row that sets an item against itself, -1 where none does.
    """
    for row in range(len(first)):
        if first[row] == second[row]:
            return row
        table[outcomes[row], first[row], second[row]] += 1
    return -1

"""The compiled loop that counts comparisons of items by their outcome."""

from quorum.numeric.arrays import Ints
from quorum.numeric.compiling import compiled


@compiled
def count_comparisons(first: Ints, second: Ints, outcomes: Ints, table: Ints) -> int:
    """Count the comparisons by outcome, first and second item in `table` (3, K, K), which must be zeros.

    Return the first row that compares an item with itself, or -1.
    """
    for row in range(len(first)):
        if first[row] == second[row]:
            return row
        table[outcomes[row], first[row], second[row]] += 1
    return -1

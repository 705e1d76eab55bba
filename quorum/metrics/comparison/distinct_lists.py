"""Lists of texts, each kept once, so that the words of a list that many candidates share are counted once."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from quorum.metrics.inputs import check_texts
from quorum.numeric.arrays import Ints, starts_of


class DistinctLists:
    """Numbered lists of texts.

    The same list object always has the same number. Two equal lists have different numbers,
    since their texts are not compared.
    """

    def __init__(self) -> None:
        self._lists: list[Sequence[str]] = []
        self._numbers_by_id: dict[int, int] = {}

    @property
    def texts(self) -> Iterable[str]:
        """The texts of all lists, in the order of the lists' numbers."""
        return chain.from_iterable(self._lists)

    @property
    def starts(self) -> Ints:
        """The position of each list's first text in `texts`, and the number of all texts."""
        return starts_of(np.fromiter(map(len, self._lists), dtype=np.int64, count=len(self._lists)))

    def add(self, lists: Sequence[Sequence[str]], argument: str) -> Ints:
        """Return the (lists,) int64 numbers of the lists. Error messages call the lists `argument`.

        Raise InvalidInput if a list is empty or holds something that is no text.
        """
        numbers_by_id = self._numbers_by_id
        numbers = np.empty(len(lists), dtype=np.int64)
        first_new_number = len(self._lists)
        all_lists = list(lists)
        for position, texts in enumerate(all_lists):
            number = numbers_by_id.get(id(texts))
            if number is None:
                if type(texts) is not list or not texts:
                    check_texts(texts, f"{argument}[{position}]")
                # Keep a reference to the list, so that no other list can get its id().
                number = numbers_by_id[id(texts)] = len(self._lists)
                self._lists.append(texts)
            numbers[position] = number
        # Checking the types of all texts at once is faster than list by list.
        new_lists = self._lists[first_new_number:]
        if not set(map(type, chain.from_iterable(new_lists))) <= {str}:
            for position, texts in enumerate(all_lists):
                check_texts(texts, f"{argument}[{position}]")
        return numbers

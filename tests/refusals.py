"""Expect errors by their class, attributes and the values that they name, whatever their words are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

Error = TypeVar("Error", bound=BaseException)


@contextmanager
def refuses(
    error: type[Error], *values: object, **attributes: object
) -> Iterator[pytest.ExceptionInfo[Error]]:
    with pytest.raises(error) as caught:
        yield caught
    found = {name: getattr(caught.value, name) for name in attributes}
    assert found == attributes
    assert_names(str(caught.value), *values)


def assert_names(sentence: str, *values: object) -> None:
    """Assert that each value stands in the sentence, as a whole word: 3 is not in 13."""
    missing = [v for v in map(str, values) if not re.search(rf"(?<!\w){re.escape(v)}(?!\w)", sentence)]
    assert not missing, f"{missing} missing in {sentence!r}"

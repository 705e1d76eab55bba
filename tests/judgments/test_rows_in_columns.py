"""Rows that are given as columns."""

from __future__ import annotations

import pytest

from common.rows import insert_columns
from judgments.models import System


@pytest.mark.django_db
def test_a_column_that_is_too_short_is_refused_instead_of_cutting_the_others() -> None:
    with pytest.raises(ValueError, match="columns of System have different lengths"):
        insert_columns(System, {"dataset_id": [1, 1], "name": ["a"]})
    assert not System.objects.exists()

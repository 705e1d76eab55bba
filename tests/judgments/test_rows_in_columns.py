"""Rows that are given as columns."""

import pytest
from django.db import DataError

from common.rows.batches import ROWS_PER_BATCH
from common.rows.writing import MAX_PREPARED_ROWS, ROWS_IN_STATEMENT, insert_columns, insert_rows
from judgments.models import System, Unit
from tests.refusals import refuses
from tests.studies import make_study


@pytest.mark.django_db
def test_a_column_that_is_too_short_is_refused_instead_of_cutting_the_others() -> None:
    with refuses(ValueError, "System"):
        insert_columns(System, {"dataset_id": [1, 1], "name": ["a"]})
    assert not System.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "count",
    [
        1,
        MAX_PREPARED_ROWS,
        MAX_PREPARED_ROWS + 1,
        ROWS_IN_STATEMENT,
        ROWS_IN_STATEMENT + 1,
        ROWS_PER_BATCH + 2 * ROWS_IN_STATEMENT - 1,
    ],
)
@pytest.mark.parametrize(
    ("expected", "content", "kind"),
    [
        ([None], [{}], [""]),
        ([1], [{"text": "one"}], ["%s"]),
        ([None, 1, True, "1", 0.0], [{}, {"%s": "O'Neill -- ?"}, {"a": []}], ["", "'", "?"]),
        ([False, 0], [{"0": 0}, {"0": False}], ["0", "{}"]),
    ],
)
def test_many_rows_hold_the_values_that_were_given(
    count: int, expected: list[object], content: list[object], kind: list[str]
) -> None:
    study = make_study("graded")
    study.units.all().delete()
    item = study.dataset.items.first()
    assert item is not None
    given = [
        (expected[at % len(expected)], content[at % len(content)], kind[at % len(kind)], at % 3 == 0)
        for at in range(count)
    ]
    assert count == insert_rows(
        Unit,
        ("study_id", "key", "position", "item_id", "expected", "content", "kind", "control"),
        ((study.pk, f"k%{at}", at, item.pk, *values) for at, values in enumerate(given)),
    )
    stored = Unit.objects.filter(study=study).order_by("position")
    names = ("pk", "key", "expected", "content", "kind", "control", "filtered", "first_id", "withdrawn")
    rows = list(stored.values_list(*names))
    first = rows[0][0]
    assert repr(rows) == repr(
        [(first + at, f"k%{at}", *values, False, None, False) for at, values in enumerate(given)]
    )


@pytest.mark.django_db
@pytest.mark.parametrize("count", [1, MAX_PREPARED_ROWS + 1])
def test_a_number_that_is_too_large_is_refused_instead_of_rounded(count: int) -> None:
    study = make_study("graded")
    item = study.dataset.items.first()
    assert item is not None
    with pytest.raises((OverflowError, DataError)):
        insert_rows(
            Unit,
            ("study_id", "key", "item_id", "position"),
            ((study.pk, f"k{at}", item.pk, 2**63) for at in range(count)),
        )

"""Rows that are given as columns."""

import json

import numpy as np
import pytest
from django.db import DataError, IntegrityError, transaction

from common.rows.batches import ROWS_PER_BATCH
from common.rows.writing import (
    MAX_PREPARED_ROWS,
    ROWS_PER_STATEMENT,
    insert_columns,
    insert_repeated,
    insert_rows,
)
from evaluation.models import Consensus
from judgments.models import Study, System, Unit
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
        ROWS_PER_STATEMENT,
        ROWS_PER_STATEMENT + 1,
        ROWS_PER_BATCH + 2 * ROWS_PER_STATEMENT - 1,
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


def study_of_units(count: int) -> tuple[Study, list[int]]:
    """Return a study without consensus, and the row ids of its ``count`` units."""
    study = make_study("graded")
    study.consensus.all().delete()
    study.units.all().delete()
    item = study.dataset.items.get(position=0)
    insert_rows(
        Unit,
        ("study_id", "key", "position", "item_id"),
        ((study.pk, f"k{at}", at, item.pk) for at in range(count)),
    )
    return study, list(study.units.order_by("pk").values_list("pk", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize("count", [0, 3, 3 * ROWS_PER_STATEMENT])
@pytest.mark.parametrize("distinct", [1, 3, 2 * ROWS_PER_STATEMENT])
def test_rows_that_repeat_values_are_stored_in_order(count: int, distinct: int) -> None:
    study, units = study_of_units(count)
    repeated = [
        (study.pk, at, at / 3 if at % 2 else None, at == 1, json.dumps({"é'": at, "?": "%s"}), None)
        for at in range(distinct)
    ]
    number = [at * 7 % distinct for at in range(count)]
    names = ("study_id", "n", "value", "tie", "votes", "answer")
    insert_repeated(
        Consensus,
        "unit_id",
        np.array(units, dtype=np.int64),
        names,
        repeated,
        np.array(number, dtype=np.int64),
        ready=("votes", "answer"),
    )
    stored = Consensus.objects.filter(study=study).order_by("pk")
    assert repr(list(stored.values_list("unit_id", *names, "source", "pair_id"))) == repr(
        [
            (unit, *cells, json.loads(votes), answer, "judgments", None)
            for unit, (*cells, votes, answer) in zip(units, (repeated[at] for at in number), strict=True)
        ]
    )


@pytest.mark.django_db
@pytest.mark.parametrize("count", [1, ROWS_PER_STATEMENT])
def test_repeated_values_that_a_constraint_forbids_are_refused(count: int) -> None:
    study, pks = study_of_units(count)
    units = np.array(pks, dtype=np.int64)
    for _ in range(2):
        with pytest.raises(IntegrityError), transaction.atomic():
            insert_repeated(Consensus, "unit_id", units, ("study_id", "n"), [(study.pk, -1)], units * 0)
    assert not study.consensus.exists()

"""No list of a researcher asks the database more often when there is more in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from config.api_urls import router
from evaluation.export.formats import FORMATS
from evaluation.services import export_judgments
from judgments.models import Output, Study, System
from tests.evaluation.studies import StudyOf
from tests.evaluation.studies import make_dataset as make_small_dataset
from tests.rows import Model, in_order, make_rows
from tests.studies import make_dataset, make_study
from tests.walking import admin_lists, api_lists

pytestmark = pytest.mark.django_db
FEW, MANY = 12, 240


def asked(client: Client, addresses: Mapping[str, str]) -> dict[str, int]:
    """Name -> how many queries its page costs."""
    counted = {}
    for name, address in addresses.items():
        client.get(address)  # what is made at the first look, such as the front page's permissions
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(address)
            b"".join(answer)
        assert answer.status_code == 200, (name, answer.status_code)
        counted[name] = len(queries)
    return counted


def listed() -> list[Model]:
    """Each model that has a list, and those that its rows point to."""
    querysets = [getattr(view, "queryset", None) for _, view, _ in router.registry]
    return in_order([*admin.site._registry, *(rows.model for rows in querysets if rows is not None)])


def small_study() -> Study:
    make_dataset(images=6, references=2)
    return make_study(
        units_per_hit=5, sampling={"pairs": {"MM": 2}, "references": 1}, controls={"per_hit": 0}
    )


def test_every_list_costs_the_same_for_twelve_rows_and_for_twenty_times_as_many(designer: Client) -> None:
    small_study()
    lists = admin_lists() | api_lists()
    for model in listed():
        make_rows(model, FEW)
    few = asked(designer, lists)
    for model in listed():
        make_rows(model, MANY)
    many = asked(designer, lists)
    assert {name: (few[name], cost) for name, cost in many.items() if cost != few[name]} == {}
    assert len(lists) > 40  # they were found


@pytest.mark.parametrize("form", [one for one in FORMATS if one not in ("keywords", "grounding", "captions")])
def test_a_part_of_an_export_costs_the_same_for_twelve_rows_and_for_twenty_times_as_many(
    form: str, tmp_path: Path
) -> None:
    dataset = make_small_dataset("toy", {"a.jpg": ["a dog runs"]})
    system = System.objects.create(dataset=dataset, name="one")
    counted = []
    for rows in (FEW, MANY):
        study = StudyOf(dataset, "relevance", name=f"With {rows} rows")
        units = [study.unit(f"u{place}", "a.jpg", first=f"text {place}") for place in range(rows // 3)]
        hit = study.hit("h1", units)
        for worker in ("alma", "bela", "clara"):
            study.answer(hit, worker, [1] * len(units))
        Output.objects.get_or_create(system=system, item=units[0].item, caption=units[0].first)
        with CaptureQueriesContext(connection) as queries:
            export_judgments(study=study.study, format=form, output=tmp_path / f"{rows}")
        counted.append(len(queries))
    assert counted[0] == counted[1]

"""No list of a researcher asks the database more often when there is more in it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from config.api_urls import router
from judgments.models import Study
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

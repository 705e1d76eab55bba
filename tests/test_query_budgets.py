"""Lists with thousands of rows of every kind behind them: how many queries each may ask, and how many rows fetch.

Whatever leads to a list is found in the URL configuration; a new one fails here until its budget is stated. Lists of
the admin are searched and filtered besides. Any other is looked at twice, and the second look counts: what a page keeps
(judgments/cached_figures.py) is counted between the two, as a job does. Nothing here depends on the clock.
"""

import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import QualityRule
from contrib.challenges.models import Challenge
from contrib.registration.models import Registration
from evaluation.data.export.exporting import export_judgments
from evaluation.data.export.formats import FORMATS
from judgments import cached_figures
from judgments.admin.base import ReadOnlyAdmin
from judgments.models import HIT, ApiToken, Dataset, Job, Output, Study, System
from judgments.studies import hits_page
from tests.evaluation.studies import StudyOf
from tests.evaluation.studies import make_dataset as make_small_dataset
from tests.fetching import Question, questions
from tests.filling import Model, fill_rows, in_order
from tests.marks import long_except
from tests.query_budgets import A_LIST, MORE_ROWS, QUERIES
from tests.strangers import addresses, registered_resources
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db
ROWS, MANY_ROWS = 2_100, 2_000  # more than any list shows, and than pages count at each look
A_PAGE = 101  # rows: a page of the API, and one to see whether there is another
OWN_PAGES = (HIT, ApiToken, Dataset, Job, Study)  # whose single rows Django's form does not show
LISTS = (
    rf"/admin/(auth|judgments|annotation|evaluation|{'|'.join(settings.FEATURES)})/\w+/",
    # every page of a study but files, which are streamed whole, and what Django itself shows
    r"/admin/judgments/study/STUDY/(?!([\w-]+-file|download|delete|history)/)[\w-]+/",
    r"/api/(?!docs/|schema/)[\w-]+/",
    r"/api/(studies|challenges)/STUDY/[\w-]+/",
    r"/challenges/(STUDY/(own/)?)?",
    r"/adjudicate/",
)


@dataclass(frozen=True)
class Look:
    """What looking at an address asked of the database, plain, searched and filtered."""

    asked: dict[str, list[Question]] = field(default_factory=dict)

    @property
    def queries(self) -> int:
        """The most that one of its addresses asked."""
        return max(map(len, self.asked.values()))

    @property
    def worst(self) -> Question:
        """The query that fetched the most rows."""
        every = (one for asked in self.asked.values() for one in asked)
        return max(every, key=lambda one: one.rows, default=Question(""))


@pytest.fixture(scope="module")
def looks(module_db: None) -> dict[str, Look]:
    """Name -> what a look at it asked."""
    with (
        patch.object(cached_figures, "MAX_AGE_SECONDS", float("inf")),  # a slow machine counts nothing again
        patch.object(cached_figures, "MIN_CACHED_ROWS", MANY_ROWS),
        patch.object(hits_page, "MIN_CACHED_ROWS", MANY_ROWS),
        ExitStack() as stack,
    ):
        for model_admin in admin.site._registry.values():
            # Ten rows show as well as a hundred whether each asks a query of its own.
            stack.enter_context(patch.object(model_admin, "list_per_page", 10))
        study = filled_study()
        client = Client()
        client.force_login(User.objects.create_superuser("designer"))
        client.get("/admin/")  # what a process remembers from its first page on
        found: dict[str, Look] = {}
        for address in addresses(study):
            name = re.sub(rf"(?<=/)({study.pk}|{study.slug})(?=/)", "STUDY", address)
            if any(re.fullmatch(one, name) for one in LISTS) and (look := _look(client, address)) is not None:
                found[name] = look
    return found


def filled_study() -> Study:
    """An open study with a list of everything; what a study has few of, it has few of."""
    study = small_study()
    for model in listed():
        fill_rows(model, ROWS, study)
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    study.refresh_from_db()
    for model in (QualityRule, Registration):  # this one has none, as those that were made say nothing
        rows = model._base_manager.filter(study=study)
        rows._raw_delete("default")  # a registration is never deleted otherwise
    Challenge.objects.filter(pk=Challenge.objects.order_by("pk")[0].pk).update(slug=study.slug)
    return study


def listed() -> list[Model]:
    """Each model that has a list, and those that its rows point to."""
    querysets = [getattr(view, "queryset", None) for _, view, _ in registered_resources()]
    return in_order([*admin.site._registry, *(rows.model for rows in querysets if rows is not None)])


def small_study() -> Study:
    make_dataset(images=6, references=2)
    return make_study(
        units_per_hit=5, sampling={"pairs": {"MM": 2}, "references": 1}, controls={"per_hit": 0}
    )


def _look(client: Client, address: str) -> Look | None:
    """Return what an address asked; None where it shows nothing."""
    answer, asked = _get(client, address)
    if answer.status_code != 200:
        return None
    if _shown_list(answer) is None:
        for job in Job.objects.filter(kind=cached_figures.FIGURES_JOB):
            study, names = Study.objects.get(slug=job.args["study"]), job.args["names"]
            cached_figures.store_figures(cached_figures.recompute_figures(study, names))
            job.delete()
        answer, asked = _get(client, address)
    look = Look({"": asked})
    for chosen in _narrowed(answer):
        answer, look.asked[chosen] = _get(client, address + chosen)
        assert answer.status_code == 200, (address, chosen, answer.status_code)
    return look


def _get(client: Client, address: str) -> tuple[Any, list[Question]]:
    with questions() as asked:
        answer = client.get(address)
        b"".join(answer)
    return answer, asked


def _shown_list(answer: Any) -> Any:
    """Return the ChangeList of a list of the admin, else None."""
    return (getattr(answer, "context_data", None) or {}).get("cl")


def _narrowed(answer: Any) -> list[str]:
    """Of a list of the admin: a search, and the last choice of its first filter."""
    shown = _shown_list(answer)
    if shown is None:
        return []
    narrowed = ["?q=12"] if shown.search_fields else []
    for one in shown.filter_specs:
        choices = [choice["query_string"] for choice in one.choices(shown) if "query_string" in choice]
        if len(choices) > 1:
            return [*narrowed, choices[-1]]
    return narrowed


def _is_plain(name: str) -> bool:
    return name not in QUERIES and re.fullmatch(r"/api/[\w-]+/", name) is not None


@pytest.mark.long
def test_every_list_has_a_budget(looks: dict[str, Look]) -> None:
    assert sum(map(_is_plain, looks)) > 40
    without = sorted(name for name in looks.keys() - QUERIES if not _is_plain(name))
    assert not without, (
        f"{without} have no budget; expected an entry of each in QUERIES, tests/query_budgets.py"
    )
    gone = sorted(QUERIES.keys() - looks)
    assert not gone, f"{gone} have a budget but showed no list; expected an answer of 200 from each"


@pytest.mark.long
def test_no_list_asks_more_often_than_its_budget_says(looks: dict[str, Look]) -> None:
    over = {name: look.queries for name, look in looks.items() if look.queries > QUERIES.get(name, A_LIST)}
    assert over == {}


@pytest.mark.long
def test_no_list_fetches_more_rows_than_it_shows(looks: dict[str, Look]) -> None:
    over = {name: look.worst for name, look in looks.items() if look.worst.rows > MORE_ROWS.get(name, A_PAGE)}
    assert over == {}


@pytest.mark.long
def test_rows_that_the_admin_only_shows_are_neither_added_nor_changed_nor_deleted(
    looks: dict[str, Look], client: Client
) -> None:
    client.force_login(User.objects.get(username="designer"))
    registered = admin.site._registry.items()
    shown = [
        model for model, pages in registered if isinstance(pages, ReadOnlyAdmin) and model not in OWN_PAGES
    ]
    assert len(shown) >= 19
    for model in shown:
        name, row = f"admin:{model._meta.label_lower.replace('.', '_')}", model._default_manager.all()[0]
        change = reverse(f"{name}_change", args=[row.pk])
        assert client.get(change).status_code == 200, name
        assert client.get(reverse(f"{name}_add")).status_code == 403, name
        for address in (change, reverse(f"{name}_delete", args=[row.pk])):
            assert client.post(address, {"post": "yes"}).status_code == 403, address


@pytest.mark.long
def test_lists_of_the_admin_were_searched_and_filtered(looks: dict[str, Look]) -> None:
    chosen = [one for look in looks.values() for one in look.asked]
    assert chosen.count("?q=12") > 10
    assert sum(one.startswith("?") and one != "?q=12" for one in chosen) > 10


# not of one caption of one image, or not of judgments
OTHERS = ("keywords", "grounding", "spans", "captions", "demographics")


@pytest.mark.parametrize(
    "form", long_except((one for one in FORMATS if one not in OTHERS), "jsonl", "parquet", "qrels", "mtme")
)
def test_a_part_of_an_export_costs_the_same_for_few_rows_and_for_many(form: str, tmp_path: Path) -> None:
    dataset = make_small_dataset("toy", {"a.jpg": ["a dog runs"]})
    system = System.objects.create(dataset=dataset, name="one")
    counted = []
    for rows in (12, 240):
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

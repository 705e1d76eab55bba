"""The researchers' side of the API: who may, what is listed, how it is paged, and studies made over HTTP."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db.models import Q
from django.test import Client

from judgments.design.reading.study_files import write_toml
from judgments.models import HIT, Job, Study, Unit
from judgments.studies.designs import design_of
from tests.annotation.calling import is_problem
from tests.doors import get, key_of
from tests.refusals import assert_names
from tests.studies import make_dataset, make_study, make_worker

pytestmark = pytest.mark.django_db

LISTS = [
    "datasets", "systems", "studies", "units", "hits", "jobs", "assignments", "judgments", "workers", "consensus",
    "reports", "exports", "items", "captions", "outputs", "pairs", "events", "roles", "exclusions", "cases",
    "problem-reports", "budgets", "ledger", "publications", "sessions", "webhooks", "deliveries", "registrations",
    "releases", "dataset-roles", "deposits",
]  # fmt: skip
PUBLISHED = (
    "datasets",
    "systems",
    "items",
    "captions",
    "outputs",
)  # lists of which everybody reads some rows
DESIGN = {"name": "By HTTP", "dataset": "animals", "protocol": "graded", "seed": 4}


def make_designer(*permissions: str) -> dict[str, str]:
    """The headers of a staff member who may look at everything, and do what ``permissions`` name."""
    user = User.objects.create_user("designer", is_staff=True)
    user.user_permissions.set(
        Permission.objects.filter(Q(codename__in=permissions) | Q(codename__startswith="view_"))
    )
    return key_of(user)


@pytest.fixture
def designer() -> dict[str, str]:
    """The headers of somebody who may create and change studies."""
    return make_designer("add_study", "change_study")


def post(path: str, body: Any, headers: dict[str, str], kind: str = "application/json") -> Any:
    data = body if isinstance(body, str) else json.dumps(body)
    return Client().post(path, data=data, content_type=kind, headers=headers)


def test_strangers_get_nothing() -> None:
    make_study()
    person = User.objects.create_user("person", is_staff=True)
    gone = User.objects.create_user("gone", is_staff=True)
    browser = Client()
    browser.force_login(person)
    of_newcomer = key_of(User.objects.create_user("newcomer", is_staff=True))
    of_person, of_gone = key_of(person), key_of(gone)
    User.objects.filter(pk=gone.pk).update(is_active=False)
    User.objects.filter(pk=person.pk).update(is_staff=False)  # a token outlives the rights of its account
    for name in PUBLISHED:
        for headers in ({}, of_person, of_newcomer):
            assert Client().get(f"/api/{name}/", headers=headers).json()["results"] == []
        is_problem(Client().post(f"/api/{name}/"), 401)
    for name in (*LISTS, "studies/a-triplet-study", "units/1"):
        if name in PUBLISHED:
            continue
        assert is_problem(Client().get(f"/api/{name}/"), 401)
        is_problem(Client().get(f"/api/{name}/", headers=of_person), 403)
        is_problem(Client().get(f"/api/{name}/", headers=of_gone), 401)
        is_problem(browser.get(f"/api/{name}/"), 403)
        if name in LISTS:
            is_problem(Client().get(f"/api/{name}/", headers=of_newcomer), 403)


def test_staff_may_use_the_session_of_their_browser() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.create_superuser("designer"))
    assert browser.get("/api/studies/").status_code == 200
    response = browser.post("/api/studies/", data="{}", content_type="application/json")
    assert "CSRF" in is_problem(response, 403)["detail"]


def test_a_reader_changes_nothing() -> None:
    reader = make_designer()
    study = make_study(opened=False)
    for path in ("", f"{study.slug}/generate/", f"{study.slug}/open/", f"{study.slug}/close/"):
        is_problem(post(f"/api/studies/{path}", {}, reader), 403)
    assert Study.objects.get().state == "draft"
    assert get("/api/studies/", reader)["results"]


def test_pages_follow_each_other_without_loss_in_any_order(designer: dict[str, str]) -> None:
    make_study()
    expected = Unit.objects.order_by("position").values_list("key", flat=True)
    for ordering in ("id", "-id", "position", "-position"):
        page = get(f"/api/units/?page_size=4&ordering={ordering}", designer)
        assert page["previous"] is None
        forward = [page]
        while page["next"]:
            page = get(page["next"], designer)
            forward.append(page)
        seen = [row["unit"] for page in forward for row in page["results"]]
        assert sorted(seen) == sorted(expected)
        if "position" in ordering:
            assert seen == list(expected if ordering == "position" else reversed(expected))
        backward = [page["results"]]
        while page["previous"]:
            page = get(page["previous"], designer)
            backward.insert(0, page["results"])
        assert backward == [page["results"] for page in forward]


def test_rows_of_equal_value_are_not_lost_between_pages(designer: dict[str, str]) -> None:
    for number in range(7):
        make_dataset(f"set-{number}", images=2)
    page = get("/api/systems/?ordering=name&page_size=3", designer)
    seen = [row["id"] for row in page["results"]]
    while page["next"]:
        page = get(page["next"], designer)
        seen += [row["id"] for row in page["results"]]
    assert len(seen) == len(set(seen)) == 14


def test_rows_that_come_between_two_pages_shift_nothing(designer: dict[str, str]) -> None:
    for number in range(4):
        make_dataset(f"b-{number}", images=2)
    first = get("/api/datasets/?page_size=2", designer)
    make_dataset("a-new", images=2)
    second = get(first["next"], designer)
    names = [row["name"] for row in [*first["results"], *second["results"]]]
    assert names == ["b-0", "b-1", "b-2", "b-3"]


def test_lists_are_filtered(designer: dict[str, str]) -> None:
    study, other = make_study(), make_study("graded")
    units = get(f"/api/units/?study={study.slug}&control=true&page_size=1000", designer)["results"]
    assert {unit["study"] for unit in units} == {study.slug}
    assert all(unit["control"] and unit["expected"] in (1, 2) for unit in units)
    assert len(units) == Unit.objects.filter(study=study, control=True).count()
    hits = get(f"/api/hits/?study={other.slug}&open=true", designer)["results"]
    assert len(hits) == HIT.objects.filter(study=other).count()
    assert get(f"/api/hits/?study={other.slug}&open=false", designer)["results"] == []
    assert [row["slug"] for row in get("/api/studies/?protocol=graded", designer)["results"]] == [other.slug]


@pytest.mark.parametrize(
    "query",
    [
        "studdy=a-triplet-study",
        "study=no-such-study",
        "study=%00",
        "control=maybe",
        "kind=%00",
        "ordering=expected",
        "ordering=",
        "page_size=0",
        "page_size=1001",
        "page_size=-1",
        "page_size=ten",
        "page_size=" + "9" * 5000,
        "cursor=",
        "cursor=x",
        "cursor=" + "W" * 3000,
        "cursor=WzAsICJ4IiwgIngiXQ==",  # [0, "x", "x"]
        "cursor=WzAsIG51bGwsIG51bGxd",  # [0, null, null]
        "cursor=WzAsICIxIiwgWzFdXQ==",  # [0, "1", [1]]
        "cursor=MQ==",  # 1
        "format=xml",
    ],
)
def test_a_parameter_that_makes_no_sense_is_a_400(query: str, designer: dict[str, str]) -> None:
    make_study()
    problem = is_problem(Client().get(f"/api/units/?{query}", headers=designer), 400)
    assert problem["errors"]
    if query.startswith("studdy"):
        assert_names(problem["detail"], "study")


def test_a_cursor_with_a_text_that_no_database_holds_is_a_400(designer: dict[str, str]) -> None:
    cursor = "WzAsICJcdTAwMDAiLCAxXQ=="  # [0, "\\u0000", 1]
    is_problem(Client().get(f"/api/datasets/?cursor={cursor}", headers=designer), 400)


def test_a_huge_cursor_is_an_empty_page_or_a_400(designer: dict[str, str]) -> None:
    # [0, "9"*30, "9"*30]
    cursor = "WzAsICI5OTk5OTk5OTk5OTk5OTk5OTk5OTk5IiwgIjk5OTk5OTk5OTk5OTk5OTk5OTk5OTkiXQ=="
    make_study()
    for ordering in ("id", "position"):
        response = Client().get(f"/api/units/?cursor={cursor}&ordering={ordering}", headers=designer)
        assert response.status_code in (200, 400)


def test_a_cursor_before_the_first_time_is_an_empty_page_or_a_400(designer: dict[str, str]) -> None:
    cursor = b64encode(b'[0, "0001-01-01T00:00:00+23:59", "00000000-0000-4000-8000-000000000000"]').decode()
    response = Client().get(f"/api/assignments/?cursor={cursor}", headers=designer)
    assert response.status_code in (200, 400)


@pytest.mark.parametrize(
    "path", ["units/999999", "units/x", "units/" + "9" * 40, "datasets/none", "reports/0"]
)
def test_what_is_not_there_is_a_404(path: str, designer: dict[str, str]) -> None:
    is_problem(Client().get(f"/api/{path}/", headers=designer), 404)


def test_workers_are_listed_without_their_secrets(designer: dict[str, str]) -> None:
    make_worker(make_study())
    (row,) = get("/api/workers/?study=a-triplet-study", designer)["results"]
    assert set(row) == {"id", "name", "source", "study", "anonymous", "created_at"}


def test_judgments_carry_the_names_of_the_judgments_file(designer: dict[str, str]) -> None:
    study = make_study()
    _, headers = make_worker(study)
    shown = Client().post(f"/api/studies/{study.slug}/assignments/", headers=headers).json()
    answers = [{"position": unit["position"], "value": 1, "seconds": 2.5} for unit in shown["units"]]
    post(f"/api/assignments/{shown['id']}/submit/", {"answers": answers}, headers)
    rows = get(f"/api/judgments/?study={study.slug}&worker=w-0007", designer)["results"]
    assert len(rows) == len(answers)
    for row in rows:
        assert row["assignment"] == shown["id"]
        assert row["value"] == (1 if row["presented"] == "first-left" else 2)
        assert row["seconds"] == 2.5
    assert sum(row["control"] for row in rows) == 1
    one = get(f"/api/assignments/{shown['id']}/", designer)
    assert (one["state"], one["worker"]) == ("submitted", "w-0007")


def test_a_study_is_created_from_json(designer: dict[str, str]) -> None:
    make_dataset()
    response = post("/api/studies/", DESIGN, designer)
    assert response.status_code == 201
    assert urlsplit(response["Location"]).path == "/api/studies/by-http/"
    assert get(response["Location"], designer) == response.json()
    study = Study.objects.get()
    assert (study.slug, study.state, design_of(study).seed) == ("by-http", "draft", 4)
    assert study.created_by is not None


def test_a_study_file_as_it_stands_gives_the_same_study(designer: dict[str, str]) -> None:
    study = make_study(opened=False)
    text = write_toml(design_of(study)).replace('slug = "a-triplet-study"', 'slug = "again"')
    assert post("/api/studies/", text, designer, "application/toml").status_code == 201
    again = Study.objects.get(slug="again")
    assert design_of(again).model_dump(exclude={"slug"}) == design_of(study).model_dump(exclude={"slug"})
    other = text.replace('"again"', '"more"')
    assert post("/api/studies/", {"toml": other}, designer).status_code == 201


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": "nothing"}, "dataset"),
        ({"protocol": "triplets"}, "triplets"),
        ({"judgment_per_unit": 3}, "judgments_per_unit"),
        ({"name": None}, "name"),
        ({"seed": "seven"}, "seed"),
        ({"seed": 10**40}, "seed"),
        ({"preset": {"a": 1}}, "preset"),
        ({"sampling": {"pairs": 7}}, "pairs"),
        ({"controls": {"per_hit": 10**9}}, "per_hit"),
        ({"crowd": "mturk"}, "crowd"),
        ({"name": "a\x00b"}, "U+0000"),
    ],
)
def test_a_design_that_is_not_valid_is_refused_by_name(
    change: dict[str, Any], words: str, designer: dict[str, str]
) -> None:
    make_dataset()
    assert words in is_problem(post("/api/studies/", DESIGN | change, designer), 400)["detail"]
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    "text", ["", "name = ", "\x00", 'name = "a\\u0000b"\ndataset = "animals"\nprotocol = "graded"']
)
def test_toml_that_is_none_is_refused(text: str, designer: dict[str, str]) -> None:
    make_dataset()
    is_problem(post("/api/studies/", text, designer, "application/toml"), 400)
    response = Client().post(
        "/api/studies/", data=b"name = '\xff'", content_type="application/toml", headers=designer
    )
    is_problem(response, 400)


def test_a_taken_slug_is_a_conflict(designer: dict[str, str]) -> None:
    make_dataset()
    post("/api/studies/", DESIGN, designer)
    is_problem(post("/api/studies/", DESIGN, designer), 409)


def test_generating_starts_a_job_that_can_be_followed(designer: dict[str, str]) -> None:
    study = make_study(opened=False)
    response = post(f"/api/studies/{study.slug}/generate/", None, designer)
    assert response.status_code == 202
    job = get(response["Location"], designer)
    assert (job["kind"], job["state"], job["args"]) == ("generate_hits", "queued", {"study": study.slug})
    assert Job.objects.get().created_by == User.objects.get(username="designer")
    is_problem(post(f"/api/studies/{make_study('graded').slug}/generate/", None, designer), 409)


def test_a_study_is_opened_and_closed(designer: dict[str, str]) -> None:
    study = make_study()
    for step, state in (("close", "closed"), ("close", "closed"), ("open", "open"), ("open", "open")):
        response = post(f"/api/studies/{study.slug}/{step}/", None, designer)
        assert response.status_code == 200, response.content
        assert response.json()["state"] == state
    is_problem(post("/api/studies/none/open/", None, designer), 404)
    draft = make_study("graded", opened=False)
    is_problem(post(f"/api/studies/{draft.slug}/open/", None, designer), 409)
    is_problem(post(f"/api/studies/{draft.slug}/close/", None, designer), 409)


def test_the_schema_is_valid_and_without_warnings(tmp_path: Path) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yaml"))


def test_an_unforeseen_failure_is_a_problem_document_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("judgments.access.permissions.NoWorker.has_permission", fails)
    response = Client(raise_request_exception=False).get("/api/schema/")
    assert "secret" not in is_problem(response, 500)["detail"]

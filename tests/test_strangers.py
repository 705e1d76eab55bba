"""Nobody without a part in a study sees anything of it or changes it, at whatever address. A new page is tried by
standing in the list of addresses."""

import re
from importlib import import_module
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db.models import Value
from django.db.models.functions import Concat
from django.test import Client
from django.utils import timezone
from django_filters import ModelChoiceFilter

from annotation.models import Invitation
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from contrib.webhooks.models import Webhook
from evaluation.results.aggregation import compute_aggregation, store_aggregation
from judgments.access.dataset_roles import share_dataset
from judgments.access.rights import RIGHTS_BY_ROLE
from judgments.access.roles import give_role
from judgments.design.reading.checking import make_design
from judgments.models import Caption, Job, Output, Study, System
from judgments.studies.studies import change_design, create_study, delete_study
from judgments.studies.study_page import PAGES, STEPS
from tests.annotation.casting import joined, make_dataset, make_study
from tests.strangers import addresses, registered_resources, rows, telling

pytestmark = pytest.mark.django_db
UNPUBLISHED = "Words of an unpublished system"
make_group = import_module("judgments.migrations.0001_version_0_5_0").make_group


@pytest.fixture(scope="module")
def studies(module_db: None) -> None:
    """One generated and closed, with answers, a consensus and jobs; and one of other people."""
    dataset = make_dataset("hidden-shapes", images=5, pictures=False)
    share_dataset(dataset=dataset, sharing="members")
    Caption.objects.filter(dataset=dataset).update(text=Concat(Value("Hidden: "), "text"))
    System.objects.filter(dataset=dataset).update(name=Concat(Value("hidden-"), "name"))
    made = make_study(
        dataset,
        slug="hidden-study",
        name="Hidden study of shapes",
        sampling={"pairs": {"MM": 3}, "references": 2},
    )
    person = joined(made)
    claim = claim_assignment(study=made, worker=person.worker)
    assert claim is not None
    assert claim.assignment.hit is not None
    count = claim.assignment.hit.places.count()
    submit_assignment(
        assignment=claim.assignment,
        answers=[{"position": number, "value": 1} for number in range(1, count + 1)],
    )
    store_aggregation(compute_aggregation(study=made))
    Invitation.objects.create(study=made, code="hidden-code")
    for kind in ("export", "generate_hits"):
        Job.objects.create(kind=kind, args={"study": made.slug}, sent_at=timezone.now())
    Study.objects.filter(pk=made.pk).update(state="closed")  # an open study is there for everybody who works
    things = make_dataset("other-things", images=5, pictures=False)
    share_dataset(dataset=things, sharing="members")
    shared = make_dataset("shared-things", images=2, pictures=False)
    unpublished = System.objects.create(
        dataset=shared, name="hidden-system", private=True, owner=User.objects.create_user("rival")
    )
    for item in shared.items.all():
        text = Caption.objects.create(
            dataset=shared, key=f"h-{item.pk}", text=f"{UNPUBLISHED} {item.pk}", role="candidate"
        )
        Output.objects.create(system=unpublished, item=item, caption=text)
    make_study(
        things,
        slug="another",
        name="Another",
        sampling={"pairs": {"MM": 3}, "references": 2},
    )


@pytest.fixture
def study(studies: None) -> Study:
    return Study.objects.get(slug="hidden-study")


@pytest.fixture
def other(studies: None) -> Study:
    return Study.objects.get(slug="another")


@pytest.fixture(scope="module")
def walk(studies: None, django_db_blocker: Any) -> list[str]:
    """Every address, about the hidden study; and those of the rows of an unpublished system."""
    with django_db_blocker.unblock():
        rows: list[Any] = [Output.objects.filter(system__private=True)[0]]
        rows += [rows[0].system, rows[0].caption]
        found = addresses(Study.objects.get(slug="hidden-study"))
        for row in rows:
            name = row._meta.model_name
            found += [f"/api/{name}s/{row.pk}/", f"/admin/judgments/{name}/{row.pk}/change/"]
        return found


@pytest.fixture
def secrets(study: Study) -> list[str]:
    return [*telling(study), "hidden-system", UNPUBLISHED]


def staff(name: str = "clerk") -> User:
    return User.objects.create_user(name, is_staff=True, email=f"{name}@example.org")


def visitor(who: str, other: Study) -> Client:
    """Nobody, a worker of another study, or a researcher who owns another study and reads shared datasets.

    Who is of the staff without any of it may do no more than the researcher.
    """
    if who == "worker":
        return joined(other, "mallory").client
    client = Client()
    if who == "researcher":
        neighbour = staff("neighbour")
        make_group(apps, None)
        neighbour.groups.add(Group.objects.get(name="Researchers"))
        give_role(study=other, user=neighbour, role="owner")
        client.force_login(neighbour)
    return client


@pytest.mark.long
def test_the_walk_reaches_pages_steps_and_resources(study: Study, walk: list[str]) -> None:
    found = walk
    assert len(found) > 150
    for name in PAGES:
        assert any(f"/{study.pk}/{name}/" in address for address in found), name
    for name in STEPS:
        assert f"/admin/judgments/study/{study.pk}/do/{name}/" in found
    assert f"/api/studies/{study.slug}/open/" in found
    assert f"/api/datasets/{study.dataset.name}/share/" in found
    for name in ("change", "candidates", "do/give-role"):
        assert f"/admin/judgments/dataset/{study.dataset_id}/{name}/" in found


@pytest.mark.long
@pytest.mark.parametrize("who", ["anonymous", "researcher", "worker"])
def test_a_stranger_sees_nothing_and_changes_nothing_at_any_address(
    study: Study, other: Study, walk: list[str], secrets: list[str], who: str
) -> None:
    client = visitor(who, other)
    before = rows()
    for address in walk:
        if is_workers_own(address, study):
            continue
        response = client.get(address)
        shown = b"".join(response) if response.streaming else response.content
        text = shown.decode(errors="replace").replace(address, "")
        said = [secret for secret in secrets if secret in text and secret not in address]
        assert not said, (who, address, response.status_code, said)
        assert response.status_code < 500, (who, address)
    for address in walk:
        if is_workers_own(address, study) or re.search(r"/admin/(login|logout|password)", address):
            continue
        kind = "application/json" if address.startswith("/api/") else "application/x-www-form-urlencoded"
        answer = client.post(
            address, '{"why": "because"}' if "json" in kind else "page=hits", content_type=kind
        )
        assert answer.status_code < 500, (who, address)
        if is_for_its_people(address, study):
            # before anything that was sent is looked at: a complaint about it would say that the study is there
            assert answer.status_code in (302, 401, 403, 404, 405), (who, address, answer.content)
    found = changed(before, rows())
    found["annotation.Worker"] = {row for row in found.get("annotation.Worker", ()) if "mallory" not in row}
    found["judgments.Job"] = {row for row in found.get("judgments.Job", ()) if "plan_power" not in row}
    # but for when mallory was last seen, and a researcher's plan of no study
    assert not any(found.values()), found


def test_a_stranger_finds_nothing_by_asking_for_it(
    study: Study, other: Study, walk: list[str], secrets: list[str]
) -> None:
    """By searches, filters, suggestions and comparisons, in all lists there are."""
    lists = [address for address in walk if re.fullmatch(r"/(admin|api)/(\w+/)?[\w-]+/", address)]
    assert len(lists) > 40
    asked = [f"{address}?q=hidden&s=hidden&search=hidden&term=hidden" for address in lists]
    asked += [f"{address}?study={study.slug}" for address in lists if address.startswith("/api/")]
    asked += [
        f"/api/{name}/?dataset={study.dataset.name}" for name in ("systems", "items", "captions", "outputs")
    ]
    asked += [
        f"/admin/annotation/{name}/?study__id__exact={study.pk}" for name in ("assignment", "participation")
    ]
    asked += [
        "/admin/search/?s=hidden&extended=1",
        f"/admin/judgments/study/?dataset__id__exact={study.dataset_id}",
        "/admin/judgments/study/compare/?this=hidden-study&that=vedantam-2015-triplet",
        "/admin/autocomplete/?app_label=judgments&model_name=study&field_name=dataset&term=hidden",
    ]
    client = visitor("researcher", other)
    for address in asked:
        response = client.get(address)
        shown = (b"".join(response) if response.streaming else response.content).decode(errors="replace")
        # what was asked for may be said again
        said = [secret for secret in secrets if secret in shown and secret not in address]
        assert not said, (address, response.status_code, said)


def test_a_filter_does_not_say_which_rows_there_are(study: Study, other: Study) -> None:
    """A row of somebody else's is to each filter what a row is that nobody has."""
    webhook = Webhook.objects.create(
        study=study, url="https://hooks.example.org/", salt="s", submissions=True
    )
    theirs = {
        "study": (study.slug, "nobody-s"),
        "of": (study.slug, "nobody-s"),
        "dataset": (study.dataset.name, "nobody-s"),
        "assignment": (study.assignments.earliest("pk").pk, uuid4()),
        "webhook": (webhook.pk, 10**9),
    }
    client, asked = visitor("researcher", other), 0
    for prefix, view, _name in registered_resources():
        found = getattr(getattr(view, "filterset_class", None), "base_filters", {})
        for name in [name for name, one in found.items() if isinstance(one, ModelChoiceFilter)]:
            answers = [client.get(f"/api/{prefix}/?{name}={value}") for value in theirs[name]]
            assert answers[0].status_code in (400, 403), (prefix, name)
            # each says which value it does not know
            texts = [
                one.content.decode().replace(str(value), "")
                for one, value in zip(answers, theirs[name], strict=True)
            ]
            assert texts[0] == texts[1], (prefix, name)
            asked += 1
    assert asked > 30


def test_an_import_that_made_no_study_is_nobody_s_who_takes_its_name(study: Study, other: Study) -> None:
    """What it says quotes lines of a file. Neither does the other study's name or end change it."""
    theirs = Job.objects.create(
        kind="import_judgments",
        created_by=staff(),
        args={"study": "pilot", "dataset": study.dataset.name},
        state="failed",
        error=f"Line 3: there is no caption {UNPUBLISHED!r}.",
        finished_at=timezone.now(),
    )
    client = visitor("researcher", other)
    neighbour = User.objects.get(username="neighbour")
    design = make_design({**other.design, "slug": "pilot", "name": "Pilot"})
    made = create_study(design=design, user=neighbour)
    page = f"/admin/judgments/study/{made.pk}"
    for address in ("/api/jobs/", "/admin/judgments/job/", f"{page}/change/", f"{page}/hits/"):
        shown = client.get(address)
        assert shown.status_code == 200
        assert UNPUBLISHED not in shown.content.decode()
    assert client.get(f"/api/jobs/{theirs.pk}/").status_code == 404
    assert client.get(f"/admin/judgments/job/{theirs.pk}/change/").status_code == 404
    delete_study(study=change_design(study=made, design=design.model_copy(update={"slug": "pilot-2"})))
    theirs.refresh_from_db()
    assert theirs.args["study"] == "pilot"


def is_workers_own(address: str, study: Study) -> bool:
    """A study's public address says its name to everybody who has the link, as workers must find it."""
    return bool(
        re.fullmatch(rf"/s/{study.slug}/(resume/|start/|panel/|panel/end/|mturk/|finish/|credits/)?", address)
    )


def is_for_its_people(address: str, study: Study) -> bool:
    """Pages and calls of the study that are no worker's."""
    workers = f"/api/studies/{study.slug}/(join|assignments|quiz)/"
    ours = (
        f"/api/studies/{study.slug}/",
        f"/admin/judgments/study/{study.pk}/",
        f"/api/datasets/{study.dataset.name}/",
        f"/admin/judgments/dataset/{study.dataset_id}/",
    )
    return address.startswith(ours) and re.fullmatch(workers, address) is None


def changed(before: dict[str, list[str]], after: dict[str, list[str]]) -> dict[str, set[str]]:
    """Tables whose rows differ, with those rows."""
    return {name: set(before[name]) ^ set(after[name]) for name in before if before[name] != after[name]}


@pytest.mark.parametrize("role", ["viewer", "reviewer", "designer"])
def test_no_role_takes_a_step_beyond_its_rights(study: Study, role: str) -> None:
    person = staff()
    give_role(study=study, user=person, role=role)
    client = Client()
    client.force_login(person)
    before = rows()
    beyond = [step for step in STEPS.values() if step.permission not in RIGHTS_BY_ROLE[role]]
    assert beyond
    for step in beyond:
        answer = client.post(f"/admin/judgments/study/{study.pk}/do/{step.name}/", {"why": "because"})
        assert answer.status_code == 403, step.name
    assert changed(before, rows()) == {}


@pytest.mark.parametrize("role", [*RIGHTS_BY_ROLE])
def test_each_role_opens_the_pages_and_lists_of_its_study(study: Study, role: str) -> None:
    person = staff()
    give_role(study=study, user=person, role=role)
    client = Client()
    client.force_login(person)
    # what a viewer opens, each role does by the same right
    rights = RIGHTS_BY_ROLE[role] if role == "viewer" else RIGHTS_BY_ROLE[role] - RIGHTS_BY_ROLE["viewer"]
    for page in PAGES.values():
        if page.permission in rights and page.label and page.has_tab(study):
            assert client.get(f"/admin/judgments/study/{study.pk}/{page.name}/").status_code == 200, page.name
    if role not in ("viewer", "owner"):
        return
    shown = client.get("/admin/").content.decode()
    assert study.name in shown
    assert "Another" not in shown
    for name in ("study", "unit", "hit", "caption", "item", "system", "dataset", "job", "studyevent"):
        listed = client.get(f"/admin/judgments/{name}/")
        assert listed.status_code == 200, name
        assert "another" not in listed.content.decode(), name
        assert "other-things" not in listed.content.decode(), name
    for name in ("worker", "assignment", "judgment", "participation"):
        listed = client.get(f"/admin/annotation/{name}/")
        assert listed.status_code == 200, name
        assert "1 " in listed.content.decode()
        assert "another" not in listed.content.decode(), name

"""Nobody without a part in a study sees anything of it or changes it, at whatever address. A new page is tried by
standing in the list of addresses."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.db.models import Value
from django.db.models.functions import Concat
from django.test import Client

from annotation.models import Invitation
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from evaluation.results.aggregation import compute_aggregation, store_aggregation
from judgments.access.roles import RIGHTS, give_role
from judgments.models import Caption, Job, Study
from judgments.studies.study_page import PAGES, STEPS
from tests.annotation.casting import joined, make_dataset, make_study
from tests.strangers import addresses, rows, telling

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """Generated and closed, with answers, a consensus and jobs."""
    dataset = make_dataset("hidden-shapes", images=5, pictures=False)
    Caption.objects.filter(dataset=dataset).update(text=Concat(Value("Hidden: "), "text"))
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
        Job.objects.create(kind=kind, args={"study": made.slug})
    Study.objects.filter(pk=made.pk).update(state="closed")  # an open study is there for everybody who works
    made.refresh_from_db()
    return made


def staff(name: str = "clerk") -> User:
    return User.objects.create_user(name, is_staff=True, email=f"{name}@example.org")


def visitors(other: Study) -> dict[str, Client]:
    """Nobody, somebody of the staff without a role, the owner of another study, and a worker of another study."""
    clerk, owner = Client(), Client()
    clerk.force_login(staff())
    neighbour = staff("neighbour")
    give_role(study=other, user=neighbour, role="owner")
    owner.force_login(neighbour)
    return {"anonymous": Client(), "staff": clerk, "owner": owner, "worker": joined(other, "mallory").client}


def other_study() -> Study:
    return make_study(
        make_dataset("other-things", images=5, pictures=False),
        slug="another",
        name="Another",
        sampling={"pairs": {"MM": 3}, "references": 2},
    )


def test_the_walk_reaches_pages_steps_and_resources(study: Study) -> None:
    found = addresses(study)
    assert len(found) > 150
    for name in PAGES:
        assert any(f"/{study.pk}/{name}/" in address for address in found), name
    for name in STEPS:
        assert f"/admin/judgments/study/{study.pk}/do/{name}/" in found
    assert f"/api/studies/{study.slug}/open/" in found


@pytest.mark.parametrize("who", ["anonymous", "staff", "owner", "worker"])
def test_a_stranger_sees_nothing_and_changes_nothing_at_any_address(study: Study, who: str) -> None:
    walk = addresses(study)
    secrets = telling(study)
    other = other_study()
    client = visitors(other)[who]
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
    assert not any(found.values()), found  # but for when mallory was last seen


@pytest.mark.parametrize("who", ["staff", "owner"])
def test_a_stranger_finds_nothing_by_asking_for_it(study: Study, who: str) -> None:
    """By searches, filters, suggestions and comparisons, in all lists there are."""
    lists = [address for address in addresses(study) if re.fullmatch(r"/(admin|api)/(\w+/)?[\w-]+/", address)]
    assert len(lists) > 40
    asked = [f"{address}?q=hidden&s=hidden&search=hidden&term=hidden" for address in lists]
    asked += [f"{address}?study={study.slug}" for address in lists if address.startswith("/api/")]
    asked += [
        f"/admin/annotation/{name}/?study__id__exact={study.pk}" for name in ("assignment", "participation")
    ]
    asked += [
        "/admin/search/?s=hidden&extended=1",
        f"/admin/judgments/study/?dataset__id__exact={study.dataset_id}",
        "/admin/judgments/study/compare/?this=hidden-study&that=vedantam-2015-triplet",
        "/admin/autocomplete/?app_label=judgments&model_name=study&field_name=dataset&term=hidden",
    ]
    secrets = telling(study)
    client = visitors(other_study())[who]
    for address in asked:
        response = client.get(address)
        shown = (b"".join(response) if response.streaming else response.content).decode(errors="replace")
        # what was asked for may be said again
        said = [secret for secret in secrets if secret in shown and secret not in address]
        assert not said, (address, response.status_code, said)


def is_workers_own(address: str, study: Study) -> bool:
    """A study's public address says its name to everybody who has the link, as workers must find it."""
    return bool(
        re.fullmatch(rf"/s/{study.slug}/(resume/|start/|panel/|panel/end/|mturk/|finish/|credits/)?", address)
    )


def is_for_its_people(address: str, study: Study) -> bool:
    """Pages and calls of the study that are no worker's."""
    workers = f"/api/studies/{study.slug}/(join|assignments|quiz)/"
    ours = (f"/api/studies/{study.slug}/", f"/admin/judgments/study/{study.pk}/")
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
    beyond = [step for step in STEPS.values() if step.permission not in RIGHTS[role]]
    assert beyond
    for step in beyond:
        answer = client.post(f"/admin/judgments/study/{study.pk}/do/{step.name}/", {"why": "because"})
        assert answer.status_code == 403, step.name
    assert changed(before, rows()) == {}


@pytest.mark.parametrize("role", [*RIGHTS])
def test_each_role_opens_the_pages_and_lists_of_its_study(study: Study, role: str) -> None:
    other_study()
    person = staff()
    give_role(study=study, user=person, role=role)
    client = Client()
    client.force_login(person)
    for page in PAGES.values():
        if page.permission in RIGHTS[role] and page.label and page.shown(study):
            assert client.get(f"/admin/judgments/study/{study.pk}/{page.name}/").status_code == 200, page.name
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

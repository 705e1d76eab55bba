"""No address answers with a word of a challenge's references to whom is no member of its dataset."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from annotation.work.claims import claim_assignment
from contrib.challenges.models import Challenge
from contrib.challenges.tests.challenging import SECRET, a_challenge, participant, staff, submit, work_off
from judgments.access.dataset_roles import give_dataset_role
from judgments.models import Caption, Item, Study
from tests.annotation.casting import joined, make_dataset, make_study
from tests.doors import key_of, signed_in
from tests.strangers import addresses

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def walk(module_db: None, django_db_blocker: Any) -> Iterator[list[str]]:
    """Every address, about a challenge with submissions, its dataset, and a study of other people."""
    with django_db_blocker.unblock():
        challenge = a_challenge("closer-look", per_total=9)
        study = make_study(make_dataset(images=5), slug="closer-look", sampling={"pairs": {"MM": 3}})
        ada = participant()
        submit(challenge, ada, 7)
        submit(challenge, ada, 9, public=False)
        claim_assignment(study=study, worker=joined(study, "mallory").worker)
        work_off()
        name, theirs = challenge.dataset.name, study.dataset.name
        asked = [address.replace(f"/{theirs}/", f"/{name}/") for address in addresses(study)]
        row = Caption.objects.filter(dataset=challenge.dataset).earliest("pk")
        item = Item.objects.filter(dataset=challenge.dataset).earliest("pk")
        asked += [f"/api/captions/{row.pk}/", f"/api/items/{item.pk}/", f"/pictures/preview/{item.pk}/"]
        asked += [f"/admin/judgments/dataset/{challenge.dataset_id}/change/"]
        asked += [f"/api/captions/?{asking}" for asking in ("role=reference", "key=100%230", "image=100")]
        lists = [one for one in asked if re.fullmatch(r"/(admin|api)/(\w+/)?[\w-]+/", one)]
        asked += [f"{one}?q=lawn" for one in lists if one.startswith("/admin/")]
        asked += [f"{one}?dataset={name}" for one in lists if one.startswith("/api/")]
        asked += ["/admin/search/?s=lawn&extended=1"]
        yield sorted(set(asked))


def visitors() -> dict[str, Client]:
    """Whoever is not of the dataset: nobody, a participant, a worker, and a clerk who may look at everything shared."""
    ada = User.objects.get(username="ada")
    token = Client(headers=key_of(ada, "submissions:read", "submissions:write"))
    viewing = Permission.objects.filter(codename__startswith="view_")
    clerk = staff("clerk", *viewing.values_list("codename", flat=True), "add_study", "add_challenge")
    worker = joined(Study.objects.get(), "mallory-2").client
    return {
        "nobody": Client(), "participant": signed_in(ada), "token": token, "worker": worker,
        "clerk": signed_in(clerk),
    }  # fmt: skip


def telling(client: Client, walk: list[str], send: bool = False) -> list[str]:
    """Addresses whose answers hold a word of the references, or scores of single images."""
    found = []
    for address in walk:
        kind = "application/json" if address.startswith("/api/") else "application/x-www-form-urlencoded"
        body = '{"why": "because"}' if "json" in kind else "page=hits"
        answer = client.post(address, body, content_type=kind) if send else client.get(address)
        shown = b"".join(answer) if answer.streaming else answer.content
        assert answer.status_code < 500, address
        if SECRET in shown.decode(errors="replace") or b'"images": [' in shown:
            found.append(address)
    return found


@pytest.mark.long
@pytest.mark.parametrize("who", ["nobody", "participant", "token", "worker", "clerk"])
def test_no_address_answers_with_a_word_of_the_references(walk: list[str], who: str) -> None:
    asked = [one for one in walk if who != "token" or one.startswith("/api/")]
    assert len(asked) > 150
    client = visitors()[who]
    assert telling(client, asked) == []
    sent = [
        one for one in asked if not re.search(r"\?|/(login|logout|sign-in|sign-out|password_change)/", one)
    ]
    assert telling(client, sent, send=True) == []


def test_the_walk_would_notice_a_reference(walk: list[str]) -> None:
    """A member of the dataset meets them in lists, single rows, searches and pages."""
    member = staff("member", "view_caption", "view_item", "view_dataset")
    give_dataset_role(dataset=Challenge.objects.get().dataset, user=member, role="viewer")
    found = telling(
        signed_in(member),
        [one for one in walk if re.match(r"/api/captions/|/admin/judgments/(caption|dataset)/", one)],
    )
    assert {"/api/captions/", "/api/captions/?role=reference", "/api/captions/?image=100"} < set(found)
    assert any(one.startswith("/admin/judgments/caption/?q=") for one in found)
    assert any(re.fullmatch(r"/admin/judgments/dataset/\d+/change/", one) for one in found)

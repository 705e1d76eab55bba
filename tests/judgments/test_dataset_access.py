"""Who reads a dataset and the systems in it: its members, the people of its studies, researchers, everybody."""

import json
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.snapshots import snapshot_from_json
from common.errors import DataConflict, WrongState
from evaluation.data.export.formats.credits import CreditFinder
from evaluation.data.export.snapshots import take_snapshot
from judgments.access.dataset_roles import (
    give_dataset_role,
    publish_system,
    revoke_dataset_role,
    share_dataset,
)
from judgments.access.roles import give_role
from judgments.datasets.importing.candidates import import_candidates
from judgments.datasets.importing.datasets import import_dataset
from judgments.design.reading.checking import make_design
from judgments.jobs.claims import run_job
from judgments.jobs.queues import enqueue
from judgments.models import Caption, Dataset, DatasetRole, Item, Job, Output, Study, System
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study
from tests.doors import key_of, signed_in
from tests.refusals import refuses
from tests.studies import make_dataset

pytestmark = pytest.mark.django_db
ROWS = ("datasets", "systems", "items", "captions", "outputs")


@pytest.fixture
def dataset() -> Dataset:
    made = make_dataset("photos", images=4, references=2, systems=1)
    share_dataset(dataset=made, sharing="members")
    return made


def researcher(name: str) -> User:
    """An account as the group Researchers makes it."""
    user = User.objects.create_user(name, is_staff=True)
    names = ["add_study", "add_dataset", *(f"view_{one}" for one in ("dataset", "system", "item", "caption"))]
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    return User.objects.get(pk=user.pk)


def counts(client: Client) -> dict[str, int]:
    return {name: len(client.get(f"/api/{name}/").json()["results"]) for name in ROWS}


def everything() -> dict[str, int]:
    tables: tuple[Any, ...] = (Dataset, System, Item, Caption, Output)
    return {name: model.objects.count() for name, model in zip(ROWS, tables, strict=True)}


def sends(client: Client, operation: str, **values: Any) -> Any:
    return client.post(f"/api/datasets/photos/{operation}/", values, content_type="application/json")


NOTHING = dict.fromkeys(ROWS, 0)


def test_a_new_dataset_is_its_makers_and_a_commands_is_the_installations(tmp_path: Any) -> None:
    file = tmp_path / "own.csv"
    file.write_text("image,caption\na.jpg,A dog runs .\n")
    ada, bela = researcher("ada"), researcher("bela")
    import_dataset(format="csv", path=file, name="adas", user=ada)
    import_dataset(format="csv", path=file, name="everyones")
    assert [one.name for one in Dataset.objects.visible_to(ada)] == ["adas", "everyones"]
    assert [one.name for one in Dataset.objects.visible_to(bela)] == ["everyones"]
    assert DatasetRole.objects.get().user == ada
    with refuses(DataConflict, "adas"):
        import_dataset(format="csv", path=file, name="adas", user=bela)  # the same rows say no more


def test_each_way_of_sharing_opens_all_rows_to_whom_it_names_and_to_nobody_else(dataset: Dataset) -> None:
    bela, helper = signed_in(researcher("bela")), signed_in(User.objects.create_user("help", is_staff=True))
    readers = {
        "members": (NOTHING, NOTHING, NOTHING),
        "installation": (everything(), NOTHING, NOTHING),
        "published": (everything(),) * 3,
    }
    for sharing, expected in readers.items():
        share_dataset(dataset=dataset, sharing=sharing)
        assert tuple(counts(one) for one in (bela, helper, Client())) == expected, sharing
        page = bela.get(reverse("admin:judgments_dataset_change", args=[dataset.pk]))
        assert page.status_code == (404 if sharing == "members" else 200)
        listed = Client().get("/api/datasets/photos/").status_code
        assert listed == (200 if sharing == "published" else 404)


def test_roles_open_it_and_do_what_they_say_at_every_door(dataset: Dataset) -> None:
    people = {role: researcher(role) for role in ("viewer", "editor", "owner")}
    for role, user in people.items():
        give_dataset_role(dataset=dataset, user=user, role=role)
    researcher("newcomer")
    change = reverse("admin:judgments_dataset_change", args=[dataset.pk])
    for role, user in people.items():
        client = signed_in(user)
        assert counts(client) == everything()
        assert client.get(change).status_code == 200
        add = client.get(reverse("admin:judgments_dataset_candidates", args=[dataset.pk])).status_code
        assert add == (403 if role == "viewer" else 200)
        given = sends(client, "give-role", username="newcomer", role="viewer")
        assert given.status_code == (200 if role == "owner" else 403)
        posted = client.post(
            reverse("admin:judgments_dataset_do", args=[dataset.pk, "share"]), {"sharing": "members"}
        )
        assert posted.status_code == (302 if role == "owner" else 403)
        assert len(client.get("/api/dataset-roles/").json()["results"]) == 3 + (role == "owner")
    owner = signed_in(people["owner"])
    refused = sends(owner, "take-role", username="owner")
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "owner is the only owner of dataset 'photos'; make somebody else an owner first.",
    )
    assert (
        "the only owner"
        in owner.post(
            reverse("admin:judgments_dataset_do", args=[dataset.pk, "take-role"]),
            {"user": people["owner"].pk},
            follow=True,
        ).content.decode()
    )
    with pytest.raises(CommandError, match="the only owner"):
        call_command("dataset_access", "photos", "take-role", "--username", "owner")
    call_command("dataset_access", "photos", "share", "--sharing", "installation")
    dataset.refresh_from_db()
    assert dataset.sharing == "installation"
    entries = LogEntry.objects.values_list("user__username", "object_id", "change_message")
    assert list(entries.order_by("pk")) == [  # also of what was done over HTTP
        ("owner", str(dataset.pk), "newcomer is now viewer of dataset photos."),
        ("owner", str(dataset.pk), "Dataset photos can now be read by only its members."),
    ]


def test_the_people_of_a_study_read_its_dataset_and_a_token_of_studies_no_other(dataset: Dataset) -> None:
    make_dataset("others", images=1, references=1, systems=0)
    ada, bela = researcher("ada"), User.objects.create_user("bela", is_staff=True)
    give_dataset_role(dataset=dataset, user=ada, role="viewer")
    design = make_design({"name": "Mine", "dataset": "photos", "protocol": "graded", "slug": "mine"})
    study = create_study(design=design, user=ada)
    give_role(study=study, user=bela, role="viewer")
    assert counts(signed_in(bela))["datasets"] == 1
    token = key_of(ada, studies=[study])
    assert [one["name"] for one in Client().get("/api/datasets/", headers=token).json()["results"]] == [
        "photos"
    ]
    body = {"sharing": "published"}
    give_dataset_role(dataset=dataset, user=ada, role="owner")
    answer = Client().post(
        "/api/datasets/photos/share/", body, content_type="application/json", headers=token
    )
    assert answer.status_code == 403


def test_who_is_staff_no_longer_reads_what_everybody_does_whatever_role_or_token(dataset: Dataset) -> None:
    ada = researcher("ada")
    give_dataset_role(dataset=dataset, user=ada, role="owner")
    ada.user_permissions.add(Permission.objects.get(codename="change_dataset"))
    token, narrow = key_of(ada), key_of(ada, "exports:read")
    ada.is_staff = False
    ada.save()
    assert counts(signed_in(ada)) == NOTHING
    assert Client().get("/api/outputs/", headers=token).json().get("results", []) == []
    share_dataset(dataset=dataset, sharing="published")
    assert counts(signed_in(ada)) == everything()
    assert Client().get("/api/outputs/", headers=narrow).status_code in (401, 403)


@pytest.mark.parametrize("change", ["role", "account"])
def test_an_import_asks_for_the_role_when_it_runs(dataset: Dataset, change: str) -> None:
    ada = researcher("ada")
    give_dataset_role(dataset=dataset, user=ada, role="editor")
    args = {"upload": "", "format": "csv", "dataset": "photos"}
    queued = [
        enqueue(kind="import_candidates", args={**args, "system": "late"}, user=ada),
        enqueue(kind="import_rankings", args=args, user=ada),
        enqueue(kind="import_judgments", args={**args, "study": "late"}, user=ada),
    ]
    if change == "role":
        DatasetRole.objects.all().delete()
        said = "ada is not an editor of dataset 'photos'"
    else:
        ada.delete()
        queued.append(enqueue(kind="import_dataset", args={"upload": "", "format": "csv", "name": "late"}))
        said = "the account that started the job no longer exists"
    for one in queued:
        run_job(one.pk)
        one.refresh_from_db()
        assert said in one.error


def test_texts_of_no_system_are_read_by_the_people_of_a_study_that_shows_them(dataset: Dataset) -> None:
    ada, bela = researcher("ada"), researcher("bela")
    for user in (ada, bela):
        give_dataset_role(dataset=dataset, user=user, role="viewer")
    design = make_design({"name": "Mine", "dataset": "photos", "protocol": "graded", "slug": "mine"})
    study = create_study(design=design, user=ada)
    generate_hits(study=study)
    text = Caption.objects.create(
        dataset=dataset, key="c-alone", text="Credited to nobody .", role="candidate"
    )
    study.units.filter(pk=study.units.order_by("pk")[0].pk).update(first=text)
    assert [text in Caption.objects.visible_to(user) for user in (ada, bela)] == [True, False]
    give_role(study=study, user=bela, role="viewer")
    assert text in Caption.objects.visible_to(bela)


class TestSystems:
    @pytest.fixture
    def adas(self, dataset: Dataset, tmp_path: Any) -> System:
        """An unpublished system of Ada's in a dataset that all researchers read."""
        share_dataset(dataset=dataset, sharing="installation")
        file = tmp_path / "own.csv"
        file.write_text("image,caption\n" + "".join(f"{n:03d}.jpg,Secret words {n} .\n" for n in range(4)))
        import_candidates(format="csv", path=file, dataset="photos", system="newest", user=researcher("ada"))
        return System.objects.get(name="newest")

    def test_its_outputs_are_its_owners_until_they_are_published(self, adas: System) -> None:
        bela, ada = researcher("bela"), adas.owner
        assert ada is not None
        for user, seen in ((ada, True), (bela, False)):
            client = signed_in(user)
            for name in ("systems", "outputs", "captions"):
                text = client.get(f"/api/{name}/").content.decode()
                assert (("newest" in text) or ("Secret words" in text)) == seen, (name, user)
            pages = [reverse(f"admin:judgments_{name}_changelist") for name in ("system", "caption")]
            for address in (*pages, reverse("admin:judgments_dataset_change", args=[adas.dataset_id])):
                text = client.get(address).content.decode()
                assert (("newest" in text) or ("Secret words" in text)) == seen, (address, user)
        refused = sends(signed_in(bela), "publish", system="newest")
        assert refused.status_code == 404
        assert sends(signed_in(ada), "publish", system="newest").status_code == 200
        assert "Secret words" in signed_in(bela).get("/api/outputs/").content.decode()
        page = signed_in(ada).get(reverse("admin:judgments_dataset_change", args=[adas.dataset_id]))
        assert "Publish newest" not in page.content.decode()  # publication is final
        with pytest.raises(WrongState, match="belongs to another account"):
            publish_system(dataset=adas.dataset, name="newest", by=bela)

    def test_a_study_draws_from_those_of_its_maker_and_says_nothing_of_others(self, adas: System) -> None:
        bela, ada = researcher("bela"), adas.owner
        shown: dict[str, bool] = {}
        for user in (ada, bela, None):
            slug = "s-of-" + (user.username if user else "command")
            design = make_design({"name": slug, "slug": slug, "dataset": "photos", "protocol": "graded"})
            study = create_study(design=design, user=user)
            generate_hits(study=study)
            drawn = study.units.filter(first__text__startswith="Secret words")
            shown[slug] = drawn.exists()
        assert shown == {"s-of-ada": True, "s-of-bela": False, "s-of-command": False}
        study = Study.objects.get(slug="s-of-bela")
        assert "newest" not in {system.name for system in System.objects.of_study(study)}

    def test_an_export_that_has_begun_names_no_system_that_is_published_meanwhile(self, adas: System) -> None:
        design = make_design({"name": "b", "slug": "b", "dataset": "photos", "protocol": "graded"})
        study = create_study(design=design, user=researcher("bela"))
        generate_hits(study=study)
        unit = study.units.filter(control=False, first__isnull=False)[0]
        assert unit.first is not None
        Output.objects.create(system=adas, item=unit.item, caption=unit.first, rank=9)
        moment = take_snapshot(study)
        publish_system(dataset=adas.dataset, name="newest")
        resumed = snapshot_from_json(json.loads(json.dumps(moment.as_json())))
        assert resumed == moment
        named = [
            "newest" in str(CreditFinder(study, one).systems_of([unit.pk]))
            for one in (moment, resumed, take_snapshot(study))
        ]
        assert named == [False, False, True]

    def test_its_name_is_taken_and_its_rows_are_not_compared(self, adas: System, tmp_path: Any) -> None:
        file = tmp_path / "own.csv"
        with refuses(DataConflict, "newest"):
            import_candidates(
                format="csv", path=file, dataset="photos", system="newest", user=researcher("bela")
            )


def test_a_list_says_of_a_hidden_dataset_what_it_says_of_none(dataset: Dataset) -> None:
    client = signed_in(researcher("bela"))
    answers = {name: client.get(f"/api/items/?dataset={name}") for name in ("photos", "nothing")}
    assert {answer.status_code for answer in answers.values()} == {400}
    assert len({answer.content.decode().replace(name, "") for name, answer in answers.items()}) == 1


def test_the_upgrade_makes_who_loaded_a_dataset_its_owner(dataset: Dataset) -> None:
    ada = researcher("ada")
    Job.objects.create(
        kind="import_dataset",
        args={"name": "photos"},
        state="done",
        finished_at=timezone.now(),
        created_by=ada,
    )
    import_module("judgments.migrations.0017_members_of_datasets").make_owners(apps, None)
    assert DatasetRole.objects.get().user == ada


def test_the_last_owner_stays() -> None:
    made = Dataset.objects.create(name="photos", source_format="csv", fingerprint="")
    ada, bela = (researcher(name) for name in ("ada", "bela"))
    for user in (ada, bela):
        give_dataset_role(dataset=made, user=user, role="owner")
    revoke_dataset_role(dataset=made, user=ada)
    with pytest.raises(WrongState):
        revoke_dataset_role(dataset=made, user=bela)
    assert DatasetRole.objects.get().user == bela

"""What accounts with roles find: the rows of their studies alone, at a cost that does not grow; and how researchers
begin."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from common.errors import DesignError
from judgments.access.dataset_roles import share_dataset
from judgments.access.roles import give_role, revoke_role
from judgments.access.study_log import note_event
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import write_toml
from judgments.jobs.claims import run_job
from judgments.jobs.queues import enqueue
from judgments.models import Caption, Dataset, Job, Study, StudyEvent, StudyRole
from judgments.studies.designs import design_of
from judgments.studies.studies import change_design, create_study, delete_study
from tests.judgments.desk import ADD, do, new_design, page, words
from tests.refusals import assert_names, refuses
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db
LISTS = ("study", "unit", "hit", "caption", "item", "system", "dataset", "job", "studyevent")
RESOURCES = [
    "studies", "units", "hits", "captions", "items", "systems", "datasets", "jobs", "events", "roles",
]  # fmt: skip


def somebody(name: str, *permissions: str, group: str = "") -> tuple[User, Client]:
    user, client = User.objects.create_user(name, is_staff=True), Client()
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    if group:
        user.groups.add(Group.objects.get(name=group))
    client.force_login(user)
    return User.objects.get(pk=user.pk), client


def design(**values: Any) -> Any:
    return make_design({"name": "Mine", "dataset": "animals", "protocol": "graded"} | values)


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as counted:
        assert client.get(address).status_code == 200, address
    return len(counted)


def addresses() -> list[str]:
    lists = [reverse(f"admin:judgments_{name}_changelist") for name in LISTS]
    return [*lists, *(f"/api/{name}/" for name in RESOURCES), reverse("admin:index")]


def grown(user: User, rows: int) -> None:
    """``rows`` of each: studies with the person's role, their units, events, jobs, captions."""
    study = Study.objects.get(slug="a-triplet-study")
    dataset = study.dataset
    for number in range(Study.objects.count(), rows):
        made = Study.objects.create(
            slug=f"s-{number}", name=f"S {number}", dataset=dataset, protocol="graded", design=study.design
        )
        StudyRole.objects.create(study=made, user=user, role="viewer")
        note_event(study=made, what="created", sentence="Made.", by=user)
        Job.objects.create(kind="generate_hits", args={"study": made.slug})
        Caption.objects.create(dataset=dataset, key=f"more-{number}", text="A dog.", role="candidate")


def test_lists_and_resources_cost_a_person_with_roles_the_same_for_few_and_many_rows() -> None:
    user, client = somebody("ada")
    give_role(study=make_study(), user=user, role="viewer")
    grown(user, 10)
    few = {address: queries(client, address) for address in addresses()}
    grown(user, 60)
    more = {address: queries(client, address) for address in addresses()}
    assert {address: (few[address], count) for address, count in more.items() if count > few[address]} == {}
    assert max(more.values()) <= 16


@pytest.fixture
def researchers() -> None:
    """The group as an installation has it: a test that empties the database before this one takes its rows away."""
    import_module("judgments.migrations.0001_version_0_5_0").make_group(apps, None)


@pytest.mark.usefixtures("researchers")
class TestResearchers:
    def test_a_member_begins_with_nothing_and_owns_what_they_make(self) -> None:
        make_study(slug="of-others", name="Of others")
        user, client = somebody("ada", group="Researchers")
        assert "Of others" not in words(client.get(reverse("admin:judgments_study_changelist")))
        assert "Of others" not in words(client.get(reverse("admin:index")))
        client.post(reverse("admin:judgments_study_add") + ADD, new_design(slug="mine"))
        mine = Study.objects.get(slug="mine")
        assert StudyRole.objects.get(study=mine).user == user
        for name in ("change", "hits", "people", "log"):
            assert client.get(page(mine, name)).status_code == 200
        assert client.get(page(Study.objects.get(slug="of-others"), "change")).status_code == 404

    def test_they_may_add_and_look_at_datasets_and_nothing_of_the_installation(self) -> None:
        make_dataset()
        _, client = somebody("ada", group="Researchers")
        assert client.get(reverse("admin:judgments_dataset_add")).status_code == 200
        assert "animals" in words(client.get(reverse("admin:judgments_dataset_changelist")))
        for name in ("auth_user", "auth_group"):
            assert client.get(reverse(f"admin:{name}_changelist")).status_code == 403

    def test_who_loads_a_dataset_brings_its_systems_and_judgments_and_nobody_elses(self) -> None:
        others = make_dataset()
        _, client = somebody("ada", group="Researchers")
        _, bela = somebody("bela", group="Researchers")
        for one in (client, bela):  # the second brings the same files under the same name
            files = [SimpleUploadedFile("own.csv", b"image,caption\na.jpg,A dog runs .\n")]
            add = reverse("admin:judgments_dataset_add")
            page = one.post(add, {"files": files})
            form = page.context["form"]
            sent = {name: form[name].value() for name in form.fields if form[name].value()}
            one.post(add, sent | {"upload": page.context["upload"], "name": "own"})
            job = Job.objects.latest("pk")
            assert run_job(job.pk) == (one is client)
        job.refresh_from_db()
        assert_names(job.error, "own")
        own = Dataset.objects.get(name="own")
        share_dataset(dataset=own, sharing="installation")
        ways = ("candidates", "judgments")
        for who, dataset, allowed in ((client, own, True), (bela, own, False), (client, others, False)):
            shown = words(who.get(reverse("admin:judgments_dataset_change", args=[dataset.pk])))
            assert ("Import candidates" in shown, "New study" in shown) == (allowed, True)
            for way in ways:
                answer = who.get(reverse(f"admin:judgments_dataset_{way}", args=[dataset.pk]))
                assert answer.status_code == (200 if allowed else 403)
        file = SimpleUploadedFile("x.csv", b"image,caption\na.jpg,A cat .\n")
        sent = {"system": "x", "format": "csv", "files": [file]}
        client.post(reverse("admin:judgments_dataset_candidates", args=[own.pk]), sent)
        assert run_job(Job.objects.latest("pk").pk)
        assert own.systems.get().name == "x"

    def test_by_the_interface_likewise(self) -> None:
        make_study(slug="of-others")
        user, client = somebody("ada", group="Researchers")
        assert client.get("/api/studies/of-others/").status_code == 404
        sent = design(slug="mine").model_dump(mode="json")
        assert client.post("/api/studies/", sent, content_type="application/json").status_code == 201
        assert [one["slug"] for one in client.get("/api/studies/").json()["results"]] == ["mine"]
        assert StudyRole.objects.get(study__slug="mine").user == user


class TestDatasetsOfOthers:
    """Somebody who may add studies and has no part in the dataset ``hidden``."""

    @pytest.fixture
    def ada(self) -> tuple[User, Client]:
        make_dataset("hidden")
        user, client = somebody("ada", "add_study")
        give_role(study=make_study(), user=user, role="viewer")
        return user, client

    def test_no_study_is_made_of_them_and_their_names_are_not_told(self, ada: tuple[User, Client]) -> None:
        user, client = ada
        with refuses(DesignError, "hidden", "animals", field="dataset"):
            create_study(design=design(dataset="hidden"), user=user)
        sent = design(dataset="nothing").model_dump(mode="json")
        answer = client.post("/api/studies/", sent, content_type="application/json")
        assert answer.status_code == 400
        assert "hidden" not in answer.content.decode()
        file = write_toml(design(dataset="hidden"))
        shown = client.post(reverse("admin:judgments_study_from_file"), {"text": file})
        assert "expected one of animals" in words(shown)
        assert Study.objects.filter(dataset__name="hidden").count() == 0

    def test_a_draft_cannot_be_turned_to_them(self, ada: tuple[User, Client]) -> None:
        user, client = ada
        study = create_study(design=design(slug="mine"), user=user)
        with refuses(DesignError, "hidden", field="dataset"):
            change_design(study=study, design=design(slug="mine", dataset="hidden"), user=user)
        answer = client.patch(
            f"/api/studies/{study.slug}/design/", {"dataset": "hidden"}, content_type="application/json"
        )
        assert answer.status_code == 400
        study.refresh_from_db()
        assert study.dataset.name == "animals"

    @pytest.mark.parametrize("how", ["form", "file", "base"])
    def test_no_look_at_a_design_shows_them(self, ada: tuple[User, Client], how: str) -> None:
        _, client = ada
        sent = new_design(slug="mine")
        if how == "form":
            sent |= {"dataset": "hidden", "_look": "1"}
        elif how == "file":
            sent |= {"toml": write_toml(design(dataset="hidden", slug="mine")), "_apply": "1"}
        else:
            sent |= {"_base": design(dataset="hidden", slug="mine").model_dump_json(), "_look": "1"}
        client.post(reverse("admin:judgments_study_add") + ADD, sent)
        for key, values in client.session.get("quorum-looks", {}).items():
            assert values["dataset"] == "animals"
            assert client.get(reverse("annotation:look", args=[key])).status_code == 200

    def test_a_look_kept_before_the_dataset_was_out_of_sight_shows_nothing_of_it(
        self, ada: tuple[User, Client]
    ) -> None:
        _, client = ada
        shelf = client.session
        shelf["quorum-looks"] = {"kept": design(dataset="hidden", slug="m").model_dump(mode="json")}
        shelf.save()
        text = Caption.objects.filter(dataset__name="hidden")[0].text
        preview = client.get(reverse("annotation:look", args=["kept"]))
        assert preview.status_code == 404
        assert text not in preview.content.decode()
        numbers = client.get(reverse("admin:judgments_study_numbers", args=["kept"]))
        assert "There is no dataset" in numbers.content.decode()


class TestCopies:
    @pytest.mark.parametrize("step", ["duplicate", "rehearse"])
    def test_a_copy_is_for_those_who_may_add_studies(self, step: str) -> None:
        study = make_study()
        user, client = somebody("ada")
        give_role(study=study, user=user, role="designer")
        assert client.post(do(study, step), {"workers": 3}).status_code == 403
        for name in ("reuse", "rehearsal"):
            assert do(study, step) not in client.get(page(study, name)).content.decode()
        assert (Study.objects.count(), Job.objects.count()) == (1, 0)
        user.user_permissions.add(Permission.objects.get(codename="add_study"))
        assert (
            do(study, step)
            in client.get(page(study, {"duplicate": "reuse", "rehearse": "rehearsal"}[step])).content.decode()
        )

    def test_the_source_keeps_that_it_was_copied_and_not_the_copys_name(self, designer: Client) -> None:
        study = make_study()
        designer.post(do(study, "duplicate"), {"slug": "secret-copy", "name": "Secret"})
        entry = StudyEvent.objects.filter(study=study).order_by("-pk")[0]
        assert (entry.what, entry.by) == ("duplicated", User.objects.get())
        assert "secret" not in f"{entry.words} {entry.details}".lower()


class TestJobsOfASlug:
    def test_they_are_gone_with_the_role_also_for_who_started_them(self) -> None:
        study = make_study()
        user, client = somebody("ada")
        give_role(study=study, user=user, role="viewer")
        job = enqueue(kind="export", args={"study": study.slug, "format": "jsonl"}, user=user)
        addresses = [f"/api/jobs/{job.pk}/", reverse("admin:judgments_job_change", args=[job.pk])]
        assert [client.get(address).status_code for address in addresses] == [200, 200]
        revoke_role(study=study, user=user)
        give_role(study=make_study(slug="another"), user=user, role="viewer")
        addresses.append(f"/api/exports/{job.pk}/download/")
        assert [client.get(address).status_code for address in addresses] == [404, 404, 404]

    def test_they_go_with_the_study_that_changes_its_slug(self) -> None:
        study, user = make_study(opened=False), User.objects.create_superuser("ada")
        job = enqueue(kind="generate_hits", args={"study": study.slug})
        old = study.slug
        values = design_of(study).model_dump(mode="json") | {"slug": "renamed"}
        change_design(study=study, design=make_design(values), user=user)
        heir, _ = somebody("heir")
        other = create_study(design=design(slug=old))
        give_role(study=other, user=heir, role="owner")
        job.refresh_from_db()
        assert job.args == {"study": "renamed"}
        assert run_job(job.pk)
        study.refresh_from_db()
        other.refresh_from_db()
        assert (study.state, other.state) == ("generated", "draft")

    def test_those_of_a_deleted_study_are_not_the_next_ones(self) -> None:
        study = make_study(opened=False)
        args = {"study": study.slug, "format": "csv"}
        done = Job.objects.create(kind="export", state="done", args=args, finished_at=timezone.now())
        waiting = enqueue(kind="generate_hits", args={"study": study.slug})
        delete_study(study=study)
        heir, client = somebody("heir")
        give_role(study=create_study(design=design(slug="a-triplet-study")), user=heir, role="owner")
        assert client.get("/api/jobs/").json()["results"] == []
        assert client.get(reverse("admin:judgments_job_change", args=[done.pk])).status_code == 404
        waiting.refresh_from_db()
        assert (waiting.state, waiting.error) == ("failed", "Study 'a-triplet-study' was deleted.")
        assert not run_job(waiting.pk)

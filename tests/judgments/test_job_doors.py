"""Jobs at the doors: who cancels them and has them done again, and what page, call and command say of the line."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from common.errors import WrongState
from contrib.planning.assumptions import Assumptions
from contrib.planning.form import initial_values
from evaluation.data.export.parts import lock_output
from judgments.access.dataset_roles import give_dataset_role
from judgments.access.roles import give_role, revoke_role
from judgments.jobs import queues, registry
from judgments.jobs.claims import run_job
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study
from judgments.operations import operation_of
from judgments.studies.frame_page import show_counting
from judgments.studies.studies import delete_study
from tests.judgments.desk import do, page, words
from tests.judgments.test_roles_rows import somebody
from tests.judgments.test_tokens import headers_of
from tests.refusals import refuses
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db


def job_page(job: Job) -> str:
    return reverse("admin:judgments_job_change", args=[job.pk])


def member(study: Study, role: str) -> tuple[User, Client]:
    user, client = somebody(role)
    give_role(study=study, user=user, role=role)
    return user, client


def press(client: Client, job: Job, name: str) -> int:
    return client.post(reverse(f"admin:judgments_job_{name}", args=[job.pk])).status_code


def ask(client: Client, job: Job, name: str) -> int:
    return client.post(f"/api/jobs/{job.pk}/{name}/").status_code


def state_of(job: Job) -> str:
    job.refresh_from_db()
    return job.state


class TestWho:
    def test_who_asked_and_who_may_change_the_study_cancel_and_others_do_not(self) -> None:
        study = make_study(opened=False)
        viewer, client = member(study, "viewer")
        _, designers = member(study, "designer")
        give_role(study=make_study(slug="another"), user=(other := somebody("stranger"))[0], role="owner")
        job = enqueue(kind="export", args={"study": study.slug, "format": "jsonl"}, user=viewer)
        theirs = enqueue(kind="aggregate", args={"study": study.slug})
        for one in (job, theirs):
            assert press(other[1], one, "cancel") == ask(other[1], one, "cancel") == 404
            assert press(Client(), one, "cancel") == 302
            assert ask(Client(), one, "cancel") == 401
        assert press(client, theirs, "cancel") == ask(client, theirs, "cancel") == 403
        assert "Cancel the job" not in words(client.get(job_page(theirs)))
        assert {state_of(job), state_of(theirs)} == {"queued"}
        assert "Cancel the job" in words(client.get(job_page(job)))
        assert press(client, job, "cancel") == 302
        assert ask(designers, theirs, "cancel") == 200
        assert {state_of(job), state_of(theirs)} == {"cancelled"}
        assert press(client, theirs, "retry") == ask(client, theirs, "retry") == 403
        assert press(client, job, "retry") == 302
        assert ask(designers, theirs, "retry") == 200
        assert {state_of(job), state_of(theirs)} == {"queued"}

    def test_who_lost_the_right_to_ask_may_cancel_but_not_ask_again(self) -> None:
        study = make_study(opened=False)
        user, client = member(study, "owner")
        give_role(study=study, user=User.objects.create_superuser("root"), role="owner")
        job = enqueue(kind="generate_hits", args={"study": study.slug}, user=user)
        give_role(study=study, user=user, role="viewer")
        assert ask(client, job, "cancel") == 200
        assert "Try again" not in words(client.get(job_page(job)))
        assert press(client, job, "retry") == ask(client, job, "retry") == 403
        revoke_role(study=study, user=user)
        give_role(study=make_study(slug="another"), user=user, role="viewer")
        assert press(client, job, "retry") == ask(client, job, "retry") == 404

    def test_who_has_only_personal_jobs_opens_their_list(self) -> None:
        ada, client = somebody("ada")
        job_list = reverse("admin:judgments_job_changelist")
        other_job = enqueue(kind="import_dataset", args={"upload": "", "format": "csv", "name": "others"})
        assert client.get(job_list).status_code == 403
        job = enqueue(kind="import_dataset", args={"upload": "", "format": "csv", "name": "late"}, user=ada)
        listed = client.get(job_list).content.decode()
        assert job_page(job) in listed
        assert job_page(other_job) not in listed

    def test_a_designer_does_not_repeat_what_only_owners_may(self) -> None:
        study = make_study(opened=False)
        _, client = member(study, "designer")
        job = enqueue(kind="publish_release", args={"study": study.slug, "send": True})
        assert ask(client, job, "cancel") == 200
        assert ask(client, job, "retry") == 403

    def test_a_job_of_a_dataset_is_repeated_by_who_may_read_what_it_reads(self) -> None:
        dataset, secret = make_dataset(), make_dataset("secret")
        user, client = somebody("ada")
        give_dataset_role(dataset=dataset, user=user, role="editor")
        job = enqueue(
            kind="leave_one_out", args={"dataset": dataset.name, "others": [secret.name]}, user=user
        )
        assert ask(client, job, "cancel") == 200
        assert ask(client, job, "retry") == 403
        give_dataset_role(dataset=secret, user=user, role="viewer")
        assert ask(client, job, "retry") == 200

    def test_a_token_repeats_what_its_scopes_start(self) -> None:
        study = make_study(opened=False)
        user, _ = member(study, "designer")
        job = enqueue(kind="export", args={"study": study.slug, "format": "jsonl"}, user=user)
        read, write, both = (
            headers_of(user, *scopes)
            for scopes in (["studies:read"], ["studies:write"], ["studies:write", "exports:write"])
        )
        address = f"/api/jobs/{job.pk}"
        assert Client().post(f"{address}/cancel/", headers=read).status_code == 403
        assert Client().post(f"{address}/cancel/", headers=write).status_code == 200
        refused = Client().post(f"{address}/retry/", headers=write)
        assert (refused.status_code, refused.json()["detail"]) == (
            403, "The token lacks the scope exports:write.",
        )  # fmt: skip
        assert Client().post(f"{address}/retry/", headers=both).status_code == 200
        elsewhere = headers_of(user, studies=[make_study(slug="another")])
        assert Client().post(f"{address}/cancel/", headers=elsewhere).status_code == 404


class TestWhat:
    @pytest.mark.parametrize("kind", ["finish_erasure", "end_retention", "score_submission"])
    def test_what_others_rely_on_is_not_cancelled(self, kind: str, designer: Client) -> None:
        job = enqueue(kind=kind)
        sentence = f"Job {job.pk} cannot be cancelled, because other people need its result."
        assert "Cancel the job" not in words(designer.get(job_page(job)))
        address = reverse("admin:judgments_job_cancel", args=[job.pk])
        assert sentence in words(designer.post(address, follow=True))
        refused = designer.post(f"/api/jobs/{job.pk}/cancel/")
        assert (refused.status_code, refused.json()["detail"]) == (409, sentence)
        with pytest.raises(CommandError, match="other people need its result"):
            call_command("cancel_job", str(job.pk))
        assert state_of(job) == "queued"

    def test_a_job_that_is_done_is_neither_cancelled_nor_repeated(self, designer: Client) -> None:
        job = enqueue(kind="generate_hits", args={"study": make_study(opened=False).slug})
        assert run_job(job.pk)
        for name in ("cancel", "retry"):
            assert ask(designer, job, name) == 409
            assert press(designer, job, name) == 302
            assert designer.get(reverse(f"admin:judgments_job_{name}", args=[job.pk])).status_code == 405
        shown = words(designer.get(job_page(job)))
        assert "Cancel the job" not in shown
        assert "Try again" not in shown
        assert state_of(job) == "done"

    def test_a_job_of_a_deleted_study_is_not_repeated(self, designer: Client) -> None:
        study = make_study(opened=False)
        job = enqueue(kind="aggregate", args={"study": study.slug})
        delete_study(study=study)
        assert "Try again" not in words(designer.get(job_page(job)))
        with refuses(WrongState, job.pk):
            queues.retry_job(job)

    def test_a_cancelled_step_is_offered_again_and_the_study_does_not_go_on_about_it(
        self, designer: Client
    ) -> None:
        study = make_study(opened=False)
        designer.post(do(study, "generate"), {"page": "hits"})
        assert do(study, "generate") not in designer.get(page(study, "hits")).content.decode()
        queues.cancel_job(Job.objects.get())
        shown = designer.get(page(study, "hits"))
        assert do(study, "generate") in shown.content.decode()
        assert "Generating pages of work" not in words(shown)

    def test_figures_whose_counting_was_cancelled_are_not_waited_for(self, rf: Any, designer: Client) -> None:
        study = make_study(opened=False)
        queues.cancel_job(enqueue(kind="figures", args={"study": study.slug, "names": []}))
        request = rf.get("/", headers={"HX-Request": "true"})
        request.user = User.objects.get()
        answer: Any = show_counting(request, study, {"study": study})
        assert (answer.status_code, answer.context_data["has_failed"]) == (200, True)

    @pytest.mark.parametrize("kind", ["export", "report"])
    def test_a_file_that_is_there_when_its_job_is_cancelled_goes(
        self, kind: str, settings: Any, tmp_path: Path
    ) -> None:
        settings.EXPORT_ROOT = str(tmp_path)
        study = make_study(opened=False)
        args = {"format": "jsonl"} if kind == "export" else {}
        job = enqueue(kind=kind, args={"study": study.slug, **args})
        written: list[Path] = []

        def cancel_when_written(execute: Any, *call: Any) -> Any:
            if not written and (files := list(tmp_path.glob(f"{study.slug}-*"))):
                written.extend(files)
                queues.cancel_job(Job.objects.get(pk=job.pk))
            return execute(*call)

        with connection.execute_wrapper(cancel_when_written):
            assert not run_job(job.pk)
        assert written
        assert state_of(job) == "cancelled"
        assert list(tmp_path.iterdir()) == []
        queues.retry_job(job)
        assert run_job(job.pk)
        assert {path.name for path in tmp_path.iterdir()} >= {path.name for path in written}

    def test_an_export_that_is_repeated_at_once_waits_for_the_cancelled_run(
        self, settings: Any, tmp_path: Path
    ) -> None:
        settings.EXPORT_ROOT = str(tmp_path)
        study = make_study(opened=False)
        job = enqueue(kind="export", args={"study": study.slug, "format": "jsonl"})
        with lock_output(tmp_path / f"{study.slug}-{job.pk}.jsonl"):
            assert not run_job(job.pk)
        assert (state_of(job), job.attempts, job.error) == ("queued", 0, "")
        assert run_job(job.pk)


class TestTheLine:
    def test_page_list_and_call_say_queue_place_and_who(self, designer: Client) -> None:
        ada, grace = (User.objects.create_user(name) for name in ("ada", "grace"))
        many = [enqueue(kind="aggregate", args={"study": f"s-{n}"}, user=ada) for n in range(3)]
        single = enqueue(kind="aggregate", args={"study": "s"}, user=grace)
        assert "Queue: long jobs, position 2 in the queue" in words(designer.get(job_page(single)))
        assert "by grace" in words(designer.get(job_page(single)))
        follow = reverse("admin:judgments_job_progress", args=[many[1].pk])
        assert "Queue: long jobs, position 3 in the queue" in words(designer.get(follow))
        listed = words(designer.get(reverse("admin:judgments_job_changelist")))
        for place in (1, 2, 3, 4):
            assert f"position {place} in the queue" in listed
        assert "long jobs" in listed
        rows = designer.get("/api/jobs/?queue=heavy").json()["results"]
        assert [(row["by"], row["queue"], row["place"]) for row in rows] == [
            ("ada", "heavy", 1), ("ada", "heavy", 3), ("ada", "heavy", 4), ("grace", "heavy", 2),
        ]  # fmt: skip
        cancelled = designer.post(f"/api/jobs/{single.pk}/cancel/").json()
        assert (cancelled["state"], cancelled["place"], cancelled["error"]) == ("cancelled", None, "")
        assert "cancelled" in words(designer.get(job_page(single)))
        assert designer.get(reverse("admin:judgments_job_progress", args=[single.pk])).headers["HX-Refresh"]

    def test_a_command_cancels_and_repeats(self, capsys: pytest.CaptureFixture[str]) -> None:
        job = enqueue(kind="aggregate", args={"study": "s"})
        call_command("cancel_job", str(job.pk))
        call_command("retry_job", str(job.pk))
        assert capsys.readouterr().out.splitlines() == [
            f"Job {job.pk} (aggregate) is cancelled.", f"Job {job.pk} (aggregate) waits for its turn again.",
        ]  # fmt: skip
        with refuses(CommandError, "is no job", "999999"):
            call_command("cancel_job", "999999")
        with pytest.raises(CommandError, match="number"):
            call_command("retry_job", "x")
        assert state_of(job) == "queued"


# Twenty people, or one impatient program, at the same moment
AT_ONCE = """
import json
from collections import Counter
from functools import partial
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from judgments.models import Job
from tests.forking import all_at_once
from tests.studies import make_study

study = make_study(opened=False)
user = User.objects.create_superuser("designer")
clients = [Client(headers={"host": "localhost"}) for _ in range(20)]
for client in clients:
    client.force_login(user)
settings.JOBS_WAITING = 5
wrong, answers = [], {}
for address, body in (
    (f"studies/{study.slug}/generate", {}),
    (f"datasets/{study.dataset.name}/bounds", {}),
    ("plans", {}),
    ("exports", {"study": study.slug, "format": "jsonl"}),
):
    said = Counter()

    def ask(client):
        reply = client.post(f"/api/{address}/", body, content_type="application/json")
        said[reply.status_code, reply.json().get("detail", "")[:25]] += 1

    wrong += all_at_once(*(partial(ask, client) for client in clients))
    answers[address.rpartition("/")[2]] = sorted([*key, n] for key, n in said.items())
print(json.dumps([wrong, answers, Job.objects.count()]))
"""


@pytest.mark.long
def test_of_twenty_calls_at_once_one_starts_the_job_and_no_account_gets_more_than_it_may(
    installation_on: Any, database: str
) -> None:
    wrong, answers, rows = json.loads(installation_on(database).python(AT_ONCE))
    assert wrong == []
    for address in ("generate", "bounds", "plans"):
        assert [row[::2] for row in answers[address]] == [[202, 1], [409, 19]], address
    assert answers["exports"] == [[202, "", 2], [429, "5 jobs of designer are wa", 18]]
    assert rows == 5


def test_the_same_call_twice_starts_one_job_of_any_kind() -> None:
    study, by_kind = make_study(opened=False), {}
    assert get_resolver().url_patterns  # every operation is declared where its address is
    for kind in registry.job_kinds:
        operation = operation_of(kind)
        if operation is not None and operation.once != "never":
            by_kind[kind] = replace(operation, check=None, prepare=None)
    assert {"generate_hits", "aggregate", "report", "rehearse"} <= by_kind.keys()
    for kind, operation in by_kind.items():
        operation.start(study, {"of": 1}, by=None)
        with pytest.raises(WrongState, match="already running"):
            operation.start(study, {"of": 1}, by=None)
        assert Job.objects.filter(kind=kind).count() == 1


class TestTooManyWait:
    @pytest.fixture
    def full(self, designer: Client, settings: Any, tmp_path: Path) -> Client:
        """The browser of somebody who has as many jobs waiting as an account may."""
        settings.JOBS_WAITING, settings.DATA_DIR = 1, tmp_path
        enqueue(kind="aggregate", args={"study": "s"}, user=User.objects.get())
        return designer

    sentence = r"\b1\b.*designer.*300"

    def test_calls_are_a_429(self, full: Client) -> None:
        study = make_study(opened=False)
        failed = Job.objects.create(
            kind="aggregate",
            state="failed",
            error="x",
            finished_at=timezone.now(),
            created_by=User.objects.get(),
        )
        calls: list[tuple[str, dict[str, Any]]] = [
            ("/api/exports/", {"study": study.slug, "format": "jsonl"}),
            ("/api/plans/", {}),
            ("/api/rehearsals/", {"study": study.slug}),
            (f"/api/datasets/{study.dataset.name}/bounds/", {}),
            (f"/api/studies/{study.slug}/aggregate/", {}),
            (f"/api/jobs/{failed.pk}/retry/", {}),
        ]
        for address, body in calls:
            answer = full.post(address, body, content_type="application/json")
            assert answer.status_code == 429, address
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert answer.headers["Retry-After"] == "300"
            assert re.search(self.sentence, answer.json()["detail"])
        assert (Study.objects.count(), Job.objects.count()) == (1, 2)
        with pytest.raises(CommandError, match=self.sentence):
            call_command("retry_job", str(failed.pk))

    def test_pages_say_so(self, full: Client) -> None:
        study = make_study(opened=False)
        csv = SimpleUploadedFile("captions.csv", b"image,caption\na.jpg,A dog runs .\n")
        look = full.post(reverse("admin:judgments_dataset_add"), {"files": csv})
        form = look.context["form"]
        sent = {name: form[name].value() for name in form.fields if form[name].value()}
        sent |= {"upload": look.context["upload"], "name": "mine"}
        table = SimpleUploadedFile("good.jsonl", b'{"image": "a.jpg", "caption": "A dog ."}\n')
        candidates = {"format": "jsonl", "system": "good", "file": table}
        posts: list[tuple[str, dict[str, Any]]] = [
            (reverse("admin:judgments_dataset_add"), sent),
            (reverse("admin:judgments_dataset_candidates", args=[study.dataset_id]), candidates),
            (
                reverse("admin:judgments_study_start_plan"),
                initial_values(Assumptions().model_dump(mode="json")),
            ),
            (reverse("admin:judgments_dataset_bounds", args=[study.dataset_id]), {"tokenizer": "ptb"}),
            (do(study, "generate"), {"page": "hits"}),
        ]
        for address, values in posts:
            answer = full.post(address, values, follow=True)
            assert answer.status_code in (200, 400), address
            assert re.search(self.sentence, words(answer)), (address, words(answer))
        assert Job.objects.count() == 1
        full.post(reverse("admin:judgments_job_cancel", args=[Job.objects.get().pk]))
        again = full.post(reverse("admin:judgments_dataset_add"), sent)
        assert Job.objects.get(kind="import_dataset")
        assert again.status_code == 302

    def test_what_others_rely_on_is_not_refused(self, full: Client) -> None:
        user = User.objects.get()
        for kind in ("finish_erasure", "score_submission", "sync_crowd"):
            assert enqueue(kind=kind, user=user)

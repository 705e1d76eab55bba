"""Releases go to Zenodo and to the Hugging Face Hub: each once, whatever goes wrong, and nothing without --send."""

import hashlib
import html
import io
import json
import logging
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow.json
import pytest
import yaml
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from annotation.models import Erasure
from common.errors import DataConflict
from common.http.client import seconds_to_wait
from contrib.archives.errors import PublishingError
from contrib.archives.models import Deposit
from contrib.archives.planning.citations import Creator, Paper, read_creators, read_papers
from contrib.archives.planning.descriptions import TEMPLATES
from contrib.archives.planning.refusals import find_refusals
from contrib.archives.sending import PublishReleaseRequest, SentRelease, plan_publication, send_release
from contrib.archives.site import Site
from contrib.archives.tests.fakes import HANG_UP, LOST, OTHER, SPOILED, TOKEN, FakeHub, FakeZenodo, running
from evaluation.data.integrity import check_integrity
from evaluation.data.releases.storage import record_release
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.models import Release
from evaluation.reports.releases.making import write_release
from judgments.access.roles import give_role
from judgments.jobs.claims import run_job
from judgments.models import Job, Study, StudyEvent
from tests.annotation.test_erasure import all_text
from tests.evaluation.studies import StudyOf, make_dataset
from tests.plots import undrawn
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
WHO = "Doe, Jane 0000-0002-1825-0097 (University of Somewhere); Roe, Richard"


@pytest.fixture(scope="module")
def releases(module_db: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Release]]:
    """A closed study of three pairs with releases 1.0 and 1.1, and the folder that keeps them."""
    folder = tmp_path_factory.mktemp("exports")
    dataset = make_dataset("toy", {"a.jpg": ["a dog runs", "one dog"]})
    dataset.attribution = "Toy pictures, CC BY 4.0, by <us>."
    dataset.save()
    made = StudyOf(dataset, "pairwise", controls={"per_hit": 0}, language="en", consent="Yes?")
    units = [made.unit(f"u{n}", pair=made.pair(f"p{n}", "a.jpg", f"dog {n}", f"cat {n}")) for n in range(3)]
    hit = made.hit("h", units)
    for name in ("ada", "ben"):
        made.answer(hit, name, [1, 2, 1], presented=["first-left", "second-left", "first-left"])
    path = folder / "1.0.zip"
    terms = ReleaseTerms("1.0", "CC-BY-4.0", title="Dogs & cats", citation="Us (2026).")
    with undrawn():
        bundle = write_release(study=made.study, terms=terms, path=path, salt=b"for a test")
    found = [record_release(study=made.study, bundle=bundle, file=path.name)]
    later = folder / "1.1.zip"  # of the same rows
    shutil.copy(path, later)
    with ZipFile(later, "a") as archive:
        archive.comment = b"1.1"
    digest = hashlib.sha256(later.read_bytes()).hexdigest()
    description = replace(bundle.description, version="1.1")
    bundle = replace(bundle, path=later, description=description, sha256=digest, size=later.stat().st_size)
    found.append(record_release(study=made.study, bundle=bundle, file=later.name))
    return folder, found


@pytest.fixture
def study(releases: tuple[Path, list[Release]], settings: Settings) -> Study:
    settings.EXPORT_ROOT = releases[0]
    settings.PUBLISHING_BACKOFF_SECONDS = settings.PUBLISHING_SETTLE_SECONDS = 0
    return releases[1][0].study


@pytest.fixture
def zenodo(settings: Settings) -> Iterator[FakeZenodo]:
    with running(FakeZenodo()) as archive:
        settings.ZENODO_URL, settings.ZENODO_TOKEN = archive.url, TOKEN
        yield archive


@pytest.fixture
def hub(settings: Settings) -> Iterator[FakeHub]:
    with running(FakeHub()) as archive:
        settings.HUGGINGFACE_URL, settings.HUGGINGFACE_TOKEN = archive.url, TOKEN
        yield archive


def send(study: Study, to: str = "zenodo", version: str = "1.0", **given: Any) -> SentRelease:
    given = {"creators": WHO, "repository": "jane/dogs" if to == "huggingface" else ""} | given
    plan = plan_publication(study=study, to=to, version=version, **given)
    return send_release(plan=plan)


def bytes_of(release: Release, folder: Path) -> bytes:
    return (folder / release.file).read_bytes()


def test_nothing_is_sent_unless_asked_and_all_that_would_be_is_shown(
    study: Study, zenodo: FakeZenodo, hub: FakeHub, capsys: Any
) -> None:
    release = Release.objects.get(version="1.1")
    call_command(
        "publish_release", study.slug, "--to", "zenodo", "--creators", WHO, "--papers", "arXiv:2401.12345"
    )
    said = capsys.readouterr().out
    assert f"{release.size:,} bytes  {release.sha256}  {study.slug}-release-1.1.zip" in said
    for words in (
        "0000-0002-1825-0097",
        "University of Somewhere",
        "cc-by-4.0",
        "arXiv:2401.12345",
        zenodo.url,
    ):
        assert words in said
    assert "would stay a draft" in said
    assert "Nothing was sent" in said
    assert "Refused" not in said
    call_command("publish_release", study.slug, "--to", "huggingface", "--version", "1.0")
    said = capsys.readouterr().out
    assert "pretty_name" in said
    assert "Refused: Expected the owner and name" in said
    with pytest.raises(CommandError, match="can be made public"):
        call_command("publish_release", study.slug, "--to", "zenodo", "--publish")
    assert zenodo.calls == hub.calls == []
    assert not Deposit.objects.exists()


def test_a_draft_at_zenodo_has_the_very_bytes_a_doi_and_what_is_said_of_them(
    study: Study, zenodo: FakeZenodo, releases: tuple[Path, list[Release]], capsys: Any
) -> None:
    given = [
        "--creators",
        WHO,
        "--keywords",
        "dogs, cats",
        "--papers",
        "https://doi.org/10.1162/tacl_a_00449",
    ]
    call_command("publish_release", study.slug, "--version", "1.0", "--to", "zenodo", *given, "--send")
    said = capsys.readouterr().out
    (record,) = zenodo.records.values()
    assert f"{zenodo.url}/uploads/{record['id']} as a draft" in said
    assert not record["published"]
    bundle = bytes_of(releases[1][0], releases[0])
    assert record["content"][f"{study.slug}-release-1.0.zip"] == bundle
    assert (
        hashlib.sha256(bundle).hexdigest() == Release.objects.get(version="1.0").sha256
    )  # the DOI is not in it
    assert set(record["content"]) == {f"{study.slug}-release-1.0.zip", "README.md", "datasheet.md"}
    described = record["metadata"]
    assert described["creators"] == [
        {
            "person_or_org": {
                "type": "personal", "family_name": "Doe", "given_name": "Jane",
                "identifiers": [{"scheme": "orcid", "identifier": "0000-0002-1825-0097"}],
            },
            "affiliations": [{"name": "University of Somewhere"}],
        },
        {"person_or_org": {"type": "personal", "family_name": "Roe", "given_name": "Richard", "identifiers": []}},
    ]  # fmt: skip
    assert (described["rights"], described["languages"]) == ([{"id": "cc-by-4.0"}], [{"id": "eng"}])
    assert [one["subject"] for one in described["subjects"]] == ["dogs", "cats"]
    assert "6 judgments" in described["description"]
    assert "by &lt;us&gt;." in described["description"]
    assert described["related_identifiers"][0]["identifier"] == "10.1162/tacl_a_00449"
    deposit = Deposit.objects.get()
    assert (deposit.state, deposit.doi, deposit.remote) == ("draft", "10.5072/zenodo.1000", "1000")
    event = StudyEvent.objects.get(what="deposited-release")
    assert "10.5072/zenodo.1000" in event.words

    again = send(study, publish=True)  # goes on with the draft
    assert again.deposit.state == Deposit.State.PUBLIC
    assert again.summary() == f"Release 1.0 is public at {zenodo.url}/records/1000, DOI 10.5072/zenodo.1000."
    assert record["published"]
    assert zenodo.asked("POST /api/records$") == 1
    assert zenodo.asked("PUT .*/content") == 3
    calls = len(zenodo.calls)
    assert send(study, publish=True).deposit.pk == deposit.pk  # said again, done once
    assert len(zenodo.calls) == calls
    assert StudyEvent.objects.filter(what__in=["deposited-release", "published-release"]).count() == 2
    assert check_integrity().problems == []


@pytest.mark.parametrize(
    "wrong",
    [
        [("POST /api/records$", LOST)],
        [("POST /api/records$", HANG_UP)],
        [("POST /api/records$", 503), ("POST /api/records$", 429)],
        [("", 429), ("PUT .*draft$", 500), ("PUT .*/content", HANG_UP), ("POST .*/commit", LOST)],
        [("POST .*/pids/doi", LOST), ("POST .*/publish", LOST)],
    ],
)
def test_what_breaks_is_repeated_and_makes_no_second_record(
    study: Study, zenodo: FakeZenodo, wrong: list[tuple[str, Any]]
) -> None:
    zenodo.faults = wrong
    with suppress(PublishingError):  # one that was never created, after a look for it
        send(study, publish=True)
    sent = send(study, publish=True)
    assert sent.deposit.state == Deposit.State.PUBLIC
    assert zenodo.faults == []
    assert len(zenodo.records) == 1


def test_a_record_that_is_listed_late_is_found_by_its_mark(
    study: Study, zenodo: FakeZenodo, settings: Settings
) -> None:
    settings.PUBLISHING_SETTLE_SECONDS = 0.5
    zenodo.faults, zenodo.listed_after = [("POST /api/records$", LOST)], 1
    assert send(study).deposit.remote == "1000"
    assert zenodo.asked("GET /api/user/records") == 2
    assert list(zenodo.records) == ["1000"]


def kill_at(archive: Any, number: int) -> None:
    """Interrupt this process once the archive has served its call of this number, before it answers."""
    served = iter(range(number))

    def during(call: str) -> None:
        if next(served, None) is None:
            archive.during = lambda call: None
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    archive.during = during


@pytest.mark.parametrize("to", ["zenodo", pytest.param("huggingface", marks=pytest.mark.long)])
def test_a_process_killed_at_any_call_is_continued(
    to: str, study: Study, zenodo: FakeZenodo, hub: FakeHub, settings: Settings
) -> None:
    archive: Any = zenodo if to == "zenodo" else hub
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start tests with SIGINT ignored
    killed = 0
    while True:
        archive.records, archive.repositories = {}, {}
        Deposit.objects.all().delete()
        kill_at(archive, killed)
        try:
            send(study, to, publish=True)
            break
        except KeyboardInterrupt:
            killed += 1
        sent = send(study, to, publish=True)
        assert sent.deposit.state == Deposit.State.PUBLIC
        if to == "zenodo":
            (record,) = archive.records.values()
            assert record["published"]
            assert len(record["content"]) == 3
        else:
            (one,) = archive.repositories.values()
            assert (len(one["commits"]), one["private"], set(one["tags"])) == (2, False, {"v1.0"})
    assert killed > 10


def test_who_may_not_gets_one_sentence_and_the_token_is_nowhere(
    study: Study, zenodo: FakeZenodo, settings: Settings, caplog: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    settings.ZENODO_TOKEN = OTHER
    with pytest.raises(PublishingError) as refused:
        send(study)
    assert "refuses to create the record (403): Permission denied for ***." in str(refused.value)
    settings.ZENODO_TOKEN = TOKEN
    zenodo.faults = [("", 418)]
    with pytest.raises(PublishingError) as refused:
        send(study)
    zenodo.faults = [("", 500)] * 5
    with refuses(PublishingError, "answers 500", "5 times") as waited:
        send(study)
    for words in (str(refused.value), str(waited.value), caplog.text):
        assert TOKEN not in words
        assert OTHER not in words
    settings.ZENODO_TOKEN = ""
    with pytest.raises(PublishingError, match="ZENODO_TOKEN is empty"):
        send(study)
    settings.ZENODO_TOKEN, settings.ZENODO_URL = TOKEN, "http://zenodo.example"
    with pytest.raises(PublishingError, match="expected an https"):
        send(study)
    assert zenodo.records == {}


class RepeatingZenodo(FakeZenodo):
    def shown(self, one: dict[str, Any]) -> dict[str, Any]:
        return super().shown(one) | {"pids": {"doi": {"identifier": f"10.5072/{TOKEN}"}}}

    def _problems(self, metadata: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"field": "metadata.title", "messages": [f"not with {TOKEN}"]}]


class RepeatingHub(FakeHub):
    def _upload(self, asked: dict[str, Any]) -> dict[str, Any]:
        return asked | {"error": {"code": 422, "message": f"not with {TOKEN} " * 1_000}}


@pytest.mark.parametrize(("to", "kind"), [("zenodo", RepeatingZenodo), ("huggingface", RepeatingHub)])
def test_a_token_that_an_archive_repeats_in_any_answer_is_stored_and_shown_nowhere(
    study: Study, settings: Settings, designer: Client, to: str, kind: type[FakeZenodo | FakeHub]
) -> None:
    with running(kind()) as archive:
        settings.ZENODO_URL = settings.HUGGINGFACE_URL = archive.url
        settings.ZENODO_TOKEN = settings.HUGGINGFACE_TOKEN = TOKEN
        asked = {"to": to, "version": "1.0", "creators": WHO, "send": True}
        asked |= {"repository": "jane/dogs"} if to == "huggingface" else {}
        address = f"/api/studies/{study.slug}/publish-release/"
        job = designer.post(address, asked, content_type="application/json").json()
        run_job(job["id"])
    found = Job.objects.get(pk=job["id"])
    assert "not with ***" in found.error
    assert len(found.error) < 1_000
    assert TOKEN not in all_text()


def test_bytes_that_arrived_otherwise_are_noticed_and_sent_again(
    study: Study, zenodo: FakeZenodo, hub: FakeHub
) -> None:
    zenodo.faults = [("PUT .*release-1.0.zip/content", SPOILED)]
    with refuses(PublishingError, "release-1"):
        send(study, publish=True)
    assert not zenodo.records["1000"]["published"]
    assert send(study, publish=True).deposit.state == "public"
    hub.faults = [("PUT /store", SPOILED)]
    hub.faults += [("POST /store", SPOILED)]
    with pytest.raises(PublishingError, match="refuses"):
        send(study, "huggingface")
    assert send(study, "huggingface").deposit.state == "draft"


def test_a_later_release_is_the_next_version_of_the_record(study: Study, zenodo: FakeZenodo) -> None:
    send(study)
    with refuses(PublishingError, "Release", "1.0"):
        send(study, version="1.1")
    send(study, publish=True)
    zenodo.faults = [("POST .*/versions", LOST)]
    later = send(study, version="1.1", creators="")  # those of the last deposit
    record = zenodo.records[later.deposit.remote]
    assert (record["parent"], record["metadata"]["version"], len(zenodo.records)) == ("1000", "1.1", 2)
    assert record["metadata"]["creators"][0]["person_or_org"]["family_name"] == "Doe"
    assert {
        "identifier": "10.5072/zenodo.1000", "scheme": "doi", "relation_type": {"id": "isnewversionof"},
    } in record["metadata"]["related_identifiers"]  # fmt: skip
    del zenodo.records[later.deposit.remote]  # somebody removes the draft there
    with pytest.raises(PublishingError, match="was removed at"):
        send(study, version="1.1")
    assert send(study, version="1.1", publish=True).deposit.state == "public"
    assert Deposit.objects.filter(release__version="1.1").count() == 2


def test_the_hub_has_tables_that_load_a_card_and_the_bundle(
    study: Study, hub: FakeHub, releases: tuple[Path, list[Release]]
) -> None:
    sent = send(study, "huggingface")
    (name,) = hub.repositories
    one = hub.repositories[name]
    assert (name, one["private"], sent.deposit.state) == ("jane/dogs", True, "draft")
    assert one["files"][f"{study.slug}-release-1.0.zip"] == bytes_of(releases[1][0], releases[0])
    assert f"{study.slug}-release-1.0.zip" in one["large"]
    assert hub.parts  # it went in parts, and to addresses that must not see the token
    _, head, text = one["files"]["README.md"].decode().split("---\n", 2)
    card = yaml.safe_load(head)
    assert (card["license"], card["language"], card["size_categories"]) == ("cc-by-4.0", ["en"], ["n<1K"])
    assert (card["annotations_creators"], card["task_categories"]) == (["crowdsourced"], ["image-to-text"])
    tables = {one["config_name"]: one["data_files"] for one in card["configs"]}
    assert card["configs"][0] == {
        "config_name": "judgments",
        "data_files": "judgments.jsonl",
        "default": True,
    }
    assert {"judgments", "units", "consensus", "workers", "pairs", "captions"} <= set(tables)
    for config, file in tables.items():
        read = pyarrow.json.read_json(io.BytesIO(one["files"][file]))
        assert read.num_rows == len(one["files"][file].splitlines()), config
    described = json.loads(one["files"]["croissant.json"])
    for file in described["distribution"]:
        assert hashlib.sha256(one["files"][file["contentUrl"]]).hexdigest() == file["sha256"]
    for words in (
        "They read and accepted a consent text",
        "throw",
        "## Datasheet",
        "Doe",
        "https://orcid.org/",
    ):
        assert words.lower() in text.lower()
    assert 'load_dataset("jane/dogs", "judgments", revision="v1.0")' in text

    sent = send(study, "huggingface", version="1.1", publish=True)
    assert (one["private"], sent.deposit.state, sent.deposit.remote) == (False, "public", one["commits"][-1])
    assert [file for file in one["files"] if file.endswith(".zip")] == [f"{study.slug}-release-1.1.zip"]
    assert f"{study.slug}-release-1.0.zip" in one["tags"]["v1.0"][1]
    assert set(one["tags"]) == {"v1.0", "v1.1"}


def test_somebody_elses_dataset_is_left_alone(study: Study, hub: FakeHub) -> None:
    hub.repositories["lab/data"] = {
        "private": False, "files": {"theirs.csv": b"a"}, "large": set(), "tags": {}, "commits": ["1" * 40],
    }  # fmt: skip
    for _twice in range(2):
        with pytest.raises(PublishingError, match="not this study's"):
            send(study, "huggingface", repository="lab/data")
    assert hub.repositories["lab/data"]["files"] == {"theirs.csv": b"a"}
    assert send(study, "huggingface", repository="lab/own").deposit.repository == "lab/own"
    with refuses(DataConflict, "lab/own"):
        send(study, "huggingface", repository="lab/third")
    hub.faults = [("POST .*/commit", 412)]
    with pytest.raises(PublishingError, match="Somebody else changed"):
        send(study, "huggingface", version="1.1", repository="lab/own")


@pytest.mark.parametrize(
    ("rights", "words"),
    [
        ("", "has no licence"),
        ("Pictures CC BY-NC 2.0", "licence of the texts is different"),
        ("All rights reserved", "licence of the texts is different"),
        ("Not for redistribution.", "licence of the texts is different"),
        ("Free for research purposes only", "licence of the texts is different"),
        ("Wikipedia, CC BY-SA 3.0", "licence of the texts is different"),
        ("Stories, CC BY-ND 4.0", "licence of the texts is different"),
    ],
)
def test_texts_that_may_not_be_given_away_stay_here(
    study: Study, zenodo: FakeZenodo, rights: str, words: str
) -> None:
    study.dataset.attribution = rights
    study.dataset.save()
    plan = plan_publication(study=study, to="zenodo", version="1.0", creators=WHO)
    assert [words in one for one in plan.refusals] == [True]
    with pytest.raises(PublishingError, match=words):
        send(study)
    assert zenodo.calls == []
    send(study, cleared=True)
    assert "by the word of who sent it" in StudyEvent.objects.get(what="deposited-release").words


@pytest.mark.parametrize(
    ("rights", "licence", "fits"),
    [
        ("Wikipedia, CC BY-SA 3.0", "CC-BY-SA-4.0", True),
        ("Wikipedia, CC BY-SA 3.0", "CC-BY-NC-SA-4.0", False),
        ("Fiction, CC BY-NC-SA 4.0", "CC-BY-NC-SA-4.0", True),
        ("Stories, CC BY-ND 4.0", "CC-BY-ND-4.0", True),
        ("Stories, NoDerivatives", "CC-BY-SA-4.0", False),
    ],
)
def test_the_licence_of_a_release_may_not_differ_from_that_of_its_texts(
    study: Study, rights: str, licence: str, fits: bool
) -> None:
    study.dataset.attribution = rights
    study.dataset.save()
    release = Release.objects.get(study=study, version="1.0")
    release.licence = licence
    assert (not list(find_refusals(release, "zenodo", "", has_creators=True, cleared=False))) == fits


def test_what_is_given_is_read_or_refused_with_an_example() -> None:
    assert read_creators("The Lab (University)\nDoe, Jane") == [
        Creator(family="The Lab", given="", orcid="", affiliation="University"),
        Creator(family="Doe", given="Jane", orcid="", affiliation=""),
    ]
    with pytest.raises(PublishingError, match="no ORCID iD"):
        read_creators("Doe, Jane 0000-0002-1825-0098")
    with pytest.raises(PublishingError, match="'Doe"):
        read_creators("Doe, Jane, (")
    assert read_papers("arXiv:2401.12345v2, https://a.example/b") == [
        Paper("arXiv:2401.12345", "arxiv"),
        Paper("https://a.example/b", "url"),
    ]
    with pytest.raises(PublishingError, match="expected a DOI"):
        read_papers("tacl")


def test_another_file_than_the_releases_is_refused(
    study: Study, releases: tuple[Path, list[Release]]
) -> None:
    other = releases[0] / releases[1][1].file
    with refuses(PublishingError, "is not release", "1.0"):
        plan_publication(study=study, to="zenodo", version="1.0", bundle=other)


def test_the_page_shows_what_would_be_sent_sends_it_and_says_where_it_is(
    designer: Client, study: Study, zenodo: FakeZenodo
) -> None:
    page = reverse("admin:judgments_study_releases", args=[study.pk])
    step = reverse("admin:judgments_study_do", args=[study.pk, "publish-release"])
    asked = {"page": "releases", "to": "zenodo", "version": "1.0", "creators": WHO}

    def do(**more: str) -> str:
        designer.post(step, asked | more)
        job = Job.objects.get(kind="publish_release", state=Job.State.QUEUED)
        run_job(job.pk)
        return html.unescape(designer.get(page).content.decode())

    shown = do()
    assert "release-1.0.zip" in shown
    assert "Nothing has been sent yet" in shown
    assert zenodo.calls == []
    shown = do(send="true")
    assert f'href="{zenodo.url}/uploads/1000"' in shown
    shown = do(send="true", publish="true")
    assert 'href="https://doi.org/10.5072/zenodo.1000"' in shown
    assert StudyEvent.objects.get(what="published-release").by == User.objects.get(username="designer")
    found = designer.get("/api/deposits/").json()["results"]
    assert [(one["study"], one["version"], one["doi"], one["state"]) for one in found] == [
        (study.slug, "1.0", "10.5072/zenodo.1000", "public")
    ]
    answer = designer.post(
        f"/api/studies/{study.slug}/publish-release/", {"to": "zenodo"}, content_type="application/json"
    )
    assert answer.status_code == 202


def test_only_an_owner_gives_a_release_away(client: Client, study: Study, zenodo: FakeZenodo) -> None:
    user = User.objects.create_user("dora", is_staff=True)
    give_role(study=study, user=user, role="designer")
    client.force_login(user)
    step = reverse("admin:judgments_study_do", args=[study.pk, "publish-release"])
    assert client.post(step, {"page": "releases", "to": "zenodo", "send": "true"}).status_code == 403
    answer = client.post(
        f"/api/studies/{study.slug}/publish-release/", {"to": "zenodo"}, content_type="application/json"
    )
    assert answer.status_code == 403
    assert not Job.objects.filter(kind="publish_release").exists()


def test_a_job_that_waited_sends_nothing_once_its_owner_is_none(
    client: Client, study: Study, zenodo: FakeZenodo
) -> None:
    user = User.objects.create_user("olga", is_staff=True)
    give_role(study=study, user=user, role="owner")
    give_role(study=study, user=User.objects.create_user("omar", is_staff=True), role="owner")
    client.force_login(user)
    asked = {"page": "releases", "to": "zenodo", "version": "1.0", "creators": WHO, "send": "true"}
    client.post(reverse("admin:judgments_study_do", args=[study.pk, "publish-release"]), asked)
    give_role(study=study, user=user, role="viewer")
    job = Job.objects.get(kind="publish_release")
    run_job(job.pk)
    job.refresh_from_db()
    assert "no owner" in job.error
    assert zenodo.calls == []


def erase_somebody(study: Study) -> None:
    content = {"releases": [dict(row) for row in study.releases.values("version", "sha256")]}
    Erasure.objects.create(study=study, mark="m", way="all", content=content)


@pytest.mark.parametrize("to", ["zenodo", "huggingface"])
def test_a_release_with_somebody_who_was_erased_is_not_made_public(
    to: str, study: Study, zenodo: FakeZenodo, hub: FakeHub
) -> None:
    given: dict[str, Any] = {"creators": WHO, "repository": "jane/dogs" if to == "huggingface" else ""}
    plan = plan_publication(study=study, to=to, version="1.0", publish=True, **given)
    erase_somebody(study)  # after the job read the release
    with refuses(PublishingError, "erased", "1.0"):
        send_release(plan=plan)
    assert not any(one["published"] for one in zenodo.records.values())
    assert all(one["private"] and len(one["commits"]) == 1 for one in hub.repositories.values())
    calls = len(zenodo.calls) + len(hub.calls)
    with refuses(PublishingError, "participant was erased"):
        send(study, to)
    assert len(zenodo.calls) + len(hub.calls) == calls


def test_a_file_that_goes_while_it_is_sent_is_one_sentence(
    study: Study, zenodo: FakeZenodo, releases: tuple[Path, list[Release]], tmp_path: Path
) -> None:
    copy = Path(shutil.copy(releases[0] / releases[1][0].file, tmp_path))
    plan = plan_publication(study=study, to="zenodo", version="1.0", bundle=copy, publish=True, creators=WHO)
    copy.unlink()
    with pytest.raises(PublishingError, match="removed or changed"):
        send_release(plan=plan)


def test_no_draft_goes_into_a_dataset_that_everybody_sees(study: Study, hub: FakeHub) -> None:
    send(study, "huggingface", publish=True)
    one = hub.repositories["jane/dogs"]
    before = list(one["commits"])
    with pytest.raises(PublishingError, match="public"):
        send(study, "huggingface", version="1.1")
    assert one["commits"] == before
    assert send(study, "huggingface", version="1.1", publish=True).deposit.state == "public"


def test_a_run_that_waited_for_the_archive_creates_nothing_after_another_one(
    study: Study, zenodo: FakeZenodo
) -> None:
    def meanwhile(before_next: Any) -> None:
        with suppress(PublishingError, DataConflict):
            send(study)

    zenodo.faults = [("POST /api/records$", 429)]
    site = "common.http.client.time.sleep"
    with pytest.MonkeyPatch.context() as clock:
        clock.setattr(site, meanwhile)  # the first one waits; the second one is through by then
        with pytest.raises(DataConflict, match="sends"):
            send(study)
    assert len(zenodo.records) == 1
    assert Deposit.objects.get().state == "draft"


def test_an_archive_that_is_busy_for_long_is_left_alone(study: Study, zenodo: FakeZenodo) -> None:
    for later in ("3600", format_datetime(timezone.now() + timedelta(hours=1), usegmt=True)):
        zenodo.faults, zenodo.calls, zenodo.retry_after = [("POST /api/records$", 429)], [], later
        with refuses(PublishingError, "minutes", "60", "429"):
            send(study)
        assert zenodo.asked("POST /api/records$") == 1
    assert (seconds_to_wait({"Retry-After": "9" * 400}), seconds_to_wait({"Retry-After": "soon"})) == (
        999_999_999,
        0,
    )


def test_an_address_leads_where_it_says(study: Study, settings: Settings) -> None:
    settings.ZENODO_URL, settings.ZENODO_TOKEN = "https://bot:secret@zenodo.example", TOKEN
    with pytest.raises(PublishingError, match=r"address of zenodo\.example") as refused:
        send(study)
    assert "secret" not in str(refused.value)
    with refuses(PublishingError, "HUGGINGFACE_TOKEN", "blank"):
        Site(url="https://hub.example", token=f"{TOKEN}\n", setting="HUGGINGFACE_TOKEN")
    with Site(url="https://hub.example", token=TOKEN, setting="HUGGINGFACE_TOKEN") as site:
        for address in ("http://127.0.0.1:6379/", "https://localhost/", "http://store.example/", "https://["):
            with pytest.raises(PublishingError, match="nothing was sent"):
                site.put(address, what="a.zip", content=tuple, headers={})
    for repository in ("../repos", "lab/..", "lab/a..b", "läb/a"):
        asked = PublishReleaseRequest(data={"to": "huggingface", "repository": repository})
        assert not asked.is_valid()
        assert set(asked.errors) == {"repository"}


def test_a_card_of_strange_names_stays_readable(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    strange = 'x"\nlicense: mit\n---\x7f\x85\u2028\ufeff\ud800 {{ 1 }} # &a *b !!python 😀 \u202e'
    card = TEMPLATES.from_string("- {{ name|json }}\n").render(name=strange)
    assert yaml.safe_load(card.encode()) == [strange]
    assert yaml.safe_load(TEMPLATES.from_string("- {{ name|json }}").render(name="no")) == ["no"]


def test_the_integrity_check_looks_at_deposits(study: Study) -> None:
    release = Release.objects.get(version="1.0")
    Deposit.objects.create(
        release=release, archive="zenodo", host="zenodo.org", state="public", remote="7", sent=[]
    )
    problems = [one for one in check_integrity().problems if "release 1.0 is public at zenodo.org" in one]
    assert len(problems) == 2

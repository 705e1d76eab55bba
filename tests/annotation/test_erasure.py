"""Erasing a person: nothing tells who they were, results and releases hold, and copies are cleaned again."""

import json
import re
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from annotation.crowds.opening import close_study
from annotation.models import (
    Assignment,
    Case,
    Erasure,
    Invitation,
    Judgment,
    Participation,
    ProblemReport,
    Worker,
)
from annotation.models.privacy import person_erased
from annotation.privacy import retention
from annotation.privacy.erasing import erase_person
from annotation.privacy.erasure_list import erasure_list
from annotation.privacy.names import replace_worker_names
from annotation.privacy.people import erasure_mark_of
from annotation.privacy.personal_rows import DELETED_MODELS, MOVED_MODELS, PAYMENT_MODELS, UNLINKED_MODELS
from annotation.privacy.retention import end_identities_of_study, enqueue_expired_retentions, retention_of
from annotation.quality.exclusions import exclude_worker
from annotation.work.claims import claim_assignment
from annotation.work.joining import create_invitations, join_study
from annotation.work.submissions import submit_assignment
from evaluation.data.integrity import check_integrity
from evaluation.data.releases.erasure import precedes_erasure
from evaluation.data.releases.origin import origin_of
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.models import Analysis
from evaluation.reports.releases.making import release_study
from evaluation.reports.releases.verification import verify_bundle
from evaluation.results.aggregation import aggregate_study, compute_aggregation
from judgments.jobs.claims import run_job
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study, StudyEvent
from tests.annotation.casting import joined
from tests.annotation.writing import write_all, writing_study
from tests.refusals import refuses
from tests.studies import make_study

pytestmark = pytest.mark.django_db
NAME = "Ada Unmistakable"


def all_text() -> str:
    """Everything in the database, as text."""
    models = apps.get_models(include_auto_created=True)
    found = [str(row) for model in models for row in model._base_manager.order_by("pk").values_list()]
    return "\n".join(found)


def judge(study: Study, name: str, answer: int = 1) -> Worker:
    """Somebody who joins, and says the same of everything with a comment."""
    worker = joined(study, name).worker
    while (claim := claim_assignment(study=study, worker=worker)) is not None:
        answers = [
            {"position": place.position, "value": answer, "comment": f"{name} thinks so"}
            for place in claim.page_units
        ]
        submit_assignment(assignment=claim.assignment, answers=answers)
    return worker


@pytest.fixture
def study(settings: Settings, tmp_path: Path) -> Study:
    """A closed study of three people, with a problem report."""
    settings.EXPORT_ROOT = tmp_path / "exports"
    study = make_study("pairwise", judgments_per_unit=3, sampling={"pairs": {"MM": 4}})
    for number, name in enumerate((NAME, "bob", "cyd")):
        worker = judge(study, name, 1 + number % 2)
    assignment = Assignment.objects.filter(worker__name=NAME).first()
    assert assignment is not None
    assert assignment.hit is not None
    unit = assignment.hit.places.first()
    assert unit is not None
    ProblemReport.objects.create(assignment=assignment, unit=unit.unit, comment=f"I, {NAME}, saw nothing")
    exclude_worker(study=study, worker=worker, why=f"copied from {NAME}")
    close_study(study=study)
    study.refresh_from_db()
    return study


def released(study: Study, folder: Path) -> Path:
    terms = ReleaseTerms(version="1.0", licence="CC-BY-4.0")
    release_study(study=study, terms=terms, output=folder / "release.zip")
    return folder / "release.zip"


def person(name: str = NAME) -> Worker:
    return Worker.objects.get(name=name)


def test_every_table_with_a_person_has_a_rule() -> None:
    named = {
        model
        for app in ("annotation", "judgments", "evaluation")
        for model in apps.get_app_config(app).get_models()
        if any(field.related_model is Worker for field in model._meta.get_fields() if field.concrete)
    }
    assert named == {*DELETED_MODELS, *MOVED_MODELS, *PAYMENT_MODELS, *UNLINKED_MODELS}


def test_nothing_tells_who_they_were_and_what_is_published_holds(study: Study, tmp_path: Path) -> None:
    aggregate_study(study=study)
    bundle = released(study, tmp_path)
    before = Judgment.objects.of_study(study).count()
    assert all_text().count("Unmistakable") > 5
    aggregation = Analysis.objects.get(study=study, what="aggregation").result["agreement"]
    erase_person(study=study, worker=person())
    assert "Unmistakable" not in all_text()
    assert check_integrity().problems == []
    assert Judgment.objects.of_study(study).count() == before
    assert verify_bundle(bundle).count == 0
    assert compute_aggregation(study=study).result["agreement"] == aggregation
    found = origin_of(study=study, bundle=bundle)
    assert found.is_confirmed
    assert (found.version, found.unaccounted) == ("1.0", 0)


def test_with_their_judgments_results_are_older_and_a_receipt_proves_the_rows(
    study: Study, tmp_path: Path
) -> None:
    aggregate_study(study=study)
    bundle = released(study, tmp_path)
    mine = Judgment.objects.filter(assignment__worker=person()).count()
    done = erase_person(study=study, worker=person(), way="all")
    assert "Unmistakable" not in all_text()
    assert check_integrity().problems == []
    stored = Analysis.objects.get(study=study, what="aggregation")
    assert precedes_erasure(stored)
    assert compute_aggregation(study=study).result["counts"]["judgments"] == (
        stored.result["counts"]["judgments"] - mine
    )
    assert verify_bundle(bundle).count == 0
    without = origin_of(study=study, bundle=bundle)
    assert without.is_confirmed
    assert (without.unaccounted, without.erased) == (mine, mine)
    proved = origin_of(study=study, bundle=bundle, receipts=[done.receipt])
    assert proved.is_confirmed
    assert (proved.erased_with_receipt, proved.unaccounted) == (mine, 0)
    another = origin_of(study=study, bundle=bundle, receipts=["NOTTHERECEIPT"])
    assert another.erased_with_receipt == 0
    # somebody else's rows that vanish are not covered by the erasure
    Judgment.objects.filter(assignment__worker__name="bob").erase()
    assert not origin_of(study=study, bundle=bundle).is_confirmed


def test_an_open_study_asks_somebody_else_for_what_was_erased(settings: Settings) -> None:
    study = make_study("pairwise", judgments_per_unit=2, sampling={"pairs": {"MM": 4}})
    judge(study, NAME)
    judge(study, "bob")
    held = joined(study, "cyd")
    assert claim_assignment(study=study, worker=held.worker) is None
    erase_person(study=study, worker=person(), way="all")
    assert claim_assignment(study=study, worker=held.worker) is not None
    assert check_integrity().problems == []
    erase_person(study=study, worker=held.worker)  # who holds a page gives it back
    assert not Assignment.objects.filter(state="accepted").exists()
    assert check_integrity().problems == []


def test_a_person_of_two_studies_keeps_the_other(study: Study) -> None:
    other = make_study("triplet", judgments_per_unit=1)
    join_study(study=other, name=NAME, known_worker=person())
    erase_person(study=study, worker=person())
    assert person().participations.get().study == other
    assert check_integrity().problems == []
    assert not Assignment.objects.filter(study=study, worker=person()).exists()


def test_files_go_after_the_erasure_and_a_killed_job_is_done_again(study: Study, tmp_path: Path) -> None:
    job = enqueue(kind="export", args={"study": study.slug, "format": "jsonl"})
    run_job(job.pk)
    file = tmp_path / "exports" / f"{study.slug}-{job.pk}.jsonl"
    assert NAME in file.read_text()
    done = erase_person(study=study, worker=person())
    assert done.job is not None
    assert done.job.state == "queued"
    running = Job.objects.filter(pk=job.pk)
    running.update(state="running", finished_at=None, heartbeat=timezone.now(), owner="somebody")
    run_job(done.job.pk)  # an export that is being written may name them
    assert file.exists()
    assert Job.objects.get(pk=done.job.pk).state == "queued"
    running.update(state="done", finished_at=timezone.now())
    Job.objects.filter(pk=done.job.pk).update(sent_at=None)
    run_job(done.job.pk)
    assert not file.exists()
    assert Job.objects.get(pk=done.job.pk).state == "done"


def test_a_failure_in_the_middle_changes_nothing(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    before = all_text()

    def refuse(**_about: Any) -> None:
        raise KeyboardInterrupt

    person_erased.connect(refuse)
    try:
        with pytest.raises(KeyboardInterrupt):
            erase_person(study=study, worker=person(), way="all")
    finally:
        person_erased.disconnect(refuse)
    assert all_text() == before


def test_a_restored_copy_is_cleaned_by_the_list(study: Study, tmp_path: Path) -> None:
    done = erase_person(study=study, worker=person())
    erase_person(study=study, worker=person("bob"), way="all")
    lines = tmp_path / "erasures.jsonl"
    out = StringIO()
    call_command("erase_person", "--list", stdout=out)
    lines.write_text(out.getvalue())
    assert "bob" not in lines.read_text()
    assert NAME not in lines.read_text()
    # as in a copy from before: the people are there, and the erasures are not
    stand_ins = Worker.objects.filter(assignments__judgments__isnull=False).exclude(name="cyd").distinct()
    Worker.objects.filter(pk=stand_ins.get().pk).update(name=NAME)
    Erasure.objects.all()._raw_delete("default")
    call_command("erase_person", "--replay", str(lines), stdout=(out := StringIO()))
    assert "1 person erased again, 1 entered without anybody to erase, 0 known." in out.getvalue()
    assert NAME not in all_text()
    assert [row["content"] for row in erasure_list()] == [
        json.loads(line)["content"] for line in lines.read_text().splitlines()
    ]
    assert Erasure.objects.order_by("pk")[0].content["commitments"] == done.erasure.content["commitments"]
    assert check_integrity().problems == []
    back = Worker.objects.filter(name__startswith="erased-").first()
    Worker.objects.filter(pk=back.pk if back else 0).update(name=NAME)
    assert ["was erased on" in one for one in check_integrity().problems] == [True]
    Erasure.objects.filter(pk=Erasure.objects.order_by("pk")[1].pk).redact(previous="0" * 64)
    assert any("erasure" in one and "was changed" in one for one in check_integrity().problems)


def test_who_comes_later_under_the_same_name_is_left_alone(study: Study, tmp_path: Path) -> None:
    erase_person(study=study, worker=person())
    study.state = Study.State.OPEN
    study.save()
    joined(study, NAME)
    assert check_integrity().problems == []


def test_the_command_says_what_goes_and_twice_says_already(study: Study) -> None:
    with pytest.raises(CommandError, match="Nothing was erased"):
        call_command("erase_person", study.slug, "--worker", NAME, stdout=(out := StringIO()))
    assert "goes: " in out.getvalue()
    assert "comments" in out.getvalue()
    assert NAME not in out.getvalue()
    assert Worker.objects.filter(name=NAME).exists()
    call_command("erase_person", "--worker", NAME, "--yes", stdout=(out := StringIO()))
    assert "Receipt, shown once" in out.getvalue()
    call_command("erase_person", study.slug, "--worker", NAME, "--yes", stdout=(out := StringIO()))
    assert "erased already" in out.getvalue()
    with pytest.raises(CommandError, match="took part"):
        call_command("erase_person", study.slug, "--worker", "nobody", "--yes")


def test_a_promised_end_of_names_keeps_answers_and_texts(study: Study) -> None:
    study.design |= {"retention": {"identities_days": 30}}
    study.closed_at = timezone.now() - timedelta(days=29)
    study.save()
    comments = Judgment.objects.exclude(comment="").count()
    Invitation.objects.create(study=study, code="for-ada", worker=person(), used_at=timezone.now())
    assert end_identities_of_study(study=study) == 0
    enqueue_expired_retentions()
    assert not Job.objects.filter(kind="end_retention").exists()
    assert (retention_of(study).people_count, retention_of(study).is_near) == (3, True)
    Study.objects.update(closed_at=timezone.now() - timedelta(days=31))
    enqueue_expired_retentions()
    enqueue_expired_retentions()
    (job,) = Job.objects.filter(kind="end_retention")
    run_job(job.pk)
    study.refresh_from_db()
    assert (
        retention_of(study).people_count,
        Worker.objects.filter(name__in=[NAME, "bob", "cyd"]).count(),
    ) == (
        0,
        0,
    )
    assert Judgment.objects.exclude(comment="").count() == comments > 0
    exact = re.compile(r"datetime\(\d+, \d+, \d+, \d+, \d+, [1-9]")
    tables = (Judgment, Assignment, Participation, ProblemReport, Invitation)
    assert not exact.search(str([list(table._base_manager.values_list()) for table in tables]))
    assert check_integrity().problems == []
    assert StudyEvent.objects.filter(what="retention-ended").count() == 1


def test_a_promised_end_that_is_interrupted_goes_on(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH_SIZE", 1)
    study.design |= {"retention": {"identities_days": 30}}
    study.closed_at = timezone.now() - timedelta(days=31)
    study.save()

    def stop(share: float, words: str = "") -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        end_identities_of_study(study=study, progress=stop)
    assert retention_of(study).people_count == 2
    assert check_integrity().problems == []
    assert end_identities_of_study(study=study) == 2
    assert retention_of(study).people_count == 0
    assert check_integrity().problems == []


def test_a_name_that_is_a_word_of_results_changes_nothing_else() -> None:
    result = {
        "counts": {"workers": 2},
        "systems": ["counts", "the counts"],
        "workers": [{"worker": "counts"}, {"worker": "counts-2"}],
    }
    after = replace_worker_names(result, {"counts": "erased-x"})
    assert after == result | {"workers": [{"worker": "erased-x"}, {"worker": "counts-2"}]}


def test_the_log_says_of_others_what_it_said(study: Study) -> None:
    longer = joined_to_closed(study, f"{NAME} Smith")
    exclude_worker(study=study, worker=longer, why=f"worse than {NAME}")
    erase_person(study=study, worker=person())
    event = StudyEvent.objects.get(study=study, what="excluded", details__worker=longer.name)
    assert event.words == f"{NAME} Smith was excluded."
    assert event.why.startswith("worse than erased-")


def joined_to_closed(study: Study, name: str) -> Worker:
    worker = Worker.objects.create(name=name)
    worker.participations.create(study=study)
    return worker


def logged_notes(study: Study) -> list[str]:
    """The notes in the log's entries on invitations, which are the invitations' own."""
    events = StudyEvent.objects.filter(study=study, what="invited").order_by("pk")
    return [event.details["note"] for event in events]


@pytest.mark.parametrize("note", [NAME, f"{NAME}, unmistakable@example.org"])
def test_the_log_forgets_what_was_noted_on_their_invitation_alone(note: str) -> None:
    study = make_study("pairwise", access={"join": "invited"})
    [invitation] = create_invitations(study=study, count=1, note=note)
    create_invitations(study=study, count=2, note="the lab")
    erase_person(study=study, worker=joined(study, NAME, code=invitation.code).worker)
    assert "unmistakable" not in all_text().lower()
    assert logged_notes(study) == ["…", "the lab"]
    assert check_integrity().problems == []


@pytest.mark.parametrize("note", [NAME, f"friend of {NAME}, b@x.org", f"{NAME}, b@x.org".rjust(200, ".")])
def test_a_note_that_names_somebody_erased_before_goes_with_its_own_person(note: str) -> None:
    study = make_study("pairwise", access={"join": "invited"})
    [of_ada] = create_invitations(study=study, count=1, note="ada@x.org")
    [of_bob] = create_invitations(study=study, count=1, note=note)
    ada, bob = (joined(study, name, code=one.code).worker for name, one in ((NAME, of_ada), ("bob", of_bob)))
    erase_person(study=study, worker=ada)
    assert not re.search("unmistakable|ada@", all_text().lower())
    of_bob.refresh_from_db()
    assert logged_notes(study) == ["…", of_bob.note]
    erase_person(study=study, worker=bob)
    assert not re.search("bob|@x.org|friend", all_text().lower())
    assert logged_notes(study) == ["…", "…"]
    assert check_integrity().problems == []


def test_a_note_that_invitations_share_goes_from_all_of_them() -> None:
    study = make_study("pairwise", access={"join": "invited"})
    invitations = create_invitations(study=study, count=3, note="ada@x.org, bob@x.org")
    ada = joined(study, NAME, code=invitations[0].code).worker
    joined(study, "bob", code=invitations[1].code)
    erase_person(study=study, worker=ada)
    assert "@x.org" not in all_text()
    assert logged_notes(study) == ["…"]
    assert [one.note for one in Invitation.objects.order_by("pk")] == ["", "…", "…"]


def test_quotes_are_read_only_for_somebody_who_wrote_texts() -> None:
    study = writing_study(images=3)
    for worker, count in ((write_all(study, "ada"), 2), (joined(study, "bob").worker, 0)):
        with CaptureQueriesContext(connection) as queries:
            erase_person(study=study, worker=worker)
        of_quotes = [query["sql"] for query in queries if re.search("numbers.*texts", query["sql"])]
        assert len(of_quotes) == count  # of cases and of exclusions


def test_what_detectors_quote_of_their_texts_goes_too() -> None:
    study = writing_study(images=3)
    ada, bob = write_all(study, "ada"), write_all(study, "bob")
    own, others = (
        str(Judgment.objects.filter(assignment__worker=one).values_list("answer", flat=True)[0])
        for one in (ada, bob)
    )
    for worker, texts in ((ada, [{"own": own, "word": "heron"}]), (bob, [{"own": others, "other": own}])):
        evidence = {"words": "w", "numbers": {"texts": texts}, "settings": {}}
        Case.objects.create(study=study, worker=worker, rule="phrasing", action="flag", evidence=evidence)
    erase_person(study=study, worker=ada)
    assert own not in all_text()
    quoted = [case.evidence["numbers"]["texts"] for case in Case.objects.order_by("pk")]
    assert quoted == [[{"own": "…", "word": "heron"}], [{"own": others, "other": "…"}]]
    assert set(Judgment.objects.values_list("assignment__worker__name", flat=True)) == {"bob"}


def test_who_waits_is_asked_of_the_database_and_not_of_each_person(
    study: Study, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    study.design |= {"retention": {"identities_days": 30}}
    with django_assert_max_num_queries(2):
        found = retention_of(study)
    assert (found.people_count, found.unsettled_count) == (3, 0)


def test_a_replay_goes_on_after_somebody_who_is_to_be_paid_first(tmp_path: Path) -> None:
    study = make_study(
        "pairwise", judgments_per_unit=1, sampling={"pairs": {"MM": 4}}, crowd={"reward_cents": 50}
    )
    people = [judge(study, "ada"), joined(study, "bob").worker]
    lines = tmp_path / "erasures.jsonl"
    row = {"study": study.slug, "way": "identity", "content": {"removed": {}}, "previous": "", "digest": ""}
    at = timezone.now().isoformat()
    lines.write_text("\n".join(json.dumps(row | {"mark": erasure_mark_of(one), "at": at}) for one in people))
    with refuses(CommandError, "1 person"):
        call_command("erase_person", "--replay", str(lines))
    assert list(Worker.objects.filter(name__in=["ada", "bob"]).values_list("name", flat=True)) == ["ada"]

"""What a panel's list says beside our sessions, what confirming it books and whom it pays."""

import csv
import io
import json
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from annotation.crowds.opening import close_study
from annotation.crowds.people import pseudonym
from annotation.crowds.raw_ids import forget_raw_ids
from annotation.crowds.sync.report import report_of
from annotation.models import CrowdSession, LedgerEntry, RawId, Worker
from annotation.money.ledger import set_budget
from annotation.money.limits import cents_committed_today, committed_cents
from annotation.privacy.erasing import erase_person
from annotation.quality.exclusions import exclude_worker
from common.errors import WrongState
from contrib.panel_lists.booking import book_list
from contrib.panel_lists.comparison import compare_panel_list
from contrib.panel_lists.payments import payment_list
from contrib.panel_lists.submission_list import ListProblem, read_submissions
from contrib.panel_lists.tests.lists import HEADER, found, line, submissions
from evaluation.data.invariants.money import budgets_are_what_their_ledger_says
from judgments.design.tables.panel import Panel
from judgments.studies.designs import design_of
from tests.annotation.crowds.panels import (
    ADA,
    BOB,
    EVE,
    at_work,
    budget_agrees,
    completed,
    do_page,
    done,
    everything,
    panel_study,
    session,
    start,
)
from tests.annotation.test_erasure import all_text


@pytest.mark.django_db
def test_confirming_books_what_the_panel_decided_once() -> None:
    study = panel_study()
    done(study, ADA, BOB)
    at_work(study, EVE)
    listed = submissions(study, line(ADA, "APPROVED"), line(BOB, "REJECTED"), line(EVE, "RETURNED"))
    booked = book_list(study=study, submissions=listed)
    assert (booked.approved, booked.rejected, booked.ended) == (1, 1, 1)
    statuses = list(CrowdSession.objects.order_by("pk").values_list("status", flat=True))
    assert statuses == ["approved", "rejected", "returned"]
    assert study.budgets.get().spent_cents == 65
    budget_agrees(study)
    before = everything()
    again = book_list(study=study, submissions=listed)
    assert (again.change_count, everything()) == (0, before)


@pytest.mark.django_db
def test_what_the_panel_paid_for_nothing_that_counts_here_is_spent_once_and_flagged() -> None:
    study = panel_study()
    at_work(study, BOB)
    book_list(study=study, submissions=submissions(study, line(BOB, "RETURNED")))
    set_budget(study=study, platform=study.platform, cents=study.budgets.get().reserved_cents)
    listed = submissions(study, line(BOB, "APPROVED"), line(EVE, "APPROVED"))  # given back here; never came
    booked = book_list(study=study, submissions=listed)
    assert (booked.unmatched, booked.approved, session(study).status) == (2, 0, "returned")
    budget = study.budgets.get()
    assert (budget.spent_cents, budget.over_cents, budget.left_cents) == (130, 130, -130)
    budget_agrees(study)
    assert list(budgets_are_what_their_ledger_says()) == []
    found = {one.kind for one in report_of(study, []).discrepancies}
    assert {"money", "paid-there"} <= found
    before = everything()
    assert (book_list(study=study, submissions=listed).change_count, everything()) == (0, before)


@pytest.mark.django_db
def test_who_was_paid_for_nothing_is_erased_from_the_ledger_and_not_booked_again() -> None:
    study = panel_study()
    at_work(study, BOB)
    book_list(study=study, submissions=submissions(study, line(BOB, "RETURNED")))
    listed = submissions(study, line(BOB, "APPROVED"))
    assert book_list(study=study, submissions=listed).unmatched == 1
    one, entry = session(study).worker, LedgerEntry.objects.filter(what="unmatched")
    (place, _mark, submission, what) = entry.get().key.rsplit(":", 3)
    entry.redact(key=":".join([place, one.name, submission, what]))  # as it was once written
    import_module("annotation.migrations.0020_fewer_traces_of_people").hide_people(apps, None)
    erase_person(study=study, worker=one)
    assert one.name not in all_text()
    assert book_list(study=study, submissions=listed).change_count == 0
    assert one.name not in all_text()


@pytest.mark.django_db
@time_machine.travel(
    datetime.now(UTC).replace(hour=12), tick=True
)  # far from midnight, when a day begins anew
def test_a_made_up_list_uses_up_only_the_limits_of_who_uploads_it(django_user_model: type[User]) -> None:
    study = panel_study()
    designer = django_user_model.objects.create_user("designer", is_staff=True)
    currency = study.budgets.get().currency
    before = (committed_cents(currency), cents_committed_today(currency))
    listed = submissions(study, *(line(person, "APPROVED") for person in (ADA, BOB, EVE)))
    assert book_list(study=study, submissions=listed, by=designer).unmatched == 3
    assert (committed_cents(currency), cents_committed_today(currency)) == before
    assert (committed_cents(currency, designer.pk), cents_committed_today(currency, designer.pk)) == (
        195,
        195,
    )
    assert study.budgets.get().spent_cents == 195
    entries = LedgerEntry.objects.filter(what="unmatched").select_related("by")
    assert {entry.by for entry in entries} == {designer}
    assert list(budgets_are_what_their_ledger_says()) == []


@pytest.mark.django_db
def test_what_is_to_pay_is_approved_here_only_when_asked_for() -> None:
    study = panel_study()
    done(study, ADA)
    listed = submissions(study, line(ADA, "AWAITING REVIEW", completed(study)))
    assert book_list(study=study, submissions=listed).change_count == 0
    assert session(study).status == "submitted"
    assert session(study).confirmed
    assert book_list(study=study, submissions=listed, approve=True).approved == 1
    assert session(study).booked == "spent"
    assert book_list(study=study, submissions=listed, approve=True).change_count == 0
    budget_agrees(study)


@pytest.mark.django_db
def test_who_gave_back_there_what_was_finished_here_leaves_the_place() -> None:
    study = panel_study()
    done(study, ADA)
    book_list(study=study, submissions=submissions(study, line(ADA, "RETURNED")))
    assert session(study).status == "returned"
    close_study(study=study)
    assert study.budgets.get().reserved_cents == 0
    budget_agrees(study)


@pytest.mark.django_db
def test_the_payment_list_names_the_panel_s_ids_and_the_amount() -> None:
    study = panel_study(reward=125)
    done(study, ADA)
    at_work(study, BOB)
    listed = submissions(study, line(ADA, "AWAITING REVIEW", completed(study)), line(BOB, "ACTIVE"))
    rows = payment_list(study, compare_panel_list(study=study, submissions=listed))
    assert [row[:3] for row in rows[1:]] == [[ADA["PROLIFIC_PID"], ADA["SESSION_ID"], "1.25"]]


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_the_command_says_whom_to_pay_writes_both_files_and_books_when_told_to(tmp_path: Path) -> None:
    study = panel_study()
    done(study, ADA, BOB)
    listed = tmp_path / "export.csv"
    listed.write_text(
        "\n".join((HEADER, line(ADA, "AWAITING REVIEW", completed(study)), line(BOB, "APPROVED")))
    )
    output, payments = tmp_path / "all.json", tmp_path / "pay.csv"
    before = everything()
    said = run(
        "reconcile_panel", study.slug, str(listed), "--output", str(output), "--payments", str(payments)
    )
    assert "1 to pay\n1 paid\n" in said
    assert everything() == before
    assert [one["verdict"] for one in json.loads(output.read_text())["submissions"]] == ["pay", "paid"]
    assert list(csv.reader(payments.read_text().splitlines()))[1][0] == ADA["PROLIFIC_PID"]
    assert "Recorded: 2 approved, 0 rejected, 0 ended." in run(
        "reconcile_panel", study.slug, str(listed), "--book", "--approve"
    )
    assert "Recorded: 0 approved" in run("reconcile_panel", study.slug, str(listed), "--book", "--approve")
    with pytest.raises(CommandError, match="no column 'nope'"):
        run("reconcile_panel", study.slug, str(listed), "--worker-column", "nope")


@pytest.mark.django_db
def test_a_list_that_names_somebody_erased_books_nothing_again() -> None:
    study = panel_study()
    done(study, ADA, BOB)
    listed = submissions(study, line(ADA, "APPROVED"), line(BOB, "APPROVED"))
    book_list(study=study, submissions=listed)
    spent = study.budgets.get().spent_cents
    erase_person(study=study, worker=Worker.objects.get(name=pseudonym(study.platform, ADA["PROLIFIC_PID"])))
    before = everything()
    assert (book_list(study=study, submissions=listed).change_count, everything()) == (0, before)
    assert study.budgets.get().spent_cents == spent
    budget_agrees(study)


class TestReading:
    def panel(self, preset: str = "prolific", **values: Any) -> Panel:
        return Panel.model_validate({"preset": preset, **values})

    def test_columns_of_prolific_s_export_are_found_with_any_separator_and_byte_order_mark(self) -> None:
        panel = self.panel()
        text = "\n".join((HEADER, line(ADA, "AWAITING REVIEW", "C0DE"), "", line(BOB, "TIMED-OUT", "NOCODE")))
        for written in (
            text,
            "\ufeff" + text,
            text.replace(",", ";"),
            text.replace(",", "\t"),
            text.replace("\n", "\r\n"),
        ):
            one, two = read_submissions(written, panel)
            assert (one.worker, one.session, one.status, one.code) == (*_ids(ADA), "submitted", "C0DE")
            assert (two.worker, two.status, two.code, two.line) == (BOB["PROLIFIC_PID"], "timed-out", "", 4)

    def test_an_unknown_word_for_the_status_is_kept_and_means_nothing(self) -> None:
        (one,) = read_submissions("\n".join((HEADER, line(ADA, "Under moon"))), self.panel())
        assert (one.status, one.panel_status) == ("", "Under moon")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "empty"),
            ("a\x00b", r"U\+0000"),
            (
                "name,colour\nada,red\n",
                "name.*colour",
            ),
            (f'{HEADER}\n"unclosed,x\n', "is not CSV"),
            (f"{HEADER}\nx,,APPROVED\n", r"\b2\b.*no participant's id"),
            (
                f"{HEADER}\ns,p,APPROVED\ns,p,REJECTED\n",
                r"\b2\b.*\b3\b.*differ",
            ),
            (f"{HEADER}\n" + "s,p,APPROVED\n" * 20_001, "at most 20,000"),
        ],
    )
    def test_what_is_no_list_is_said_with_the_line(self, text: str, said: str) -> None:
        with pytest.raises(ListProblem, match=said):
            read_submissions(text, self.panel())

    def test_columns_can_be_chosen_by_name(self) -> None:
        panel = self.panel("plain")
        chosen = {"worker": "colour", "status": "name"}
        (one,) = read_submissions("name,colour\napproved,red\n", panel, columns=chosen)
        assert (one.worker, one.status) == ("red", "approved")
        with pytest.raises(ListProblem, match="no column 'hue'") as refused:
            read_submissions("name,colour\nx,y\n", panel, columns={"worker": "hue"})
        assert refused.value.columns == ["name", "colour"]

    def test_the_column_may_be_called_as_the_parameter_of_the_link(self) -> None:
        (one,) = read_submissions("member_no\n77\n", self.panel("plain", worker="member_no"))
        assert (one.worker, one.status) == ("77", "submitted")


def _ids(ids: dict[str, str]) -> tuple[str, str]:
    return ids["PROLIFIC_PID"], ids["SESSION_ID"]


@pytest.mark.django_db
def test_each_submission_is_told_apart_and_nothing_is_written() -> None:
    study = panel_study()
    done(study, ADA, BOB)
    at_work(study, EVE)
    before = everything()
    stranger = {"PROLIFIC_PID": "nobody", "SESSION_ID": "nowhere"}
    said = found(
        study,
        line(ADA, "AWAITING REVIEW", completed(study)),
        line(BOB, "AWAITING REVIEW", "WRONG"),
        line(EVE, "ACTIVE"),
        line(stranger, "AWAITING REVIEW", completed(study)),
    )
    assert everything() == before
    assert (said[ADA["PROLIFIC_PID"]].verdict, said[ADA["PROLIFIC_PID"]].is_contradictory) == ("pay", False)
    bob = said[BOB["PROLIFIC_PID"]]
    assert (bob.verdict, bob.is_contradictory) == ("pay", True)
    assert "the panel has code 'WRONG'" in bob.reason
    assert said[EVE["PROLIFIC_PID"]].verdict == "wait"
    assert (said["nobody"].verdict, said["nobody"].is_contradictory) == ("only-there", True)


@pytest.mark.django_db
def test_what_the_list_does_not_have_is_named_too() -> None:
    study = panel_study()
    done(study, ADA)
    at_work(study, BOB)
    said = found(study)
    assert (said[ADA["PROLIFIC_PID"]].verdict, said[ADA["PROLIFIC_PID"]].is_contradictory) == (
        "only-here",
        True,
    )
    assert (said[BOB["PROLIFIC_PID"]].verdict, said[BOB["PROLIFIC_PID"]].is_contradictory) == (
        "only-here",
        False,
    )


@pytest.mark.django_db
def test_of_who_finished_here_and_of_who_did_not() -> None:
    study = panel_study()
    done(study, ADA)
    at_work(study, BOB)
    for who, status, verdict, books, odd in (
        (ADA, "APPROVED", "paid", "approved", False),
        (ADA, "REJECTED", "no", "rejected", False),
        (ADA, "RETURNED", "no", "returned", True),
        (ADA, "TIMED-OUT", "pay", "", True),
        (ADA, "ACTIVE", "wait", "", True),
        (ADA, "AWAITING REVIEW", "pay", "", True),
        (ADA, "Beyond words", "wait", "", True),
        (BOB, "APPROVED", "no", "", True),
        (BOB, "REJECTED", "no", "", False),
        (BOB, "RETURNED", "no", "returned", False),
        (BOB, "TIMED-OUT", "no", "timed-out", False),
        (BOB, "ACTIVE", "wait", "", False),
        (BOB, "AWAITING REVIEW", "no", "", True),
    ):
        code = "" if who is ADA else "x"
        one = found(study, line(who, status, code))[who["PROLIFIC_PID"]]
        assert (one.verdict, one.new_status, one.is_contradictory) == (verdict, books, odd), (who, status)


@pytest.mark.django_db
def test_a_code_that_was_passed_on_pays_nobody() -> None:
    study = panel_study(hits=2)
    at_work(study, ADA)
    one = found(study, line(ADA, "AWAITING REVIEW", completed(study).lower()))[ADA["PROLIFIC_PID"]]
    assert (one.verdict, one.is_contradictory) == ("no", True)
    assert "not all of its pages are submitted here (0 of 2)" in one.reason


@pytest.mark.django_db
def test_another_person_s_submission_and_another_submission_of_a_person_are_named() -> None:
    study = panel_study()
    done(study, ADA)
    said = found(study, line({**BOB, "SESSION_ID": ADA["SESSION_ID"]}, "AWAITING REVIEW"))
    assert "the id of another participant" in said[BOB["PROLIFIC_PID"]].reason
    said = found(study, line({**ADA, "SESSION_ID": "other"}, "AWAITING REVIEW"))
    assert {one.verdict for one in said.values()} == {"only-here"}  # under one id, both lines
    listed = compare_panel_list(
        study=study, submissions=submissions(study, line({**ADA, "SESSION_ID": "other"}, "RETURNED"))
    )
    assert "not with this submission" in listed[0].reason


@pytest.mark.django_db
def test_a_list_that_names_people_alone_is_about_their_latest_session() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    client.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"})
    done(study, {**ADA, "SESSION_ID": "second"})
    listed = read_submissions(
        f"Participant id,Status\n{ADA['PROLIFIC_PID']},APPROVED\n", design_of(study).panel
    )
    latest, first = compare_panel_list(study=study, submissions=listed)
    assert (latest.verdict, latest.session) == ("paid", session(study, status="submitted"))
    assert (first.verdict, first.session) == ("only-here", session(study, status="returned"))


@pytest.mark.django_db
def test_whose_work_something_speaks_against_is_to_be_looked_at_first() -> None:
    study = panel_study()
    done(study, ADA)
    exclude_worker(
        study=study, worker=Worker.objects.get(), rule="too-fast", why="Four seconds a page.", evidence={}
    )
    one = found(study, line(ADA, "AWAITING REVIEW", completed(study)))[ADA["PROLIFIC_PID"]]
    assert one.verdict == "no"
    assert "Four seconds a page." in one.reason


@pytest.mark.django_db
def test_the_list_can_be_compared_after_the_raw_ids_were_deleted() -> None:
    study = panel_study()
    done(study, ADA)
    close_study(study=study)
    forget_raw_ids(study=study)
    assert not RawId.objects.exists()
    assert found(study, line(ADA, "AWAITING REVIEW", completed(study)))[ADA["PROLIFIC_PID"]].verdict == "pay"


@pytest.mark.django_db
def test_a_study_that_no_panel_has_cannot_be_compared() -> None:
    study = panel_study(opened=False)
    with pytest.raises(WrongState, match="to a panel"):
        compare_panel_list(study=study, submissions=[])


@pytest.mark.django_db
def test_nobody_can_hand_their_code_to_somebody_else() -> None:
    study = panel_study(preset="connect", panel={"personal_codes": True})
    ada, bob = ({"participantId": name, "assignmentId": f"{name}1"} for name in ("ada", "bob"))
    browser, _ = start(study, ada)
    shown = do_page(study, browser).content.decode()
    start(study, bob)
    code = session(study, status="submitted").code
    assert code in shown
    rows = f"Participant Id,Assignment Id,Status,Completion Code\nada,ada1,Submitted,{code}\nbob,bob1,Submitted,{code}"
    ada_there, bob_there = compare_panel_list(
        study=study, submissions=read_submissions(rows, design_of(study).panel)
    )
    assert (ada_there.verdict, ada_there.is_contradictory) == ("pay", False)
    assert (bob_there.verdict, bob_there.is_contradictory) == ("no", True)
    browser, _ = start(study, {"participantId": "eve", "assignmentId": "eve1"})
    do_page(study, browser)
    listed = read_submissions(rows.replace("bob", "eve"), design_of(study).panel)
    eve_there = compare_panel_list(study=study, submissions=listed)[1]
    assert f"the panel has code {code!r}. The expected code is" in eve_there.reason

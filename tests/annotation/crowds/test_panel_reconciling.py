"""A panel's list of submissions beside our own sessions: whom to pay, and what confirming books."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet

from annotation.models import Assignment, CrowdSession, LedgerEntry, RawId, Worker
from annotation.panel_ids import code_for
from annotation.panel_lists import ListProblem, Submission, as_csv, read_submissions
from annotation.services.arrivals import forget_raw_ids
from annotation.services.calls import carry_out_calls
from annotation.services.crowd import close_study
from annotation.services.exclusions import exclude_worker
from annotation.services.money import kept_cents, ledger_sums
from annotation.services.panel_bonuses import bonus_list, pay_pages, unpaid_pages
from annotation.services.payments import decide_session, pay_bonus
from annotation.services.reconciling import Compared, book_list, compare, payment_list
from annotation.services.reviews import approve_assignments
from annotation.services.wages import approve_unopposed
from judgments.errors import WrongState
from judgments.models import Study, StudyEvent
from judgments.services.studies import design_of
from tests.annotation.crowds.panels import ADA, BOB, EVE, do_page, panel_study, session, start

HEADER = "Submission id,Participant id,Status,Started at,Completed at,Time taken,Completion code,Age"


def line(ids: dict[str, str], status: str, code: str = "") -> str:
    """A line of Prolific's export."""
    return f"{ids['SESSION_ID']},{ids['PROLIFIC_PID']},{status},2026-11-20T12:00:00Z,,61,{code},33"


def submissions(study: Study, *lines: str) -> list[Submission]:
    return read_submissions("\n".join((HEADER, *lines)), design_of(study).panel)


def found(study: Study, *lines: str) -> dict[str, Compared]:
    """What is said of each, by the panel's id."""
    return {one.raw: one for one in compare(study=study, submissions=submissions(study, *lines))}


def completed(study: Study) -> str:
    return code_for(study, design_of(study), "completed")


def at_work(study: Study, *people: dict[str, str]) -> None:
    for ids in people:
        start(study, ids)


def done(study: Study, *people: dict[str, str]) -> None:
    for ids in people:
        client, _ = start(study, ids)
        do_page(study, client)


def rows_of(*tables: QuerySet[Any]) -> list[list[Any]]:
    return [list(table.order_by("pk").values()) for table in tables]


def everything() -> list[list[Any]]:
    """All rows that a booking could touch."""
    return rows_of(
        CrowdSession.objects.all(),
        Assignment.objects.all(),
        LedgerEntry.objects.all(),
        StudyEvent.objects.all(),
    )


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.django_db
class TestReading:
    def panel(self, preset: str = "prolific", **values: Any) -> Any:
        return design_of(panel_study(preset=preset, opened=False, panel=values)).panel

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
        assert (one.status, one.said) == ("", "Under moon")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "The list is empty"),
            ("a\x00b", r"U\+0000"),
            (
                "name,colour\nada,red\n",
                "Which column of the list holds the person's id\\? It has name, colour",
            ),
            (f'{HEADER}\n"unclosed,x\n', "is no CSV"),
            (f"{HEADER}\nx,,APPROVED\n", "Line 2 of the list names nobody"),
            (
                f"{HEADER}\ns,p,APPROVED\ns,p,REJECTED\n",
                "Lines 2 and 3 are about the same submission and differ",
            ),
            (f"{HEADER}\n" + "s,p,APPROVED\n" * 20_001, "20,001 lines; expected 20,000"),
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

    def test_lists_to_download_run_no_formula(self) -> None:
        assert as_csv([["=1+1", "a,b", "@x"]]) == "'=1+1,\"a,b\",'@x\n"


def _ids(ids: dict[str, str]) -> tuple[str, str]:
    return ids["PROLIFIC_PID"], ids["SESSION_ID"]


# --- comparing ------------------------------------------------------------------------------------


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
    assert (said[ADA["PROLIFIC_PID"]].verdict, said[ADA["PROLIFIC_PID"]].odd) == ("pay", False)
    bob = said[BOB["PROLIFIC_PID"]]
    assert (bob.verdict, bob.odd) == ("pay", True)
    assert "the code there is 'WRONG'" in bob.reason
    assert said[EVE["PROLIFIC_PID"]].verdict == "wait"
    assert (said["nobody"].verdict, said["nobody"].odd) == ("only-there", True)


@pytest.mark.django_db
def test_what_the_list_does_not_have_is_named_too() -> None:
    study = panel_study()
    done(study, ADA)
    at_work(study, BOB)
    said = found(study)
    assert (said[ADA["PROLIFIC_PID"]].verdict, said[ADA["PROLIFIC_PID"]].odd) == ("only-here", True)
    assert (said[BOB["PROLIFIC_PID"]].verdict, said[BOB["PROLIFIC_PID"]].odd) == ("only-here", False)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "code", "verdict", "books", "odd"),
    [
        ("APPROVED", "", "paid", "approved", False),
        ("REJECTED", "", "no", "rejected", False),
        ("RETURNED", "", "no", "returned", True),
        ("TIMED-OUT", "", "pay", "", True),
        ("ACTIVE", "", "wait", "", True),
        ("AWAITING REVIEW", "", "pay", "", True),
        ("Beyond words", "", "wait", "", True),
    ],
)
def test_of_who_finished_here(status: str, code: str, verdict: str, books: str, odd: bool) -> None:
    study = panel_study()
    done(study, ADA)
    one = found(study, line(ADA, status, code))[ADA["PROLIFIC_PID"]]
    assert (one.verdict, one.books, one.odd) == (verdict, books, odd)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "verdict", "books", "odd"),
    [
        ("APPROVED", "no", "", True),
        ("REJECTED", "no", "", False),
        ("RETURNED", "no", "returned", False),
        ("TIMED-OUT", "no", "timed-out", False),
        ("ACTIVE", "wait", "", False),
        ("AWAITING REVIEW", "no", "", True),
    ],
)
def test_of_who_did_not_finish_here(status: str, verdict: str, books: str, odd: bool) -> None:
    study = panel_study()
    at_work(study, ADA)
    one = found(study, line(ADA, status, "x"))[ADA["PROLIFIC_PID"]]
    assert (one.verdict, one.books, one.odd) == (verdict, books, odd)


@pytest.mark.django_db
def test_a_code_that_was_passed_on_pays_nobody() -> None:
    study = panel_study(hits=2)
    at_work(study, ADA)
    one = found(study, line(ADA, "AWAITING REVIEW", completed(study).lower()))[ADA["PROLIFIC_PID"]]
    assert (one.verdict, one.odd) == ("no", True)
    assert "Has the code of finished sessions with 0 of 2 pages" in one.reason


@pytest.mark.django_db
def test_another_person_s_submission_and_another_submission_of_a_person_are_named() -> None:
    study = panel_study()
    done(study, ADA)
    said = found(study, line({**BOB, "SESSION_ID": ADA["SESSION_ID"]}, "AWAITING REVIEW"))
    assert "another person's id" in said[BOB["PROLIFIC_PID"]].reason
    said = found(study, line({**ADA, "SESSION_ID": "other"}, "AWAITING REVIEW"))
    assert {one.verdict for one in said.values()} == {"only-here"}  # under one id, both lines
    listed = compare(
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
    latest, first = compare(study=study, submissions=listed)
    assert (latest.verdict, latest.here) == ("paid", session(study, status="submitted"))
    assert (first.verdict, first.here) == ("only-here", session(study, status="returned"))


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
    with pytest.raises(WrongState, match="never opened to a panel"):
        compare(study=study, submissions=[])


# --- booking --------------------------------------------------------------------------------------


def budget_agrees(study: Study) -> None:
    budget = study.budgets.get()
    assert ledger_sums(budget) == (budget.reserved_cents, budget.spent_cents)
    assert kept_cents(budget) == budget.reserved_cents


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
    assert (again.changed, everything()) == (0, before)


@pytest.mark.django_db
def test_what_is_to_pay_is_approved_here_only_when_asked_for() -> None:
    study = panel_study()
    done(study, ADA)
    listed = submissions(study, line(ADA, "AWAITING REVIEW", completed(study)))
    assert book_list(study=study, submissions=listed).changed == 0
    assert session(study).status == "submitted"
    assert session(study).confirmed
    assert book_list(study=study, submissions=listed, approve=True).approved == 1
    assert session(study).booked == "spent"
    assert book_list(study=study, submissions=listed, approve=True).changed == 0
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
    rows = payment_list(study, compare(study=study, submissions=listed))
    assert [row[:3] for row in rows[1:]] == [[ADA["PROLIFIC_PID"], ADA["SESSION_ID"], "1.25"]]


# --- reviews and bonuses --------------------------------------------------------------------------


@pytest.mark.django_db
def test_pages_of_a_session_under_way_wait_for_its_end() -> None:
    study = panel_study(hits=2)
    client, _ = start(study, ADA)
    do_page(study, client)
    assert approve_unopposed(study=study) == 0
    first = Assignment.objects.get(state="submitted")
    assert approve_assignments(study=study, assignments=[first.pk]) == 0
    assert Assignment.objects.get(pk=first.pk).state == "submitted"
    do_page(study, client)
    assert approve_unopposed(study=study) == 2
    assert session(study).booked == "spent"
    budget_agrees(study)


@pytest.mark.django_db
def test_pages_of_a_session_that_was_left_are_judged_alone_and_paid_by_a_bonus_once() -> None:
    study = panel_study(hits=2, reward=50)
    client, _ = start(study, ADA)
    do_page(study, client)
    client.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"})
    assert approve_unopposed(study=study) == 1
    assert session(study).booked == ""
    (one,) = unpaid_pages(study)
    assert (one.pages, one.cents) == (1, 50)
    assert pay_pages(study=study, why="For the pages.") == 1
    assert study.budgets.get().spent_cents == 50
    budget_agrees(study)
    with pytest.raises(WrongState, match="no pages of sessions that ended early"):
        pay_pages(study=study, why="For the pages.")
    assert bonus_list(study=study) == (1, [(ADA["SESSION_ID"], "0.50")])


@pytest.mark.django_db
def test_each_bonus_is_in_one_list_which_can_be_had_again() -> None:
    study = panel_study()
    done(study, ADA, BOB)
    for one in CrowdSession.objects.all():
        decide_session(session=one, approve=True)
    one, two = CrowdSession.objects.order_by("pk")
    pay_bonus(session=one, cents=120, why="Well done.")
    carry_out_calls(study=study)
    first = bonus_list(study=study)
    assert first == (1, [(ADA["SESSION_ID"], "1.20")])
    with pytest.raises(WrongState, match="no bonus is left that is in none of 1 lists"):
        bonus_list(study=study)
    pay_bonus(session=two, cents=5, why="Well done.")
    carry_out_calls(study=study)
    assert bonus_list(study=study) == (2, [(BOB["SESSION_ID"], "0.05")])
    assert bonus_list(study=study, number=1) == first
    with pytest.raises(WrongState, match="there is no list 7"):
        bonus_list(study=study, number=7)
    budget_agrees(study)


@pytest.mark.django_db
def test_raw_ids_are_deleted_for_a_closed_study_alone_and_only_of_its_own_people() -> None:
    study, other = panel_study(), panel_study(dataset="more", name="More", slug="more")
    done(study, ADA, BOB)
    at_work(other, {**BOB, "SESSION_ID": "elsewhere"})
    with pytest.raises(WrongState, match="close it first"):
        forget_raw_ids(study=study)
    close_study(study=study)
    forget_raw_ids(study=study)
    left = set(RawId.objects.values_list("value", flat=True))
    assert left == {BOB["PROLIFIC_PID"], "elsewhere"}
    assert Worker.objects.count() == 2
    assert StudyEvent.objects.filter(what="forget-ids").count() == 1


# --- commands -------------------------------------------------------------------------------------


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
    assert "Booked: 2 approved, 0 rejected, 0 ended." in run(
        "reconcile_panel", study.slug, str(listed), "--book", "--approve"
    )
    assert "Booked: 0 approved" in run("reconcile_panel", study.slug, str(listed), "--book", "--approve")
    with pytest.raises(CommandError, match="no column 'nope'"):
        run("reconcile_panel", study.slug, str(listed), "--worker-column", "nope")


@pytest.mark.django_db
def test_forget_ids_warns_first_and_deletes_when_told_to() -> None:
    study = panel_study()
    done(study, ADA)
    close_study(study=study)
    with pytest.raises(CommandError, match="say --yes"):
        run("forget_ids", study.slug)
    assert RawId.objects.count() == 2
    said = run("forget_ids", study.slug, "--yes")
    assert "1 sessions wait for their approval" in said
    assert "2 raw ids were deleted." in said
    assert not RawId.objects.exists()

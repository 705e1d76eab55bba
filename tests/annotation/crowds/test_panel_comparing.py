"""A panel's list of submissions beside our own sessions: how it is read, and what each line means."""

from typing import Any

import pytest

from annotation.crowds.panel.reconciling import ListProblem, as_csv, compare, read_submissions
from annotation.crowds.people import forget_raw_ids
from annotation.crowds.publishing import close_study
from annotation.models import RawId, Worker
from annotation.quality.flags import exclude_worker
from common.errors import WrongState
from judgments.design.panels import Panel
from judgments.studies.studies import design_of
from tests.annotation.crowds.panel_files import (
    HEADER,
    at_work,
    completed,
    done,
    everything,
    found,
    line,
    submissions,
)
from tests.annotation.crowds.panels import ADA, BOB, EVE, panel_study, session, start


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
            (f"{HEADER}\n" + "s,p,APPROVED\n" * 20_001, "more than 20,000 lines; expected fewer"),
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
        assert as_csv([["=1+1", "a,b", "@x", "a\r=1+1"]]) == '\'=1+1,"a,b",\'@x,"a\r=1+1"\n'


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
        assert (one.verdict, one.books, one.odd) == (verdict, books, odd), (who, status)


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

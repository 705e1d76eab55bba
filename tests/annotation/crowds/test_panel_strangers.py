"""Ids that nobody sent: signed links, people whom Prolific names, codes of one's own, and the limit per address."""

import csv
import io
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from annotation.crowds.panel.backend import PanelIds, link_key, signature_of
from annotation.crowds.panel.reconciling import compare, read_submissions
from annotation.models import Assignment, CrowdSession
from judgments.models import Study
from judgments.studies.studies import design_of
from tests.annotation.crowds.framing import Turker, study_at_mturk
from tests.annotation.crowds.panels import ADA, BOB, do_page, entry, panel_study, session, start
from tests.annotation.crowds.prolific_panel import PLACES, Panel
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db


def plain(**panel: Any) -> Study:
    return panel_study(preset="plain", panel=panel, judgments_per_unit=1, units_per_hit=20)


class TestSignedLinks:
    def test_only_an_id_with_its_signature_lets_in(self) -> None:
        study = plain(worker="id", signature="sig")
        good = {"id": "ada", "sig": signature_of(study, PanelIds(worker="ada"))}
        for wrong in (
            {"id": "ada"},
            {"id": "ada", "sig": "0" * 64},
            good | {"id": "eve"},
            good | {"sig": "ä"},
        ):
            refused = entry(study, wrong)
            assert refused.status_code == 400
            assert "was changed or is not complete" in refused.content.decode()
        browser, _ = start(study, good)
        do_page(study, browser)
        assert session(study).status == "submitted"

    def test_the_panel_s_page_makes_links_and_shows_the_key_to_who_may_change_the_study(
        self, designer: Client
    ) -> None:
        study = plain(worker="id", signature="sig")
        assert link_key(study) in designer.get(page(study, "panel")).content.decode()
        form = {"page": "panel", "people": "ada\nben\n\nada"}
        made = designer.post(do(study, "signed-links"), form).content.decode()
        rows = list(csv.DictReader(io.StringIO(made)))
        assert [row["id"] for row in rows] == ["ada", "ben"]
        assert Client().get(rows[1]["link"]).status_code == 200
        wrong = designer.post(do(study, "signed-links"), form | {"people": "a b"}, follow=True)
        assert "'a b' is no id" in words(wrong)


class TestPeopleWhomProlificNames:
    def take_all(self, panel: Panel) -> None:
        for number in range(PLACES):
            made_up = ADA | {"PROLIFIC_PID": f"{number:024x}", "SESSION_ID": f"{number + 99:024x}"}
            browser, _ = start(panel.study, made_up)
            if not number:
                do_page(panel.study, browser)

    def comes(self, panel: Panel, participant: str) -> None:
        real, _ = panel.prolific.enter(panel.publication.external_id, participant)
        browser, _ = start(panel.study, ADA | {"PROLIFIC_PID": participant, "SESSION_ID": real})
        do_page(panel.study, browser)

    def test_they_get_the_places_of_made_up_ids_also_of_those_that_answered(self, panel: Panel) -> None:
        self.take_all(panel)
        for participant in (ADA["PROLIFIC_PID"], BOB["PROLIFIC_PID"]):
            self.comes(panel, participant)
        states = CrowdSession.objects.order_by("pk").values_list("status", flat=True)
        assert list(states) == ["unknown", "returned", *["working"] * (PLACES - 2), "submitted", "submitted"]
        assert Assignment.objects.filter(state="apart").count() == 1

    def test_others_are_not_recorded_and_take_nobody_s_place(self, panel: Panel) -> None:
        self.take_all(panel)
        _, refused = start(panel.study, BOB)
        assert refused.status_code == 409
        assert "does not know your submission" in refused.content.decode()
        assert CrowdSession.objects.filter(status="working").count() == PLACES - 1


def test_nobody_can_hand_their_code_to_somebody_else() -> None:
    study = panel_study(preset="connect", panel={"personal_codes": True})
    ada, bob = ({"participantId": name, "assignmentId": f"{name}1"} for name in ("ada", "bob"))
    browser, _ = start(study, ada)
    shown = do_page(study, browser).content.decode()
    start(study, bob)
    code = session(study, status="submitted").code
    assert code in shown
    rows = f"Participant Id,Assignment Id,Status,Completion Code\nada,ada1,Submitted,{code}\nbob,bob1,Submitted,{code}"
    ada_there, bob_there = compare(study=study, submissions=read_submissions(rows, design_of(study).panel))
    assert (ada_there.verdict, ada_there.odd) == ("pay", False)
    assert (bob_there.verdict, bob_there.odd) == ("no", True)
    browser, _ = start(study, {"participantId": "eve", "assignmentId": "eve1"})
    do_page(study, browser)
    listed = read_submissions(rows.replace("bob", "eve"), design_of(study).panel)
    eve_there = compare(study=study, submissions=listed)[1]
    assert f"the code there is {code!r} instead of" in eve_there.reason


def test_one_address_enters_with_so_many_ids_in_a_while(settings: Settings) -> None:
    settings.LIMITS = settings.LIMITS | {"join": "1/10 minutes"}
    crowd, study = study_at_mturk(), panel_study(dataset="more-shapes", slug="panel-study")
    for number, status in ((1, 200), (2, 429), (1, 200)):
        turker = Turker(crowd, worker_id=f"A1{number}", assignment_id=f"3A{number}")
        turker.client = Client(REMOTE_ADDR="198.51.100.201")
        assert turker.arrive().status_code == status
    for ids, status in ((ADA, 303), (BOB, 429), (ADA, 303)):
        _, answer = start(study, ids, Client(REMOTE_ADDR="198.51.100.201"))
        assert answer.status_code == status

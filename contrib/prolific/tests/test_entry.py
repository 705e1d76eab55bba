"""People whom Prolific confirms get the places that invented ids had taken."""

import pytest

from annotation.models import Assignment, CrowdSession
from contrib.prolific.tests.panel import PLACES, Panel
from tests.annotation.crowds.panels import ADA, BOB, do_page, start

pytestmark = pytest.mark.django_db


def take_all(panel: Panel) -> None:
    for number in range(PLACES):
        made_up = ADA | {"PROLIFIC_PID": f"{number:024x}", "SESSION_ID": f"{number + 99:024x}"}
        browser, _ = start(panel.study, made_up)
        if not number:
            do_page(panel.study, browser)


def comes(panel: Panel, participant: str) -> None:
    real, _ = panel.prolific.enter(panel.publication.external_id, participant)
    browser, _ = start(panel.study, ADA | {"PROLIFIC_PID": participant, "SESSION_ID": real})
    do_page(panel.study, browser)


def test_people_whom_prolific_names_get_the_places_of_made_up_ids_also_of_those_that_answered(
    panel: Panel,
) -> None:
    take_all(panel)
    for participant in (ADA["PROLIFIC_PID"], BOB["PROLIFIC_PID"]):
        comes(panel, participant)
    states = CrowdSession.objects.order_by("pk").values_list("status", flat=True)
    assert list(states) == ["unknown", "returned", *["working"] * (PLACES - 2), "submitted", "submitted"]
    assert Assignment.objects.filter(state="apart").count() == 1


def test_others_are_not_recorded_and_take_nobody_s_place(panel: Panel) -> None:
    take_all(panel)
    _, refused = start(panel.study, BOB)
    assert refused.status_code == 409
    assert "know your submission" in refused.content.decode()
    assert CrowdSession.objects.filter(status="working").count() == PLACES - 1

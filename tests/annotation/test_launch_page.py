"""The page "Launch": what is missing before a study is opened, and its link afterwards."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.utils.html import escape

from annotation.crowds.opening import open_study
from annotation.launch.views.launch import Readiness
from annotation.launch.views.page import draw_qr_code
from judgments.access.roles import give_role
from judgments.models import Study
from judgments.studies.generation.hits import generate_hits
from tests.judgments.desk import do, page, words
from tests.studies import make_study

pytestmark = pytest.mark.django_db
CONSENT, CONTACT = "You may stop at any time.", "lab@example.org"


def checked(client: Client, study: Study) -> dict[str, tuple[str, str]]:
    """Title -> how it stands, and in words."""
    shown = client.get(page(study, "launch")).content.decode()
    points = re.findall(r"<h4>(.*?)</h4><span[^>]*>(.*?)</span>\s*<p>(.*?)</p>", shown, flags=re.S)
    return {title: (standing, text) for title, standing, text in points}


def generated(**values: Any) -> Study:
    study = make_study(opened=False, **values)
    generate_hits(study=study)
    study.refresh_from_db()
    return study


def test_a_draft_is_told_in_words_what_is_missing_and_where_it_is_mended(designer: Client) -> None:
    study = make_study(opened=False, controls={"per_hit": 0})
    points = checked(designer, study)
    assert next(iter(points)) == "Pages of work"  # what blocks comes first
    assert points["Pages of work"][0] == "prevents opening"
    assert f'href="{page(study, "launch")}#ready-texts"' in points["Consent"][1]
    missing = {"Contact": "contact", "Quiz or check questions": "controls-per_hit"}
    for title, field in missing.items():
        standing, text = points[title]
        assert standing == "can be improved"
        assert f'href="{page(study, "change")}#id_{field}"' in text
        assert f'id="id_{field}"' in designer.get(page(study, "change")).content.decode()


def test_consent_is_added_to_a_frozen_design_and_other_points_by_the_way_back(designer: Client) -> None:
    study = generated(controls={"per_hit": 0})
    points = checked(designer, study)
    assert f'href="{page(study, "launch")}#ready-texts"' in points["Consent"][1]
    assert 'name="consent"' in designer.get(page(study, "privacy")).content.decode()
    assert f'href="{page(study, "discard")}"' in points["Contact"][1]
    open_study(study=study)  # the design stays: a duplicate is changed
    assert f'href="{page(study, "privacy")}"' in checked(designer, study)["Consent"][1]
    assert f'href="{page(study, "reuse")}"' in checked(designer, study)["Contact"][1]


def test_the_api_says_the_same_to_who_may_see_the_study(designer: Client) -> None:
    study = make_study(opened=False, controls={"per_hit": 0})
    address = f"/api/studies/{study.slug}/checklist/"
    found = designer.get(address).json()
    shown = checked(designer, study)
    assert [point["title"] for point in found["points"]] == list(shown)
    for point in found["points"]:
        assert Readiness(point["readiness"]).label == shown[point["title"]][0]
        assert shown[point["title"]][1].startswith(escape(point["words"]))
    assert (found["state"], found["blocked"]) == ("draft", True)
    assert found["missing"] == sum(standing == "can be improved" for standing, _ in shown.values())
    links = {point["title"]: point["link"] for point in found["points"]}
    assert links["Consent"] == f"http://testserver{page(study, 'launch')}#ready-texts"
    stranger = User.objects.create_user("sam", is_staff=True)
    designer.force_login(stranger)
    assert designer.get(address).status_code == 403
    give_role(study=study, user=stranger, role="viewer")
    assert {point["link"] for point in designer.get(address).json()["points"]} == {""}


def test_what_is_there_is_ready_and_money_has_its_currency(designer: Client) -> None:
    crowd = {"reward_cents": 30, "currency": "EUR", "floor_cents_per_hour": 1200}
    study = generated(consent=CONSENT, contact=CONTACT, crowd=crowd, seconds_per_unit=30)
    points = checked(designer, study)
    assert {points[title][0] for title in ("Consent", "Contact", "Cost")} == {"ready"}
    # 5 items of 30 s for 0.30 EUR are 7.20 EUR an hour; 12.00 EUR an hour are 0.50 EUR
    standing, text = points["Pay"]
    assert standing == "can be improved"
    for amount in ("7.20", "12.00", "0.50"):
        assert f"{amount}\N{NO-BREAK SPACE}EUR" in text
    assert "2.70\N{NO-BREAK SPACE}EUR. Submissions to pay: 9." in points["Cost"][1]


@pytest.mark.parametrize(
    ("controls", "standing", "sentences"),
    [
        # 1 - .95^2 and 1 - .5^2; P(X < 6) of 8 at .95 and at .5; P(X < 5) of 7
        (
            {"per_hit": 2, "least": 1},
            "can be improved",
            "10 of 100 careful|Of 100 participants who guess, about 75 are|7 check questions|enough",
        ),
        (
            {"per_hit": 4},
            "ready",
            "8 check questions|1 of 100 careful|Of 100 participants who guess, about 86 are",
        ),
        (
            {"per_hit": 7},
            "ready",
            "7 check questions|0 of 100 careful|Of 100 participants who guess, about 77 are",
        ),
        ({"per_hit": 1}, "can be improved", "0 of 100 careful|check questions for one participant is 2."),
        (
            {"per_hit": 2, "threshold": 1.0},
            "can be improved",
            "One wrong answer is enough to be below the pass mark. <",
        ),
        ({"per_hit": 2, "threshold": 0.0}, "ready", "check questions (2)."),
    ],
)
def test_check_questions_say_whom_they_set_aside(
    designer: Client, controls: dict[str, Any], standing: str, sentences: str
) -> None:
    points = checked(designer, make_study(opened=False, controls=controls, units_per_hit=8))
    shown, text = points["Quiz or check questions"]
    assert (shown, [part for part in sentences.split("|") if part not in text]) == (standing, []), text


@pytest.mark.parametrize(
    ("panel", "warned"),
    [({"signature": ""}, True), ({}, False), ({"preset": "prolific"}, True), ({"preset": "sona"}, True)],
)
def test_links_that_anybody_can_make_up_are_warned_of(
    panel: dict[str, str], warned: bool, designer: Client
) -> None:
    study = generated(crowd={"backend": "external"}, panel=panel)
    standing, text = checked(designer, study).get("Panel links", ("", ""))
    assert ((standing, "invented ids" in text) == ("can be improved", True)) == warned
    assert ("invented ids" in open_study(study=study)) == warned


@override_settings(PUBLIC_URL="https://quorum.example.org")
def test_what_blocks_is_said_in_the_sentence_of_the_api_and_nothing_opens(designer: Client) -> None:
    study = generated(
        question="Which is closer?",
        crowd={
            "backend": "mturk",
            "reward_cents": 100,
            "budget_cents": 120,
            "title": "t",
            "description": "d",
        },
    )
    shown = designer.get(page(study, "launch"))
    refused = designer.post(f"/api/studies/{study.slug}/open/", {}, content_type="application/json").json()
    assert "only 1.20 USD of its budget of 1.20 USD is left" in refused["detail"]
    assert refused["detail"] in words(shown)
    assert re.search(r"<button[^>]* disabled[^>]*>Open to participants", shown.content.decode())
    assert "cannot be opened yet" in words(shown)
    study.refresh_from_db()
    assert study.state == "generated"


def test_cost_and_pay_of_a_design_that_cannot_be_drawn_are_not_being_counted(designer: Client) -> None:
    study = make_study(opened=False, crowd={"reward_cents": 10}, sampling={"pairs": {"HC": 1000}})
    points = checked(designer, study)
    assert points["Pages of work"][0] == "prevents opening"
    for title in ("Cost", "Pay"):
        assert points[title] == (
            "not known yet",
            "This can be computed only when pages of work can be generated from the design.",
        )


def test_an_open_study_shows_its_link_to_copy_and_to_scan_and_what_comes_next(designer: Client) -> None:
    study = generated(access={"join": "code", "code": "sunflower-7"})
    led = designer.post(do(study, "open"), {"page": "launch"})
    assert led.headers["Location"] == page(study, "launch")
    shown = designer.get(page(study, "launch"))
    link = f"http://testserver/s/{study.slug}/?code=sunflower-7"
    assert f'<code id="link">{link}</code>' in shown.content.decode()
    assert 'data-copy="link"' in shown.content.decode()
    assert str(draw_qr_code(link)) in shown.content.decode()
    assert f'href="/s/{study.slug}/preview/"' in shown.content.decode()
    assert "What happens next" in words(shown)


def test_invited_people_come_by_links_of_their_own(designer: Client) -> None:
    study = generated(access={"join": "invited"})
    designer.post(do(study, "open"))
    shown = designer.get(page(study, "launch")).content.decode()
    assert "<svg" not in shown.partition('class="q-card q-launched"')[2].partition("</section>")[0]
    assert page(study, "workers") in shown

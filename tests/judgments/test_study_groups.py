"""A study has a few places: everything is two clicks away, and what is looked at is marked."""

from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.crowds.opening import open_study
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.access.roles import give_role
from judgments.models import Study
from judgments.studies.generation.hits import generate_hits
from judgments.studies.pages import StudySection
from judgments.studies.studies import mark_closed
from judgments.studies.study_page import PAGES
from tests.judgments.desk import page
from tests.studies import make_study

pytestmark = pytest.mark.django_db
Links = dict[str, tuple[str, str]]


class Navigation(HTMLParser):
    """The lists of links in ``<nav aria-label="Pages of this study">``: words -> address and mark."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.lists: list[Links] = []
        self.inside, self.link = False, ("", "")
        self.feed(shown)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "nav":
            self.inside = given.get("aria-label") == "Pages of this study"
        elif self.inside and tag == "ul":
            self.lists.append({})
        elif self.inside and tag == "a":
            self.link = (given["href"], given.get("aria-current", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "nav":
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside and data.strip():
            self.lists[-1][data.strip()] = self.link


def navigation(client: Client, address: str) -> tuple[Links, Links]:
    """Places, and the pages of the place that is looked at; a page that is alone there has no tab."""
    response = client.get(address)
    assert response.status_code == 200, address
    groups, *pages = Navigation(response.content.decode()).lists
    return groups, pages[0] if pages else {}


def head_of(shown: str) -> str:
    """The study's buttons."""
    return shown.partition('class="q-steps"')[2].partition("</header>")[0]


def finished() -> Study:
    """Closed, with answers of a simulated crowd."""
    study = make_study(opened=False)
    generate_hits(study=study)
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, spammers=0.0, seed=1))
    study.refresh_from_db()
    return study


def test_every_page_is_two_clicks_away_and_marked_when_it_is_reached(designer: Client) -> None:
    study = finished()
    wanted = {
        one.label
        for one in PAGES.values()
        if one.label and one.section_in(study).has_content(study) and one.has_tab(study)
    }
    groups, _ = navigation(designer, page(study, "change"))
    assert list(groups) == ["Design", "Answers", "Findings", "Share"]
    found: set[str] = set()
    for group, (first, _) in groups.items():
        marked, pages = navigation(designer, first)
        assert [name for name, (_, mark) in marked.items() if mark] == [group]
        for label, (address, _) in pages.items():
            beside, again = navigation(designer, address)
            assert [(name, mark) for name, (_, mark) in again.items() if mark] == [(label, "page")]
            assert (list(again), list(beside)) == (list(pages), list(groups))
            found.add(label)
    assert found == wanted


def test_a_place_is_shown_when_it_has_content(designer: Client) -> None:
    study = make_study(opened=False)
    assert list(navigation(designer, page(study, "change"))[0]) == ["Design", "Launch", "Share"]
    generate_hits(study=study)
    open_study(study=study)
    places, pages = navigation(designer, page(study, "workers"))
    assert list(places) == ["Design", "Launch", "Live", "Findings", "Share"]
    assert {"Dashboard", "Participants", "Work", "Review"} <= pages.keys()
    assert "Quiz" not in pages  # the design has none
    assert "Quiz" in navigation(designer, page(study, "quiz"))[1]  # its address works nevertheless
    mark_closed(study=study)
    assert list(navigation(designer, page(study, "workers"))[0]) == ["Design", "Answers", "Findings", "Share"]


def test_no_place_has_more_pages_than_a_glance_takes_in() -> None:
    for group in StudySection:
        own = [
            one for one in PAGES.values() if one.label and group in (one.section, one.section_before_opening)
        ]
        assert 0 < len(own) < 10


def test_a_page_without_a_tab_marks_the_one_it_hangs_below(designer: Client) -> None:
    groups, pages = navigation(designer, page(make_study(), "known"))
    assert [one for one, (_, mark) in groups.items() if mark] == ["Live"]
    assert [(one, mark) for one, (_, mark) in pages.items() if mark] == [("Check questions", "true")]


def test_places_hold_what_the_persons_role_opens(client: Client) -> None:
    study = make_study()
    viewer = User.objects.create_user("vera", password="x", is_staff=True)
    give_role(study=study, user=viewer, role="viewer")
    client.force_login(viewer)
    groups, pages = navigation(client, page(study, "people"))
    assert "Webhooks" not in pages
    assert list(groups) == [group.value for group in StudySection]


def test_the_next_step_is_a_button_and_the_rest_a_menu(designer: Client) -> None:
    study = make_study(opened=False)
    shown = designer.get(page(study, "hits")).content.decode()
    head = head_of(shown)
    before, menu = head.split("<details")
    assert "Generate pages of work" in before
    assert "Preview" in menu
    assert "Delete" in menu


def test_one_thing_beside_the_next_step_needs_no_menu(designer: Client) -> None:
    study = make_study()
    mark_closed(study=study)
    Study.objects.update(simulated=True)  # nobody opens it to people
    shown = designer.get(page(study, "results")).content.decode()
    head = head_of(shown)
    assert "Compute now" in head
    assert "Preview" in head
    assert "<details" not in head


def test_an_open_study_is_closed_from_the_menu(designer: Client) -> None:
    study = make_study()
    head = head_of(designer.get(page(study, "workers")).content.decode())
    menu = head.partition('<details class="q-menu"')[2]
    assert "Close" in menu
    assert "Compute now" in menu

"""The first page of an account: its studies, what of them waits for a person, and the next thing to do."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Case, CrowdCall, StudyAlarm
from judgments.access.roles import give_role
from judgments.models import Study
from judgments.studies.studies import mark_closed
from tests.judgments.desk import page, words
from tests.judgments.test_admin_access import hand_in
from tests.studies import make_dataset, make_study, make_worker

pytestmark = pytest.mark.django_db
INDEX = "admin:index"


def entry_of(client: Client, study: Study) -> dict[str, Any]:
    entries = client.get(reverse(INDEX)).context["studies"]
    found: dict[str, Any] = next(entry for entry in entries if entry["study"].pk == study.pk)
    return found


def test_each_state_has_one_next_action(designer: Client) -> None:
    study = make_study(opened=False)
    seen = []
    for state in ("draft", "generated", "open", "closed"):
        Study.objects.filter(pk=study.pk).update(state=state)
        action = entry_of(designer, study)["next_action"]
        seen.append((action.label, action.link))
    assert seen == [
        ("Continue the design", page(study, "change")),
        ("Launch the study", page(study, "launch")),
        ("Open the dashboard", page(study, "board")),
        ("View the results", page(study, "results")),
    ]


def test_progress_is_counted_and_what_waits_comes_before_everything_else(designer: Client) -> None:
    study = make_study(crowd={"reward_cents": 10})
    hand_in(study, "w-1")
    shown = designer.get(reverse(INDEX))
    assert "pages of work submitted: 1 of 9" in words(shown)
    worker, _ = make_worker(study, "w-2")
    Case.objects.create(study=study, worker=worker, rule="fast")
    for number in range(2):
        CrowdCall.objects.create(
            study=study, platform="x", kind="bonus", key=str(number), state="parked", problem="No."
        )
    StudyAlarm.objects.create(study=study, what="controls-used-up", worker=worker)
    entry = entry_of(designer, study)
    assert [(one.text, one.link) for one in entry["open_tasks"]] == [
        ("2 messages to the crowd failed", page(study, "crowd")),
        ("one flag to review", page(study, "review")),
        ("one page of work to approve and pay", page(study, "work")),
        ("one participant has seen all check questions", page(study, "controls")),
    ]
    assert (entry["next_action"].label, entry["next_action"].link) == (
        "View the failed messages",
        page(study, "crowd"),
    )
    mark_closed(study=study)
    assert entry_of(designer, study)["next_action"].label == "View the failed messages"


def test_work_that_is_not_paid_waits_for_nobody(designer: Client) -> None:
    study = make_study()
    hand_in(study, "w-1")
    assert entry_of(designer, study)["open_tasks"] == []


def test_an_account_sees_the_studies_in_which_it_has_a_role(client: Client) -> None:
    seen, _ = make_study(slug="seen"), make_study(slug="unseen")
    viewer = User.objects.create_user("vera", password="x", is_staff=True)
    client.force_login(viewer)
    assert "no role in a study yet" in words(client.get(reverse(INDEX)))
    give_role(study=seen, user=viewer, role="viewer")
    assert [entry["study"].slug for entry in client.get(reverse(INDEX)).context["studies"]] == ["seen"]


def test_what_waits_is_shown_to_those_who_may_do_it(client: Client) -> None:
    study = make_study(crowd={"reward_cents": 10})
    hand_in(study, "w-1")
    CrowdCall.objects.create(study=study, platform="x", kind="bonus", key="1", state="parked", problem="No.")
    person = User.objects.create_user("vera", password="x", is_staff=True)
    client.force_login(person)

    def next_as(role: str, **values: Any) -> str:
        give_role(study=study, user=person, role=role)
        Study.objects.filter(pk=study.pk).update(**values)
        label: str = entry_of(client, study)["next_action"].label
        return label

    assert next_as("viewer") == "Open the dashboard"
    assert next_as("reviewer") == "Approve work"
    assert next_as("designer") == "View the failed messages"
    assert next_as("designer", simulated=True) == "Open the dashboard"
    assert next_as("designer", state="generated") == "See the rehearsal"
    assert next_as("viewer", simulated=False) == "View the checklist"
    assert next_as("viewer", state="draft") == "View the design"


def test_many_studies_ask_no_more_of_the_database_than_one(client: Client) -> None:
    person = User.objects.create_user("vera", password="x", is_staff=True)
    client.force_login(person)

    def queries_with(slug: str) -> int:
        give_role(study=make_study(slug=slug), user=person, role="owner")
        client.get(reverse(INDEX))
        with CaptureQueriesContext(connection) as asked:
            client.get(reverse(INDEX))
        return len(asked)

    assert queries_with("first") == queries_with("second")


def test_a_newcomer_is_led_to_a_first_study(designer: Client) -> None:
    shown = designer.get(reverse(INDEX))
    assert "Your first study" in words(shown)
    (first,) = re.findall(r'class="q-button q-primary" href="([^"]+)"', shown.content.decode())
    assert first == reverse("admin:judgments_dataset_add")
    make_dataset()
    shown = designer.get(reverse(INDEX))
    (first,) = re.findall(r'class="q-button q-primary" href="([^"]+)"', shown.content.decode())
    assert first == reverse("admin:judgments_study_add")


def test_the_tables_of_the_admin_are_folded_below_the_studies(designer: Client) -> None:
    make_study()
    shown = designer.get(reverse(INDEX)).content.decode()
    folded = shown.partition('<details class="q-tables">')[2].partition("</details>")[0]
    for name in ("judgments_unit", "annotation_judgment", "annotation_assignment", "judgments_job"):
        assert reverse(f"admin:{name}_changelist") in folded


@pytest.mark.parametrize(
    "name",
    [
        INDEX,
        "admin:judgments_study_changelist",
        "admin:auth_user_changelist",
        "admin:judgments_unit_changelist",
    ],
)
def test_a_page_has_one_main_part(designer: Client, name: str) -> None:
    make_study()
    assert designer.get(reverse(name)).content.count(b"<main") == 1

"""Who may take part is said to Prolific, so that nobody comes who would be sent away unpaid."""

from typing import Any

import pytest

from annotation.crowds.publishing import open_study
from annotation.models import CrowdCall
from common.errors import WrongState
from tests.annotation.crowds.panels import entry, start
from tests.annotation.crowds.prolific_panel import Panel, panel_study
from tests.fakes.prolific import Fault, ProlificEmulator, Refusal

pytestmark = pytest.mark.django_db

ASKED: dict[str, Any] = {
    "countries": ["US", "KR"],
    "languages": ["english"],
    "approval_above": 0.95,
    "approved_at_least": 50,
    "devices": ["desktop", "tablet"],
}
FIT: dict[str, Any] = {
    "current-country-of-residence": "South Korea",
    "fluent-languages": ["German", "English"],
    "approval_rate": 96,
    "approval_numbers": 50,
    "device": "tablet",
}


def opened(prolific: ProlificEmulator, workers: dict[str, Any]) -> Panel:
    study = panel_study(workers=workers)
    open_study(study=study)
    return Panel(study, prolific)


def test_only_who_fulfils_what_is_asked_sees_the_study(prolific: ProlificEmulator) -> None:
    panel = opened(prolific, ASKED)
    others: dict[str, dict[str, Any]] = {
        "aa1": {"current-country-of-residence": "Germany"},
        "aa2": {"fluent-languages": ["German"]},
        "aa3": {"approval_rate": 95},
        "aa4": {"approval_numbers": 49},
        "aa5": {"device": "mobile"},
    }
    prolific.world.people |= {name: FIT | other for name, other in others.items()} | {"aa6": FIT}
    for name in others:
        with pytest.raises(Refusal, match=f"{name} does not see"):
            panel.arrive(name)
    submission, _address = prolific.enter(panel.publication.external_id, "aa6")
    ids = {"PROLIFIC_PID": "aa6", "STUDY_ID": panel.publication.external_id, "SESSION_ID": submission}
    assert 'name="country"' not in entry(panel.study, ids).content.decode()  # Prolific knows it
    _browser, answer = start(panel.study, ids)
    assert answer["Location"] == f"/s/{panel.study.slug}/start/"


def test_a_quota_leaves_room_for_its_groups(prolific: ProlificEmulator) -> None:
    quotas = [
        {"by": "sex", "value": "Female", "share": 3},
        {"by": "sex", "value": "Male", "share": 1},
        {"by": "age", "value": "18-39", "share": 1},
        {"by": "age", "value": "40-99", "share": 1},
    ]
    panel = opened(prolific, {"quotas": quotas})  # of eight places 3, 3, 1 and 1
    for number in range(8):
        prolific.world.people[f"young{number}"] = {"sex": "Male", "age": 25}
        prolific.world.people[f"old{number}"] = {"sex": "Female", "age": 70}
    panel.arrive("young0")
    with pytest.raises(Refusal, match="young1 does not see"):
        panel.arrive("young1")
    for number in range(3):
        panel.arrive(f"old{number}")
    with pytest.raises(Refusal, match="old3 does not see"):
        panel.arrive("old3")


@pytest.mark.parametrize(
    ("workers", "problem"),
    [
        (
            {"languages": ["Englsh"]},
            "workers.languages names 'Englsh', which is not among its answers; did you mean 'English'?",
        ),
        ({"countries": ["FR"]}, "workers.countries names 'France', which is not among its answers."),
        ({"quotas": [{"by": "age", "value": "16-30"}]}, "workers.quotas has ages from 16 to 30; it knows 18 to 100."),
    ],
)  # fmt: skip
def test_what_prolific_does_not_know_is_refused_before_anything_is_made(
    prolific: ProlificEmulator, workers: dict[str, Any], problem: str
) -> None:
    study = panel_study(workers=workers)
    with pytest.raises(WrongState) as refused:
        open_study(study=study)
    assert (
        str(refused.value) == f"Study 'shapes-there' was not opened. Nothing was made at Prolific: {problem}"
    )
    study.refresh_from_db()
    assert study.state == "generated"
    assert not CrowdCall.objects.exists()
    assert not prolific.world.studies


def test_prolific_is_asked_again_where_it_was_away(prolific: ProlificEmulator) -> None:
    study = panel_study(workers={"countries": ["FR"]})
    prolific.faults.plan("list filters", Fault.ERROR_BEFORE)
    open_study(study=study)
    call = CrowdCall.objects.get(study=study)
    assert (call.state, "'France'" in call.problem) == ("parked", True)
    assert not prolific.world.studies

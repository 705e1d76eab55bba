"""What `manage.py check` says of settings that could spend real money by mistake."""

from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from annotation.crowds.publishing import open_study
from common.errors import WrongState
from config.checks import LIVE_HOST, SANDBOX_HOST, check_mechanical_turk
from tests.annotation.crowds.turking import emulated, one_hit, settings_for, sync

FINE: dict[str, Any] = {"MTURK_LIVE": True, "PUBLIC_URL": "https://quorum.example.org", "DEBUG": False}


def found(**settings: Any) -> set[str]:
    with override_settings(**settings):
        return {str(one.id) for one in run_checks() if str(one.id) >= "quorum.E010"} - {
            "quorum.W001",
            "quorum.W002",
        }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, set()),
        (FINE, set()),
        (FINE | {"MTURK_ENDPOINT": f"https://{SANDBOX_HOST}"}, {"quorum.E010"}),
        ({"MTURK_ENDPOINT": f"https://{LIVE_HOST}"}, {"quorum.E011"}),
        (FINE | {"DEBUG": True}, {"quorum.E012"}),
        (FINE | {"PUBLIC_URL": "http://quorum.example.org"}, {"quorum.W010"}),
        (FINE | {"PUBLIC_URL": "https://localhost"}, {"quorum.W010"}),
    ],
)
def test_settings_that_could_spend_by_mistake_are_named(settings: dict[str, Any], said: set[str]) -> None:
    with override_settings(**settings):
        assert {one.id for one in check_mechanical_turk(None)} == said


def test_a_live_study_that_is_up_while_the_setting_is_off_is_named(db: None) -> None:
    with emulated() as turk, settings_for(turk, MTURK_LIVE=True, PUBLIC_URL="https://quorum.example.org"):
        study = one_hit(crowd={"live": True})
        said = open_study(study=study)
        assert said.endswith("what they do there costs real money.")
        assert study.platform == "mturk-live"
        assert run_checks(databases=["default"], tags=["database"]) == []
        with override_settings(MTURK_LIVE=False):
            (warning,) = run_checks(databases=["default"], tags=["database"])
            assert warning.id == "quorum.W011"
            before = len(turk.calls())
            assert [one.kind for one in sync(study).discrepancies] == ["not-looked-at"]
            assert len(turk.calls()) == before
            with pytest.raises(WrongState, match="MTURK_LIVE is off"):
                open_study(study=study)


@pytest.mark.parametrize(("setting", "study"), [(True, False), (False, True), (False, False)])
def test_it_is_the_sandbox_unless_the_setting_and_the_study_both_say_live(
    setting: bool, study: bool, db: None
) -> None:
    with emulated() as turk, settings_for(turk, MTURK_LIVE=setting):
        made = one_hit(crowd={"live": study})
        open_study(study=made)
        assert made.platform == "mturk-sandbox"


def test_the_sandboxs_client_never_speaks_to_the_live_address(db: None) -> None:
    with (
        emulated() as turk,
        settings_for(turk, MTURK_ENDPOINT=f"https://{LIVE_HOST}", PUBLIC_URL="https://quorum.example.org"),
    ):
        study = one_hit()
        with pytest.raises(WrongState, match="is the address of mturk-live"):
            open_study(study=study)

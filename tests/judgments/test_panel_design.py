"""The panel's keys of a study file: presets, addresses that people may be sent to, the form, and TOML."""

from typing import Any

import pytest

from common.errors import DesignError
from judgments.design.editing.form.design_form import DesignForm
from judgments.design.editing.form.sections import sections_for
from judgments.design.editing.form.values import starting_values
from judgments.design.panel_links import (
    entry_query,
    project_parameter,
    return_address,
    session_parameter,
    worker_parameter,
)
from judgments.design.panels import OUTCOMES, PANEL_PRESETS
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import read_toml, write_toml
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from tests.judgments import desk

SONA = "https://uni.sona-systems.com/webstudy_credit.aspx?experiment_id=9&credit_token=t&survey_code={worker}"


def design(**panel: Any) -> StudyDesign:
    return make_design(
        {"name": "P", "dataset": "d", "protocol": "triplet", "crowd": {"backend": "external"}, "panel": panel}
    )


def test_a_preset_fills_what_the_file_leaves_empty() -> None:
    panel = design(preset="prolific").panel
    named = (worker_parameter(panel), session_parameter(panel), project_parameter(panel))
    assert named == ("PROLIFIC_PID", "SESSION_ID", "STUDY_ID")
    own = design(preset="prolific", worker="who").panel
    assert (worker_parameter(own), session_parameter(own)) == ("who", "SESSION_ID")
    assert entry_query(own).startswith("who={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}")
    assert entry_query(design(preset="sona").panel) == "survey_code=%SURVEY_CODE%"
    assert entry_query(design(preset="connect").panel) == ""  # it adds its parameters by itself


def test_the_way_back_is_the_preset_s_or_the_design_s_with_everything_filled_in_as_text() -> None:
    panel = design(preset="prolific", addresses={"full": "https://x.example/{code}?w={worker}"}).panel
    ids = {"worker": "a&b=c/d", "session": "s"}
    assert (
        return_address(panel, "completed", code="C1", **ids)
        == "https://app.prolific.com/submissions/complete?cc=C1"
    )
    assert return_address(panel, "full", code="C/2", **ids) == "https://x.example/C%2F2?w=a%26b%3Dc%2Fd"
    assert return_address(panel, "full", code="C2", worker="", session="") == ""
    assert return_address(design(preset="plain").panel, "completed", code="C", **ids) == ""
    assert return_address(design(preset="prolific", finish="code").panel, "completed", code="C", **ids) == ""


def test_every_preset_speaks_of_parameters_and_outcomes_that_there_are() -> None:
    for preset in PANEL_PRESETS.values():
        assert set(preset.addresses) <= set(OUTCOMES)
        assert set(preset.values) <= {preset.worker, preset.session, preset.project}


@pytest.mark.parametrize(
    ("panel", "said"),
    [
        ({"addresses": {"completed": "http://evil.example/"}}, "expected https://"),
        ({"addresses": {"completed": "javascript:alert(1)"}}, "expected https://"),
        ({"addresses": {"completed": "//evil.example/x"}}, "expected https://"),
        ({"addresses": {"completed": "https://{worker}.example/"}}, "expected https://"),
        ({"addresses": {"completed": "https://me@evil.example/"}}, "expected https://"),
        ({"addresses": {"completed": "https://a.example/{code.__class__}"}}, "contains {code.__class__}"),
        ({"addresses": {"completed": "https://a.example/{}"}}, "contains {}"),
        ({"addresses": {"completed": "https://a.example/{code"}}, "is not a web address"),
        ({"addresses": {"completed": SONA.replace("{worker}", "XXXX")}}, "replace them with {worker}"),
        ({"addresses": {"done": "https://a.example/"}}, "panel.addresses.done"),
        ({"codes": {"completed": "SAME", "full": "SAME"}}, "the same code for two outcomes"),
        ({"codes": {"completed": "a b"}}, "panel.codes.completed"),
        ({"worker": "id", "session": "id"}, "cannot have the same"),
        ({"worker": "a b"}, "panel.worker"),
        ({"hits": 0}, "panel.hits"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(panel: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError) as refused:
        design(**panel)
    assert said in str(refused.value)


def test_this_machine_is_an_address_to_try_it_with() -> None:
    assert design(addresses={"completed": "http://127.0.0.1:8080/back"}).panel.addresses


def test_toml_gives_the_same_design_back() -> None:
    made = design(
        preset="sona",
        hits=3,
        codes={"screened-out": "OUT-1"},
        addresses={"completed": SONA},
        finish="redirect",
    )
    assert read_toml(write_toml(made)) == made


def filled(typed: dict[str, str], base: dict[str, Any] | None = None) -> DesignForm:
    return desk.filled(base or starting_values(protocol="triplet"), **typed)


def test_codes_and_addresses_are_typed_one_by_one_and_what_is_empty_is_left_out() -> None:
    typed = {
        "crowd-backend": "external",
        "panel-preset": "sona",
        "panel-codes-screened-out": "OUT-1",
        "panel-addresses-completed": SONA,
        "crowd-fee_percent": "33.3",
    }
    form = filled(typed)
    assert form.is_valid(), form.errors
    assert form.design.panel.codes == {"screened-out": "OUT-1"}
    assert form.design.panel.addresses == {"completed": SONA}
    assert form.design.crowd.fee_percent == 33.3
    again = filled({"panel-codes-screened-out": ""}, form.design.model_dump(mode="json"))
    assert again.is_valid(), again.errors
    assert again.design.panel.codes == {}
    assert again.design.panel.addresses == {"completed": SONA}


def test_a_wrong_address_is_said_beside_its_field() -> None:
    form = filled({"crowd-backend": "external", "panel-addresses-full": "http://evil.example/"})
    assert not form.is_valid()
    assert "expected https://" in form.errors["panel-addresses-full"][0]


def test_every_key_of_crowd_and_panel_can_be_asked_for_in_the_form() -> None:
    asked = {key for section in sections_for(KINDS["triplet"]) for key in section.fields}
    values = starting_values(protocol="triplet")
    wanted = {f"crowd.{key}" for key in values["crowd"]} | {f"panel.{key}" for key in values["panel"]}
    wanted -= {"panel.codes", "panel.addresses"}
    wanted |= {f"panel.{table}.{outcome}" for table in ("codes", "addresses") for outcome in OUTCOMES}
    assert wanted <= asked


def test_links_of_one_s_own_are_signed_unless_the_design_says_otherwise() -> None:
    assert design().panel.signature == "sig"
    for unsigned in ({"signature": ""}, {"session": "sid"}, {"preset": "prolific"}):
        assert not design(**unsigned).panel.signature
    assert not make_design({"name": "P", "dataset": "d", "protocol": "triplet"}).panel.signature
    made = design(signature="")
    assert read_toml(write_toml(made)) == made


def test_the_form_signs_links_of_one_s_own_until_somebody_empties_the_field() -> None:
    form = filled({"crowd-backend": "external"})
    assert form.is_valid(), form.errors
    assert form.design.panel.signature == "sig"
    again = filled({"panel-signature": ""}, form.design.model_dump(mode="json"))
    assert again.is_valid(), again.errors
    assert again.design.panel.signature == ""
    sona = filled({"crowd-backend": "external", "panel-preset": "sona"})
    assert sona.is_valid(), sona.errors
    assert sona.design.panel.signature == ""


def test_groups_for_one_crowd_say_so() -> None:
    crowds = {section.title: section.crowd for section in sections_for(KINDS["triplet"])}
    assert (crowds["Panel"], crowds["Mechanical Turk"], crowds["Pay"]) == ("external", "mturk", "")


@pytest.mark.parametrize(
    ("panel", "said"),
    [
        ({"preset": "prolific", "signature": "sig"}, "Prolific"),
        ({"preset": "prolific", "personal_codes": True}, "outcome"),
        ({"personal_codes": True, "codes": {"completed": "DONE"}}, "personal_codes"),
        ({"worker": "id", "signature": "id"}, "cannot have the same"),
    ],
)
def test_what_a_panel_cannot_do_is_refused(panel: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError, match=said):
        design(**panel)


def test_panels_and_links_are_offered_before_mechanical_turk_which_is_said_to_be_closed() -> None:
    form = filled({})
    first, second, last = [str(choice) for choice in form["crowd-backend"].subwidgets]
    assert "Prolific, CloudResearch Connect, SONA, or your own links" in first
    assert "link" in second
    assert "closed by Amazon on 30 September 2026" in last
    assert form["crowd-backend"].value() == "local"
    assert {"prolific", "connect", "sona", "plain"} == set(PANEL_PRESETS)

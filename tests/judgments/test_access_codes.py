"""Codes with which people join a study: long enough, or made here."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.models import Study
from judgments.studies.codes import LETTERS
from judgments.studies.designs import design_of
from judgments.studies.studies import change_design, create_study, duplicate_study
from tests.judgments.desk import ADD, new_design, page, words
from tests.refusals import refuses
from tests.studies import make_dataset

pytestmark = pytest.mark.django_db


def asks(code: str, **values: Any) -> Any:
    made = {"name": "S", "dataset": "animals", "protocol": "triplet"} | values
    return make_design(made | {"access": {"join": "code", "code": code}})


def of_before(code: str) -> Study:
    """A study of a version that took any code."""
    study = create_study(design=asks(""))
    study.design["access"]["code"] = code
    study.save()
    return study


def code_of(study: Study) -> str:
    return design_of(study).access.code


def test_a_code_that_is_left_open_is_made_and_stays() -> None:
    make_dataset()
    study = create_study(design=asks(""))
    made = code_of(study)
    assert len(made) == 10
    assert set(made) <= set(LETTERS)
    change_design(study=study, design=asks("", name="Another"))
    assert code_of(study) == made


@pytest.mark.parametrize("code", ["7", "1234567", " 1234567 "])
def test_a_short_code_is_refused_at_every_door(designer: Client, code: str) -> None:
    make_dataset()
    with refuses(DesignError, "8", field="access.code"):
        create_study(design=asks(code))
    form = new_design(**{"access-join": "code", "access-code": code})
    answer = designer.post(reverse("admin:judgments_study_add") + ADD, form)
    assert "expected at least 8" in words(answer)
    assert not Study.objects.exists()


@pytest.mark.parametrize("code", ["Password123", "20261125", "123456789012"])
def test_a_code_that_everybody_guesses_is_refused(code: str) -> None:
    make_dataset()
    with refuses(DesignError, field="access.code"):
        create_study(design=asks(code))
    assert not Study.objects.exists()


def test_a_study_of_before_keeps_its_code_is_warned_about_and_its_copy_gets_another(designer: Client) -> None:
    make_dataset()
    study = of_before("4711")
    assert "and can be guessed" in words(designer.get(page(study, "workers")))
    change_design(study=study, design=asks("4711", name="Another"))
    assert code_of(study) == "4711"
    copy = duplicate_study(study=study)
    assert len(code_of(copy)) == 10
    assert "and can be guessed" not in words(designer.get(page(copy, "workers")))

"""An account that holds too little: nothing is begun that could not be paid, and it goes on once there is money."""

import pytest

from annotation.crowds.publishing import close_study, open_study
from annotation.models import CrowdCall
from annotation.money.costs import forecast_of
from common.errors import WrongState
from judgments.models import HIT
from tests.annotation.crowds.turking import books, emulated, kinds_of, make_turk_study, same_money, sync, up

pytestmark = pytest.mark.django_db


def test_the_balance_is_asked_before_anything_is_put_up() -> None:
    study = make_turk_study()
    hits = HIT.objects.filter(study=study).count()
    with (
        emulated(balance_cents=hits * 24 - 1) as turk,
        pytest.raises(
            WrongState, match=rf"holds 0\.{hits * 24 - 1} USD, and what waits costs 0\.{hits * 24} USD: none"
        ),
    ):
        open_study(study=study)
    assert turk.done("CreateHITWithHITType") == 0
    assert up(study) == []
    assert books(study) == (hits * 24, 0)

    with emulated(balance_cents=hits * 24) as filled:  # the account was topped up
        assert kinds_of(sync(study)) == []
        assert len(up(study)) == filled.done("CreateHITWithHITType") == hits
        same_money(study, filled)
        assert not CrowdCall.objects.exclude(state="done").exists()


def test_a_study_that_was_closed_and_opened_again_is_counted_once() -> None:
    study = make_turk_study()
    asked = sum(HIT.objects.filter(study=study).values_list("required", flat=True))
    assert forecast_of(study).places == asked
    with emulated():
        open_study(study=study)
        assert (forecast_of(study).places, forecast_of(study).cents) == (asked, asked * 12)
        close_study(study=study)
        sync(study)
        open_study(study=study)
        assert (forecast_of(study).places, forecast_of(study).cents) == (asked, asked * 12)
        assert books(study) == (asked * 12, 0)

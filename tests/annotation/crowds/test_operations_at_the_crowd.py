"""What an operation asks of the crowd: at once where the caller waits, by a job where a page does not."""

import pytest
from django.contrib.auth.models import User

from annotation.crowds.publishing import open_study
from annotation.crowds.sync import SYNC
from annotation.models import CrowdCall
from judgments.models import Job
from tests.annotation.crowds.turking import make_turk_study
from tests.doors import DOORS, Call
from tests.fakes.mturk import MTurkEmulator

PAUSE = Call("pause", "pause", "pause_study", {"why": "lunch"})


@pytest.mark.parametrize("door", DOORS)
def test_pausing_takes_the_work_down_at_the_crowd(door: str, turk: MTurkEmulator) -> None:
    study = make_turk_study()
    open_study(study=study)
    assert DOORS[door](study, PAUSE, User.objects.create_superuser("lead")).done
    calls = CrowdCall.objects.filter(study=study, kind="expire")
    assert calls.exists()
    waits = door == "page"
    assert {call.state for call in calls} == {CrowdCall.State.WAITING if waits else CrowdCall.State.DONE}
    assert Job.objects.filter(kind=SYNC, args__study=study.slug).exists() == waits

"""Studies with a slider in an installation that leaves it out."""

import pytest

from tests.absent_kinds import check_that_pages_say, visit
from tests.installations import Installations

USED = """
from django.conf import settings
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from tests.annotation.calling import accept, submit
from tests.studies import make_study, make_worker

design = {"units_per_hit": 1, "controls": {"per_hit": 0}}
rehearse(study=make_study("slider", slug="done", **design), crowd=RehearsalCrowd(workers=3, drop_outs=0))
make_study("slider", slug="draft", opened=False)
study = make_study("slider", slug="open", **design)
settings.ALLOWED_HOSTS = ["testserver"]
_, headers = make_worker(study, "ann")
submit(accept(study, headers).json()["id"], [{"position": 1, "value": 70}], headers)
"""
SENTENCE = "Add the feature slider to the setting CONTRIB_APPS"


@pytest.mark.long
def test_studies_are_listed_erased_and_deleted_and_say_that_their_kind_is_off(
    installations: Installations,
) -> None:
    answer = visit(installations, used=USED, feature="slider")
    check_that_pages_say(answer, SENTENCE)
    for preset in ("our-slider", "direct-assessment-translation"):
        assert preset not in answer["lists"][2][1]
    assert answer["left"] == [None]

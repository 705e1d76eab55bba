"""Best-worst studies in an installation that leaves them out."""

import pytest

from tests.absent_kinds import check_that_pages_say, visit
from tests.installations import Installations

USED = """
from django.conf import settings
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from tests.annotation.calling import accept, submit
from tests.evaluation.test_scales import better_and_worse
from tests.studies import make_study, make_worker

better_and_worse()
design = {"units_per_hit": 1, "controls": {"per_hit": 0}}
best_alone = {"answers": {"worst": False}, "sampling": {"options": "all"}}
done = make_study("best-worst", slug="done", **design, **best_alone)
rehearse(study=done, crowd=RehearsalCrowd(workers=3, drop_outs=0))
make_study("best-worst", slug="draft", opened=False)
study = make_study("best-worst", slug="open", **design)
settings.ALLOWED_HOSTS = ["testserver"]
_, headers = make_worker(study, "ann")
submit(accept(study, headers).json()["id"], [{"position": 1, "answer": {"best": 1, "worst": 2}}], headers)
"""
SENTENCE = "Add the feature best_worst to the setting CONTRIB_APPS"


@pytest.mark.long
def test_studies_are_listed_erased_and_deleted_and_say_that_their_kind_is_off(
    installations: Installations,
) -> None:
    answer = visit(installations, used=USED, feature="best_worst")
    check_that_pages_say(answer, SENTENCE)
    assert "our-best-worst" not in answer["lists"][2][1]
    assert sum(answer["left"][0].values()) > 0

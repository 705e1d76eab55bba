"""Studies of marked errors in an installation that leaves them out."""

import pytest

from tests.absent_kinds import check_that_pages_say, visit
from tests.installations import Installations

USED = """
from django.conf import settings
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from tests.annotation.calling import accept, submit
from tests.annotation.casting import make_study
from tests.annotation.sourcing import make_texts
from tests.studies import make_study as make_draft, make_worker

texts, design = make_texts(), {"judged": "summary", "units_per_hit": 1, "controls": {"per_hit": 0}}
rehearse(study=make_study(texts, "spans", slug="done", **design), crowd=RehearsalCrowd(workers=3, drop_outs=0))
make_draft("spans", slug="draft", opened=False)
study = make_study(texts, "spans", slug="open", **design)
settings.ALLOWED_HOSTS = ["testserver"]
_, headers = make_worker(study, "ann")
submit(accept(study, headers).json()["id"], [{"position": 1, "answer": {"spans": [], "score": 70}}], headers)
"""
SENTENCE = "Add the feature error_spans to the setting CONTRIB_APPS"


@pytest.mark.long
def test_studies_are_listed_erased_and_deleted_and_say_that_their_kind_is_off(
    installations: Installations,
) -> None:
    answer = visit(installations, used=USED, feature="error_spans")
    check_that_pages_say(answer, SENTENCE)
    assert "kocmi-2024-esa" not in answer["lists"][2][1]
    assert answer["left"] == [{"spans": [], "score": 70}]

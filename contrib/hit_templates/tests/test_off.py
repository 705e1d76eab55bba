"""Studies of HIT templates in an installation that leaves them out."""

import pytest

from tests.absent_kinds import check_that_pages_say, visit
from tests.installations import Installations

USED = """
from pathlib import Path
from tempfile import mkdtemp
from django.conf import settings
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from tests.annotation.calling import accept, submit
from tests.studies import make_worker
from contrib.hit_templates.tests.templating import make_template_study

rehearse(study=make_template_study(Path(mkdtemp()), slug="done"), crowd=RehearsalCrowd(workers=3, drop_outs=0))
make_template_study(Path(mkdtemp()), slug="draft", opened=False)
study = make_template_study(Path(mkdtemp()), slug="open")
settings.ALLOWED_HOSTS = ["testserver"]
_, headers = make_worker(study, "ann")
submit(accept(study, headers).json()["id"], [{"position": 1, "answer": {"tone": "pos", "why": "a reason"}}], headers)
"""
SENTENCE = "Add the feature hit_templates to the setting CONTRIB_APPS"


@pytest.mark.long
def test_studies_are_listed_erased_and_deleted_and_say_that_their_kind_is_off(
    installations: Installations,
) -> None:
    answer = visit(installations, used=USED, feature="hit_templates")
    check_that_pages_say(answer, SENTENCE)
    assert "bring-template" not in answer["lists"][2][1]
    [left] = answer["left"]
    assert left["tone"] == "pos"
    assert "why" not in left

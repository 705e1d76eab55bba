"""A study that was watched for signs of programs, in an installation that leaves their detectors out."""

import pytest

from tests.installations import Installations

USED = """
from annotation.models import Case
from annotation.quality.rules import store_rule
from judgments.models import Study
from tests.annotation.casting import joined
from tests.annotation.writing import BOTH, PASTED, write, writing_study
from tests.studies import make_study

study = writing_study(images=6, writing=BOTH, slug="written")
store_rule(study=study, rule="pasted-text", settings={}, action="flag", enabled=True)
store_rule(study=study, rule="too-fast", settings={}, action="flag", enabled=True)
write(study, joined(study).worker, signals=PASTED)
assert Case.objects.get().rule == "pasted-text"
rules = [{"rule": "typing", "action": "flag"}]
make_study("graded", opened=False, slug="planned", rules=rules)
"""
VISIT = """
import io, json
from pathlib import Path
from tempfile import mkdtemp
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from annotation.models import Case, QualityRule
from annotation.quality.reviews import find_objections
from annotation.quality.rules import recommend_rules
from judgments.models import Study
from tests.annotation.casting import joined
from tests.annotation.writing import PASTED, write

browser = Client()
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
study, planned = Study.objects.get(slug="written"), Study.objects.get(slug="planned")


def page(study, name):
    return browser.get(f"/admin/judgments/study/{study.pk}/{name}/").content.decode()


write(study, joined(study, "bob").worker, signals=PASTED)
case = Case.objects.get()
file = io.StringIO()
call_command("export_study", "planned", stdout=file)
answer = {
    "detectors": page(study, "rules"),
    "planned": page(planned, "rules"),
    "design": page(planned, "change"),
    "review": page(study, "review"),
    "objections": find_objections(study, [case.worker_id]),
    "objections_with_signs": len(find_objections(study, [case.worker_id], with_signs=True)),
    "listed": [row["rule"] for row in browser.get("/api/rules/").json()["results"]],
    "set": browser.put(
        "/api/studies/written/rules/typing/", {"action": "flag"}, content_type="application/json"
    ).json(),
    "schema": "canary" in browser.get("/api/schema/").content.decode(),
    "file": file.getvalue(),
}
call_command("generate_hits", "planned", stdout=io.StringIO())
try:
    call_command("open_study", "planned")
except CommandError as error:
    answer["opening"] = str(error)
call_command("export_judgments", "written", format="jsonl", output=Path(mkdtemp(), "judgments.jsonl"))
call_command("check_integrity")
dismissed = browser.post(
    f"/admin/judgments/study/{study.pk}/do/dismiss-case/", {"row": case.pk, "case": case.pk, "why": "Dictated."}
)
answer["dismissed"] = Case.objects.get().state
QualityRule.objects.filter(study=study).delete()
answer["recommended"] = recommend_rules(study=study)
answer["names"] = sorted(QualityRule.objects.values_list("rule", flat=True))
answer["deleted"] = planned.delete()[0] > 0
print(json.dumps(answer))
"""


@pytest.mark.long
def test_flags_stay_and_nobody_is_flagged_without_the_detectors(installations: Installations) -> None:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("honest_answers")
        answer = installation.reply_of(VISIT)
    absent = "These detectors of the study are off in this installation and check nobody: "
    assert f"{absent}Pasted text." in answer["detectors"]
    assert "1 detector is on." in answer["detectors"]
    assert 'id="rule-pasted-text"' not in answer["detectors"]
    assert f"{absent}Implausible typing." in answer["planned"]
    assert "Save" in answer["design"]
    assert "Written answers that were pasted: 3 of 3." in answer["review"]
    assert "This is a hint, not a proof" in answer["review"]
    assert (answer["objections"], answer["objections_with_signs"]) == ({}, 1)
    assert answer["listed"] == ["pasted-text", "too-fast"]
    off = "the detector 'typing' is off; turn on honest_answers in CONTRIB_APPS"
    assert off in answer["set"]["detail"]
    assert off in answer["opening"]
    assert not answer["schema"]
    assert 'rule = "typing"' in answer["file"]
    assert answer["dismissed"] == "dismissed"
    assert answer["names"] == ["control-accuracy", "repeat-consistency", "too-fast"]
    assert answer["deleted"]

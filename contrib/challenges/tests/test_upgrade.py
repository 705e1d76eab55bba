"""The tables of challenges were those of another app: rows, permissions and the log stay with them."""

import json

import pytest

from tests.installations import Installations

FILLED = """
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from contrib.challenges.models import Challenge
from contrib.challenges.tests.challenging import a_challenge, participant, submit, work_off
submit(a_challenge(), participant(), good=7)
work_off()
group = Group.objects.create(name="organisers")
group.permissions.set(Permission.objects.filter(codename__in=["add_challenge", "view_submission"]))
User.objects.create_user("rosa", is_staff=True).groups.add(group)
LogEntry.objects.create(
    user=User.objects.get(username="rosa"), content_type=ContentType.objects.get_for_model(Challenge),
    object_id="1", object_repr="Lawns", action_flag=1,
)
"""
STORED = """
import json
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from contrib.challenges.models import Challenge, ChallengeEvent, Standing, Submission, SubmissionContent
models = (Challenge, ChallengeEvent, Standing, Submission, SubmissionContent)
print(json.dumps({
    "rows": [list(map(str, model.objects.values_list())) for model in models],
    "permissions": sorted(User.objects.get(username="rosa").get_all_permissions()),
    "logged": LogEntry.objects.get().content_type.app_label,
}))
"""


@pytest.mark.long
def test_an_upgrade_keeps_rows_permissions_and_log(installations: Installations) -> None:
    with installations.fresh("sqlite", after=FILLED) as installation:
        before = json.loads(installation.python(STORED))
        assert all(before["rows"])

        installation.manage("migrate", "challenges", "zero")
        moved = json.loads(installation.python(STORED))
        assert moved["permissions"] == ["evaluation.add_challenge", "evaluation.view_submission"]
        assert moved["logged"] == "evaluation"
        assert moved["rows"] == before["rows"]

        installation.manage("migrate")
        assert json.loads(installation.python(STORED)) == before
        assert before["permissions"] == ["challenges.add_challenge", "challenges.view_submission"]
        assert "nothing broken" in installation.manage("check_integrity")
        installation.manage("makemigrations", "--check")

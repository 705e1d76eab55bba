"""Pages, calls, commands and scopes of tokens in an installation that leaves challenges out."""

import json
from typing import Any

import pytest

from tests.installations import Installations

VISIT = """
import json
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from common.errors import DesignError
from config.commands import load_command
from judgments.access.tokens import SCOPES, create_token

browser = Client()
home = browser.get("/").content.decode()
try:
    create_token(user=User.objects.create_user("carol"), name="nightly", scopes=["submissions:write"])
    refused = None
except DesignError as error:
    refused = error.field
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
answer = {
    "home": home,
    "token": browser.get("/admin/judgments/apitoken/add/").content.decode(),
    "sidebar": browser.get("/admin/").content.decode(),
    "schema": browser.get("/api/schema/").content.decode(),
    "help": load_command("create_token").create_parser("manage.py", "create_token").format_help(),
    "scopes": [*SCOPES],
    "refused": refused,
}
print(json.dumps(answer))
"""
TEXTS = ("home", "token", "sidebar", "schema", "help")


def mentions(answer: dict[str, Any]) -> list[str]:
    """The texts that mention challenges or their scopes."""
    words = ("challenge", "submissions:", "/submissions/")
    return [text for text in TEXTS if any(word in answer[text].lower() for word in words)]


@pytest.mark.long
@pytest.mark.parametrize("names", [None, ""], ids=["without challenges", "without any feature"])
def test_nothing_mentions_challenges(installations: Installations, names: str | None) -> None:
    with installations.fresh("sqlite") as installation:
        installation.turn_off("challenges")
        if names is not None:
            installation.env["CONTRIB_APPS"] = names
        answer = installation.reply_of(VISIT)
    assert "For researchers" in answer["home"]
    assert "money:write" in answer["token"]
    assert "money:write" in answer["help"]
    assert len(json.dumps(answer["schema"])) > 100_000
    assert mentions(answer) == []
    assert answer["refused"] == "scopes"
    assert "submissions:write" not in answer["scopes"]


@pytest.mark.long
def test_with_them_the_home_page_leads_there_and_participants_have_their_scopes(
    installations: Installations,
) -> None:
    with installations.fresh("sqlite") as installation:
        installation.turn_off("arena")
        answer = installation.reply_of(VISIT)
    assert '<a href="/challenges/">challenges</a>' in answer["home"]
    assert mentions(answer) == [*TEXTS]
    assert answer["refused"] is None
    place = answer["scopes"].index("exports:write")
    assert answer["scopes"][place:][1:3] == ["submissions:read", "submissions:write"]

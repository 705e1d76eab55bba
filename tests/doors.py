"""The doors of an operation, called alike: a page, the HTTP interface, a command."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import Any

from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from judgments.models import Study


@dataclass(frozen=True)
class Answer:
    """What a door answered.

    Attributes:
        done: whether it was done.
        status: of the HTTP call; 0 for the other doors.
        sentence: what was said of it; "" for an HTTP call that succeeded.
    """

    done: bool
    sentence: str
    status: int = 0


@dataclass(frozen=True)
class Call:
    """An operation with its values, under the name that it has at each door; "" where it has none."""

    page: str
    http: str
    command: str
    values: dict[str, Any]


def by_page(study: Study, call: Call, user: User) -> Answer:
    """Post the form, and read what the page that follows says."""
    client = Client()
    client.force_login(user)
    values = {
        name: ", ".join(value) if isinstance(value, list) else value for name, value in call.values.items()
    }
    address = reverse("admin:judgments_study_do", args=[study.pk, call.page])
    answer = client.post(address, {"page": "board", **values})
    if answer.status_code != 302:
        return Answer(False, "", answer.status_code)
    refusal = client.session.get("quorum-refusal")
    if refusal is not None:
        return Answer(False, refusal["words"])
    shown = client.get(answer["Location"])
    return Answer(True, " ".join(html.unescape(str(one)) for one in shown.context["messages"]))


def by_http(study: Study, call: Call, user: User) -> Answer:
    """Post the JSON."""
    client = Client()
    client.force_login(user)
    answer = client.post(
        f"/api/studies/{study.slug}/{call.http}/", json.dumps(call.values), content_type="application/json"
    )
    done = answer.status_code in (200, 201, 202)
    return Answer(done, "" if done else answer.json()["detail"], answer.status_code)


def by_command(study: Study, call: Call, user: User | None = None) -> Answer:
    """Run the command with the values as text."""
    words = []
    for name, value in call.values.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        words.append(f"--{name.replace('_', '-')}={text}")
    out = StringIO()
    try:
        call_command(call.command, study.slug, *words, stdout=out)
    except CommandError as error:
        return Answer(False, str(error))
    return Answer(True, out.getvalue().strip())


DOORS: dict[str, Callable[[Study, Call, User], Answer]] = {
    "page": by_page,
    "http": by_http,
    "command": by_command,
}

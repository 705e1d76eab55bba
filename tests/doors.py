"""The doors of an operation, called alike: a page, the HTTP interface, a command; and keys of a token."""

import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from judgments.access.tokens import SCOPES, create_token
from judgments.models import Study, StudyRole


def key_of(user: User, *scopes: str, studies: Sequence[Study] = ()) -> dict[str, str]:
    """Return the headers of a token with these scopes, or with all."""
    _, key = create_token(user=user, name="x", scopes=scopes or list(SCOPES), studies=studies)
    return {"Authorization": f"Token {key}"}


def of_role(study: Study, role: str, *scopes: str) -> dict[str, str]:
    """Return the headers of a new user, named by their role in the study."""
    user = User.objects.create_user(f"the-{role}", is_staff=True)
    StudyRole.objects.create(study=study, user=user, role=role)
    return key_of(user, *scopes)


def get(path: str, headers: dict[str, str]) -> Any:
    """Return the JSON at an address that must answer."""
    response = Client().get(path, headers=headers)
    assert response.status_code == 200, response.content
    return response.json()


def signed_in(user: User) -> Client:
    """Return the browser of a user."""
    client = Client()
    client.force_login(user)
    return client


def call(method: str, path: str, headers: dict[str, str], body: Any = None) -> Any:
    """Send the body as JSON, or nothing, to an address below /api."""
    extra = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    return getattr(Client(), method)(f"/api/{path}", headers=headers, **extra)


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
    """An operation with its values, under the name that it has at each door; "" where it has none.

    Attributes:
        http: what follows the study's address, or a whole address below /api; after another method than POST and a
            blank.
        form: further values, which the address over HTTP holds and the form in hidden fields.
        options: further words of the command, such as where it writes.
    """

    page: str
    http: str
    command: str
    values: dict[str, Any]
    form: dict[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()


def by_page(study: Study, call: Call, user: User) -> Answer:
    """Post the form, and read what the page that follows says."""
    client = signed_in(user)
    values = {**call.values, **call.form}
    address = reverse("admin:judgments_study_do", args=[study.pk, call.page])
    answer = client.post(address, {"page": "board", **_as_form(values)})
    if answer.status_code != 302:
        return Answer(False, "", answer.status_code)
    refusal = client.session.get("quorum-refusal")
    if refusal is not None:
        return Answer(False, refusal["words"])
    shown = list(client.get(answer["Location"]).context["messages"])
    refused = any(one.level_tag == "error" for one in shown)
    return Answer(not refused, " ".join(html.unescape(str(one)) for one in shown))


def _as_form(values: dict[str, Any]) -> dict[str, Any]:
    """Return a field for each member of an object, and none for what is false: an unticked box sends nothing."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= {f"{name}.{key}": one for key, one in value.items()}
        elif value is not False:
            found[name] = value
    return found


def by_http(study: Study, call: Call, user: User) -> Answer:
    """Send the JSON to the address below the study, or to the one that begins with a slash; DELETE and PUT stand before
    it."""
    client = signed_in(user)
    method, _, place = call.http.rpartition(" ")
    address = f"/api{place}" if place.startswith("/") else f"/api/studies/{study.slug}/{place}/"
    send = getattr(client, (method or "POST").lower())
    answer = send(address, json.dumps(call.values), content_type="application/json")
    done = answer.status_code in (200, 201, 202)
    return Answer(done, "" if done else answer.json()["detail"], answer.status_code)


def by_command(study: Study, call: Call, user: User | None = None) -> Answer:
    """Run the command with the values as text."""
    words = []
    for name, value in call.values.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words.append(f"--{name.replace('_', '-')}={text}")
    out = StringIO()
    try:
        call_command(call.command, study.slug, *words, *call.options, stdout=out)
    except CommandError as error:
        return Answer(False, str(error))
    return Answer(True, out.getvalue().strip())


DOORS: dict[str, Callable[[Study, Call, User], Answer]] = {
    "page": by_page,
    "http": by_http,
    "command": by_command,
}


def without_field(sentence: str) -> str:
    """Return it without its field's key, which a page has as a label or beside the field."""
    return re.sub(r"^(“[^”]*”|\w+): ", "", sentence)

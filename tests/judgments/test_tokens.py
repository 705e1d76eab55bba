"""Tokens of the HTTP interface: what they open, what they never do, and what changed answers look like."""

from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.authtoken.models import Token

from judgments.access.roles import give_role
from judgments.access.tokens import SCOPES, create_token, revoke_token
from judgments.models import ApiToken, Dataset, Job, Study
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
ALL = list(SCOPES)
PAGE = "/admin/judgments/apitoken/"


@pytest.fixture
def grace() -> User:
    """A member of staff who may look at everything."""
    user = User.objects.create_user("grace", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    return user


def headers_of(user: User, *scopes: str, studies: list[Study] | None = None) -> dict[str, str]:
    _, key = create_token(user=user, name="test", scopes=scopes or ALL, studies=studies or [])
    return {"Authorization": f"Token {key}"}


def status(path: str, headers: dict[str, str], method: str = "get") -> int:
    response: Any = getattr(Client(), method)(f"/api/{path}", headers=headers)
    return int(response.status_code)


def slugs(headers: dict[str, str]) -> list[str]:
    return [row["slug"] for row in Client().get("/api/studies/", headers=headers).json()["results"]]


def test_the_key_is_not_stored_and_its_use_is_noted(grace: User) -> None:
    token, key = create_token(user=grace, name="nightly", scopes=["studies:read"])
    stored = str(ApiToken.objects.filter(pk=token.pk).values().get())
    assert key not in stored
    assert key.startswith(token.prefix)
    assert token.last_used_at is None
    assert status("studies/", {"Authorization": f"Token {key}"}) == 200
    token.refresh_from_db()
    assert token.last_used_at is not None


def test_a_revoked_late_or_foreign_token_opens_nothing(grace: User) -> None:
    token, key = create_token(
        user=grace, name="nightly", scopes=ALL, expires_at=timezone.now() + timedelta(days=1)
    )
    headers = {"Authorization": f"Token {key}"}
    assert status("studies/", headers) == 200
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert status("studies/", headers) == 401
    ApiToken.objects.update(expires_at=None)
    revoke_token(token=token)
    assert status("studies/", headers) == 401
    assert status("studies/", {"Authorization": f"Token {key[:-1]}x"}) == 401
    ApiToken.objects.update(revoked_at=None)
    User.objects.update(is_active=False)
    assert status("studies/", headers) == 401


def test_a_token_opens_what_its_scopes_name(grace: User) -> None:
    make_study()
    readers = headers_of(grace, "studies:read")
    assert status("studies/", readers) == 200
    for closed in ("judgments/", "workers/", "consensus/", "reports/", "exports/"):
        response = Client().get(f"/api/{closed}", headers=readers)
        assert response.status_code == 403
        assert "lacks the scope" in response.json()["detail"]
    assert status("studies/a-triplet-study/close/", readers, "post") == 403
    assert status("exports/", headers_of(grace, "exports:write")) == 200  # who may write may read


def test_a_token_never_does_more_than_its_account(grace: User) -> None:
    make_study()
    everything = headers_of(grace)
    assert status("studies/a-triplet-study/close/", everything, "post") == 403
    grace.user_permissions.clear()
    assert status("studies/", everything) == 403
    assert Study.objects.get().state == "open"


def test_a_token_of_some_studies_opens_no_other(grace: User) -> None:
    own, other = make_study(), make_study("graded")
    make_worker(other, "w-other")
    headers = headers_of(grace, studies=[own])
    assert slugs(headers) == [own.slug]
    assert status(f"studies/{other.slug}/", headers) == 404
    assert status(f"units/{other.units.first().pk}/", headers) == 404  # type: ignore[union-attr]  # it has units
    assert Client().get("/api/workers/", headers=headers).json()["results"] == []
    grace.user_permissions.add(Permission.objects.get(codename="add_study"))
    assert status("studies/", headers, "post") == 403  # it would be outside of what the token opens
    own.delete()
    assert slugs(headers) == []  # a token of studies that are gone opens none, not all


def test_a_token_of_some_studies_does_not_say_which_datasets_there_are(grace: User) -> None:
    own = make_study()
    elsewhere = Dataset.objects.create(name="elsewhere", source_format="jsonl", sharing="installation")
    headers = headers_of(grace, studies=[own])
    for name in ("studies", "items"):
        assert status(f"{name}/?dataset={own.dataset.name}", headers) == 200
        asked = [
            Client().get(f"/api/{name}/?dataset={one}", headers=headers) for one in (elsewhere.name, "none")
        ]
        texts = [
            answer.content.decode().replace(one, "")
            for answer, one in zip(asked, (elsewhere.name, "none"), strict=True)
        ]
        assert texts[0] == texts[1]
        assert [one.status_code for one in asked] == [400, 400]


def test_a_role_opens_its_own_study_over_http(grace: User) -> None:
    own, other = make_study(), make_study("graded")
    grace.user_permissions.clear()
    headers = headers_of(grace)
    assert status("studies/", headers) == 403
    give_role(study=own, user=grace, role="viewer")
    assert slugs(headers) == [own.slug]
    assert status(f"studies/{other.slug}/close/", headers, "post") == 404
    assert status(f"studies/{own.slug}/close/", headers, "post") == 403
    give_role(study=own, user=grace, role="designer")
    assert status(f"studies/{own.slug}/close/", headers, "post") == 200
    units = Client().get("/api/units/?page_size=1000", headers=headers).json()["results"]
    assert {row["study"] for row in units} == {own.slug}


def test_what_a_job_made_is_for_tokens_that_may_read_it(grace: User, client: Client) -> None:
    job = Job.objects.create(
        kind="aggregate", state="done", result={"alpha": 0.5}, created_by=grace, finished_at=timezone.now()
    )

    def found(*scopes: str) -> Any:
        return client.get(f"/api/jobs/{job.pk}/", headers=headers_of(grace, *scopes)).json()

    assert (found("studies:read")["state"], found("studies:read")["result"]) == ("done", {})
    assert found("studies:read", "reports:read")["result"] == {"alpha": 0.5}


@pytest.mark.parametrize(
    ("scopes", "name", "words"),
    [([], "x", "needs a scope"), (["all"], "x", "no scope 'all'"), (ALL, " ", "needs a name")],
)
def test_a_token_that_makes_no_sense_is_refused(
    scopes: list[str], name: str, words: str, grace: User
) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("create_token", "grace", name, scopes=",".join(scopes))
    assert not ApiToken.objects.exists()


def test_the_command_prints_a_key_that_works(grace: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_token", "grace", "nightly", "--scopes", "studies:read", "--days", "3")
    key = capsys.readouterr().out.strip()
    assert status("studies/", {"Authorization": f"Token {key}"}) == 200
    with pytest.raises(CommandError, match="no account 'nobody'"):
        call_command("create_token", "nobody", "nightly")


def test_a_key_is_shown_once_on_the_page(grace: User, client: Client) -> None:
    client.force_login(grace)
    asked = client.get(f"{PAGE}add/").content.decode()
    assert all(f'value="{scope}"' in asked for scope in SCOPES)
    made = client.post(f"{PAGE}add/", {"name": "notebook", "scopes": ["studies:read"], "good_for": "30"})
    key = made.context["key"]
    assert key in made.content.decode()
    assert "no-store" in made["Cache-Control"]
    listed = client.get(PAGE).content.decode()
    assert "notebook" in listed
    assert key not in listed
    assert slugs({"Authorization": f"Token {key}"}) == []


def test_nobody_else_sees_or_revokes_a_token_and_revoking_asks_first(grace: User, client: Client) -> None:
    token, _ = create_token(user=grace, name="nightly", scopes=ALL)
    assert client.get(PAGE).status_code == 302
    client.force_login(User.objects.create_user("stranger", is_staff=True))
    assert "nightly" not in client.get(PAGE).content.decode()
    assert client.post(f"{PAGE}{token.pk}/revoke/").status_code == 404
    assert ApiToken.objects.get().revoked_at is None
    client.force_login(grace)
    assert client.get(f"{PAGE}{token.pk}/revoke/").status_code == 200
    assert ApiToken.objects.get().revoked_at is None
    client.post(f"{PAGE}{token.pk}/revoke/")
    assert ApiToken.objects.get().revoked_at is not None


@pytest.mark.parametrize("path", ["studies/", "studies/a-triplet-study/", "units/?page_size=3", "presets/"])
def test_what_did_not_change_is_not_sent_again(path: str, grace: User) -> None:
    study = make_study()
    headers = headers_of(grace)
    first: Any = Client().get(f"/api/{path}", headers=headers)
    again: Any = Client().get(f"/api/{path}", headers=headers | {"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    Study.objects.filter(pk=study.pk).update(name="Another name")
    if path.startswith("studies"):
        changed = Client().get(f"/api/{path}", headers=headers | {"If-None-Match": first["ETag"]})
        assert changed.status_code == 200


def test_a_worker_gets_a_held_hit_whole_each_time() -> None:
    _, headers = make_worker(make_study())
    for _ in range(2):
        response: Any = Client().post("/api/studies/a-triplet-study/assignments/", headers=headers)
        assert "ETag" not in response


def test_the_frameworks_command_and_page_make_no_token(grace: User, admin_client: Client) -> None:
    with pytest.raises(CommandError, match="use create_token USER"):
        call_command("drf_create_token", "grace")
    assert admin_client.get("/admin/authtoken/tokenproxy/").status_code == 404
    key = Token.objects.create(user=grace).key  # as a program of the framework's would make it
    assert status("studies/", {"Authorization": f"Token {key}"}) == 401


def test_an_upgrade_hashes_old_keys_which_work_until_they_end(grace: User, client: Client) -> None:
    visitor = User.objects.create_user("visitor")
    keys = {user: Token.objects.create(user=user).key for user in (grace, visitor)}
    migration = import_module("judgments.migrations.0023_hash_old_tokens")
    migration.hash_keys(apps, SimpleNamespace(connection=connection))

    assert not Token.objects.exists()
    headers = {"Authorization": f"Token {keys[grace]}"}
    token = ApiToken.objects.get(user=grace)
    assert keys[grace] not in str(ApiToken.objects.filter(pk=token.pk).values().get())
    assert sorted(token.scopes) == sorted(ALL)
    assert set(ApiToken.objects.get(user=visitor).scopes) == {"submissions:read", "submissions:write"}
    assert status("studies/", headers) == 200
    assert status("studies/", {"Authorization": f"Token {keys[visitor]}"}) == 403
    client.force_login(grace)
    listed = client.get(PAGE).content.decode()
    assert "Made before tokens had scopes; make a new one" in listed
    assert keys[grace] not in listed

    assert token.expires_at is not None
    ApiToken.objects.update(expires_at=token.expires_at - timedelta(days=91))
    assert status("studies/", headers) == 401

"""Accounts with a second factor: setting it up, signing in, recovery codes, and what is closed until then."""

import re
from io import StringIO
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice
from pytest_django import Settings

pytestmark = pytest.mark.django_db
PAGE, PASSWORD = "/admin/second-factor/", "a long enough password"
WRONG = "000000"


@pytest.fixture
def account() -> User:
    return User.objects.create_superuser("designer", password=PASSWORD)


def signed_in(client: Client) -> Client:
    reply = client.post("/admin/login/?next=/admin/", {"username": "designer", "password": PASSWORD})
    assert reply.status_code == 302
    return client


def code_of(account: User) -> str:
    """What the app shows; a code works once, so an earlier one is forgotten."""
    device = TOTPDevice.objects.get(user=account)
    TOTPDevice.objects.update(last_t=-1, throttling_failure_count=0, throttling_failure_timestamp=None)
    return f"{totp(device.bin_key, t0=device.t0, drift=device.drift):06d}"


def set_up(account: User, client: Client) -> list[str]:
    page = client.get(PAGE).content.decode()
    assert "data:image/svg+xml" in page
    done = client.post(PAGE, {"code": code_of(account)}).content.decode()
    found = re.search(r"<pre[^>]*>([^<]+)</pre>", done)
    assert found is not None
    return found[1].split()


def test_without_one_an_account_signs_in_by_its_password(account: User, client: Client) -> None:
    assert signed_in(client).get("/admin/").status_code == 200


def test_an_account_with_one_is_signed_in_nowhere_before_its_code(account: User, client: Client) -> None:
    set_up(account, signed_in(client))
    assert client.get("/admin/").status_code == 200

    other = signed_in(Client())
    reply = other.get("/admin/judgments/study/")
    address = urlsplit(reply.headers["Location"])
    assert (address.path, parse_qs(address.query)) == (PAGE, {"next": ["/admin/judgments/study/"]})
    assert other.get("/api/studies/").status_code == 401
    assert other.get("/adjudicate/").status_code == 302
    assert other.post(PAGE, {"code": WRONG}).status_code == 400
    assert other.post(PAGE, {"what": "off", "code": WRONG}).status_code == 400
    assert other.get("/admin/").status_code == 302
    right = other.post(reply.headers["Location"], {"code": code_of(account)})
    assert (right.status_code, right.headers["Location"]) == (302, "/admin/judgments/study/")
    assert other.get("/admin/").status_code == 200
    assert other.get("/api/studies/").status_code == 200


def test_turning_it_on_ends_the_sessions_that_began_without_a_code(account: User, client: Client) -> None:
    thief, stranger = signed_in(Client()), Client()
    stranger.force_login(User.objects.create_superuser("other"))
    signed_in(client)
    before = client.session.session_key
    set_up(account, client)
    assert client.get("/admin/").status_code == 200
    assert client.session.session_key != before
    assert urlsplit(thief.get("/admin/").headers["Location"]).path == "/admin/login/"
    assert thief.get("/api/studies/").status_code == 401
    assert stranger.get("/admin/").status_code == 200


def test_a_code_works_once(account: User, client: Client) -> None:
    set_up(account, signed_in(client))
    code = code_of(account)
    assert signed_in(Client()).post(PAGE, {"code": code}).status_code == 302
    assert signed_in(Client()).post(PAGE, {"code": code}).status_code == 400


def test_a_recovery_code_replaces_the_app_once(account: User, client: Client) -> None:
    codes = set_up(account, signed_in(client))
    assert len(set(codes)) == 10
    assert signed_in(Client()).post(PAGE, {"code": codes[0]}).status_code == 302
    again = signed_in(Client()).post(PAGE, {"code": codes[0]})
    assert again.status_code == 400
    assert "is wrong" in again.content.decode()


def test_guessing_codes_has_the_limit_of_passwords(account: User, client: Client, settings: Settings) -> None:
    set_up(account, signed_in(client))
    settings.LIMITS = settings.LIMITS | {"login": "3/15 minutes"}
    other = signed_in(Client(REMOTE_ADDR="198.51.100.201"))
    assert [other.post(PAGE, {"code": WRONG}).status_code for _ in range(3)] == [400] * 3
    assert other.post(PAGE, {"code": code_of(account)}).status_code == 429


def test_staff_must_set_it_up_where_the_installation_asks_for_it(
    account: User, client: Client, settings: Settings
) -> None:
    settings.SECOND_FACTOR = True
    assert signed_in(client).get("/admin/").headers["Location"].startswith(PAGE)
    assert client.get("/api/studies/").status_code == 401
    set_up(account, client)
    assert client.get("/admin/").status_code == 200
    client.post(PAGE, {"what": "off", "code": code_of(account)})
    assert TOTPDevice.objects.count() == 1


def test_it_is_turned_off_with_a_code_and_by_an_administrator(account: User, client: Client) -> None:
    set_up(account, signed_in(client))
    assert client.post(PAGE, {"what": "off", "code": WRONG}).status_code == 400
    assert client.post(PAGE, {"what": "off", "code": code_of(account)}).status_code == 302
    assert signed_in(Client()).get("/admin/").status_code == 200

    set_up(account, client)
    printed = StringIO()
    call_command("reset_second_factor", "designer", stdout=printed)
    assert (
        printed.getvalue() == "designer signs in by password alone, and can set up a second factor again.\n"
    )
    assert signed_in(Client()).get("/admin/").status_code == 200


def test_nobody_else_has_the_page(client: Client) -> None:
    User.objects.create_user("member", password=PASSWORD)
    client.login(username="member", password=PASSWORD)
    assert client.get(PAGE).headers["Location"] == f"/admin/login/?next={PAGE.replace('/', '%2F')}"
    assert client.get("/admin/otp_totp/totpdevice/").status_code in (302, 404)

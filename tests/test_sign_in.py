"""The doors that sign in or take a password: which there are, and that nobody guesses or is locked out at one."""

import functools
import inspect
import re
from collections.abc import Callable
from ipaddress import ip_address
from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver
from django_otp.plugins.otp_totp.models import TOTPDevice
from pytest_django import Settings

from config.sign_in import KNOWN_COOKIE
from tests.annotation.leasing import take
from tests.strangers import addresses, walk
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
PASSWORD, NEW = "a long enough password", "another long enough password"
SIGNS_IN = re.compile(
    r"\blogin\(|_login\(|LoginView|\bauthenticate\(|check_password|PasswordChange(View|Form)"
)
TAKES_A_PASSWORD = re.compile(r'<input[^>]+type="password"')
NUMBERS = count()


def owner() -> User:
    return User.objects.get(username__startswith="designer")


def by_login(client: Client, where: str, password: str) -> Any:
    return client.post(where, {"username": owner().username, "password": password})


def by_change(client: Client, where: str, password: str) -> Any:
    client.force_login(owner())
    form = {"old_password": password, "new_password1": NEW, "new_password2": NEW}
    return client.post(where, form)


DOORS: dict[str, Callable[[Client, str, str], Any]] = {
    "/admin/login/": by_login,
    "/challenges/account/sign-in/": by_login,
    "/admin/password_change/": by_change,
}
SIGN_IN = [where for where, knock in DOORS.items() if knock is by_login]
# They give another account a password, and check none.
GIVE_A_PASSWORD = {"/admin/auth/user/{}/password/", "/admin/auth/user/add/"}


@pytest.fixture
def account(settings: Settings) -> User:
    settings.LIMITS = dict.fromkeys(settings.LIMITS, "")
    return User.objects.create_superuser(f"designer-{next(NUMBERS)}", password=PASSWORD)


def set_limits(settings: Settings, **limits: str) -> None:
    settings.LIMITS = dict.fromkeys(settings.LIMITS, "") | limits


def somewhere() -> str:
    """An address from which nobody came before."""
    return str(ip_address("203.0.112.0") + next(NUMBERS))


def knock(where: str, password: str, address: str, client: Client | None = None) -> Any:
    client = client or Client()
    client.defaults["REMOTE_ADDR"] = address
    return DOORS[where](client, where, password)


def source_of(callback: Any) -> str:
    """The code of a view, of a class with the classes that it inherits from."""
    while isinstance(callback, functools.partial) or hasattr(callback, "__wrapped__"):
        callback = callback.func if isinstance(callback, functools.partial) else callback.__wrapped__
    view = getattr(callback, "view_class", None) or getattr(callback, "cls", None)
    if view is None:
        return inspect.getsource(callback)
    methods = (method for one in inspect.getmro(view) for method in vars(one).values())
    return "".join(inspect.getsource(one) for one in methods if inspect.isfunction(one))


def signing_in() -> set[str]:
    """Addresses whose views sign somebody in or look at a password."""
    return {
        "/" + "".join(map(str, parts))
        for parts, pattern in walk(get_resolver(), ())
        if SIGNS_IN.search(source_of(pattern.callback))
    }


def test_every_view_that_signs_in_is_tried_here() -> None:
    assert signing_in() <= DOORS.keys()


@pytest.mark.long
def test_every_address_that_takes_a_password_is_tried_here(account: User) -> None:
    study = make_study()
    take(study, make_worker(study)[0])
    asking, staff = set(), Client()
    staff.force_login(account)
    for address in addresses(study):
        for client in (Client(), staff):
            page = client.get(address)
            shown = b"" if page.streaming else page.content
            if TAKES_A_PASSWORD.search(shown.decode(errors="replace")):
                asking.add(re.sub(r"/\d+/", "/{}/", address))
    assert {*signing_in(), *asking} == {*DOORS, *GIVE_A_PASSWORD}


@pytest.mark.parametrize("where", DOORS)
def test_no_door_lets_passwords_be_guessed_from_one_address(
    account: User, settings: Settings, where: str
) -> None:
    set_limits(settings, login="3/15 minutes")
    address = somewhere()
    for _ in range(3):
        assert "Too many attempts" not in knock(where, "wrong", address).content.decode()
    refused = knock(where, PASSWORD, address)
    assert (refused.status_code, "Too many attempts" in refused.content.decode()) == (200, True)
    account.refresh_from_db()
    assert account.check_password(PASSWORD)
    assert knock(where, PASSWORD, somewhere()).status_code == 302


@pytest.mark.parametrize("where", DOORS)
def test_no_door_lets_one_password_be_guessed_from_many_addresses(
    account: User, settings: Settings, where: str
) -> None:
    set_limits(settings, login="3/15 minutes", account="5/hour")
    for _ in range(5):
        knock(where, "wrong", somewhere())
    refused = knock(where, PASSWORD, somewhere())
    assert (refused.status_code, "Too many attempts" in refused.content.decode()) == (200, True)


def test_the_doors_share_their_limits(account: User, settings: Settings) -> None:
    set_limits(settings, login="4/15 minutes")
    address = somewhere()
    for where in (*SIGN_IN, *SIGN_IN):
        knock(where, "wrong", address)
    for where in SIGN_IN:
        assert "Too many attempts" in knock(where, PASSWORD, address).content.decode()


@pytest.mark.parametrize("where", SIGN_IN)
def test_who_signed_in_before_is_not_locked_out_by_others_at_the_same_address(
    account: User, settings: Settings, where: str
) -> None:
    set_limits(settings, login="3/15 minutes", logins="6/15 minutes", account="10/hour")
    User.objects.create_superuser("other", password=PASSWORD)
    address, own, of_another = somewhere(), Client(), Client()
    assert knock(where, PASSWORD, address, own).status_code == 302
    of_another.post(where, {"username": "other", "password": PASSWORD})
    for client in (own, of_another):
        client.get("/admin/logout/")
        client.cookies.pop(settings.SESSION_COOKIE_NAME)
    for number in range(12):
        Client(REMOTE_ADDR=address).post(where, {"username": f"a{number}", "password": "wrong"})
        knock(where, "wrong", somewhere())
        Client(REMOTE_ADDR=address).post(where, {"username": f"{account}/known", "password": "wrong"})
    assert "Too many attempts" in knock(where, PASSWORD, address).content.decode()
    assert "Too many attempts" in knock(where, PASSWORD, address, of_another).content.decode()
    assert knock(where, PASSWORD, address, own).status_code == 302
    forged = Client()
    forged.cookies[KNOWN_COOKIE] = own.cookies[KNOWN_COOKIE].value[:-2]
    assert "Too many attempts" in knock(where, PASSWORD, address, forged).content.decode()


def test_a_known_browser_cannot_guess_either(account: User, settings: Settings) -> None:
    set_limits(settings, login="3/15 minutes")
    address, known = somewhere(), Client()
    assert knock("/admin/login/", PASSWORD, address, known).status_code == 302
    known.cookies.pop(settings.SESSION_COOKIE_NAME)
    for _ in range(3):
        knock("/admin/login/", "wrong", address, known)
    assert "Too many attempts" in knock("/admin/login/", PASSWORD, address, known).content.decode()


@pytest.mark.parametrize("where", SIGN_IN)
@pytest.mark.parametrize("required", [False, True])
def test_every_door_leads_to_the_second_factor(
    account: User, settings: Settings, where: str, required: bool
) -> None:
    settings.SECOND_FACTOR = required
    if not required:
        TOTPDevice.objects.create(user=account, confirmed=True, name="second factor")
    client = Client()
    after = knock(where, PASSWORD, somewhere(), client)
    assert after.headers["Location"].startswith("/admin/second-factor/?next=%2F")
    assert client.get(after.headers["Location"]).status_code == 200
    assert client.get("/api/studies/").status_code == 401


def test_a_sign_in_without_a_second_factor_leads_where_it_was_asked_for(settings: Settings) -> None:
    User.objects.create_user("designer", password=PASSWORD)
    settings.SECOND_FACTOR = True  # of staff
    reply = Client().post(
        "/challenges/account/sign-in/?next=/challenges/",
        {"username": "designer", "password": PASSWORD, "next": "/challenges/"},
    )
    assert (reply.status_code, reply.headers["Location"]) == (302, "/challenges/")

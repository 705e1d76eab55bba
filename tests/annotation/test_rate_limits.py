"""What one address may try how often: wrong codes, wrong passwords, new workers."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test import Client
from pytest_django import Settings

from annotation.models import Worker
from common.rate_limits import TooManyAttempts, count_use, visiting_from
from config.sign_in import LimitedBackend
from judgments.access.tokens import KEY_PREFIX
from judgments.models import Study
from tests.installations import free_port
from tests.studies import make_study

pytestmark = pytest.mark.django_db
CODE = "a-long-enough-code"
NUMBERS = iter(range(1, 200))


@pytest.fixture
def address() -> str:
    """An address that no other test has used up."""
    return f"198.51.100.{next(NUMBERS)}"


@pytest.fixture
def limits(settings: Settings) -> Callable[..., None]:
    def use(**limits: str) -> None:
        settings.LIMITS = dict.fromkeys(settings.LIMITS, "") | limits

    return use


def by_page(study: Study, name: str, code: str, address: str) -> int:
    form = {"name": name, "code": code, "consent": "on"}
    return Client(REMOTE_ADDR=address).post(f"/s/{study.slug}/", form).status_code


def by_call(study: Study, name: str, code: str, address: str) -> int:
    body = {"worker": name, "code": code, "consent": True}
    reply = Client(REMOTE_ADDR=address).post(
        f"/api/studies/{study.slug}/join/", body, content_type="application/json"
    )
    if reply.status_code == 429:
        assert 0 < int(reply.headers["Retry-After"]) <= 600
    return reply.status_code


@pytest.mark.parametrize("join", [by_page, by_call])
def test_wrong_codes_are_refused_with_fewer_words_after_a_while_and_the_right_one_never(
    limits: Callable[..., None], address: str, join: Callable[[Study, str, str, str], int]
) -> None:
    limits(code="5/10 minutes")
    study = make_study(access={"join": "code", "code": CODE})
    assert [join(study, f"w{n}", "wrong", address) for n in range(7)] == [403] * 5 + [429] * 2
    assert Worker.objects.count() == 0
    assert join(study, "w", CODE, address) in (201, 303)
    assert join(study, "v", "wrong", "203.0.113.9") == 403


def test_who_guesses_codes_takes_no_tries_from_other_browsers_at_the_address(
    limits: Callable[..., None], address: str
) -> None:
    limits(code="60/10 minutes", resume="60/10 minutes")
    study = make_study(access={"join": "code", "code": CODE})
    guesser, honest = Client(REMOTE_ADDR=address), Client(REMOTE_ADDR=address)
    where, wrong = f"/s/{study.slug}/", {"name": "w", "code": "wrong", "resume": "wrong"}
    for client in (guesser, honest):
        assert client.get(where).status_code == 200
    assert [guesser.post(where, wrong).status_code for _ in range(61)] == [403] * 60 + [429]
    assert [guesser.post(f"{where}resume/", wrong).status_code for _ in range(61)] == [409] * 60 + [429]
    assert honest.post(where, wrong).status_code == 403
    assert honest.post(f"{where}resume/", wrong).status_code == 409
    assert honest.post(where, {"name": "ada", "code": CODE, "consent": "on"}).status_code == 303
    for client in (guesser, honest):
        client.cookies.clear()
    joined = by_call(study, "grace", CODE, address)
    assert joined == 201


def test_the_right_resume_code_is_never_refused(limits: Callable[..., None], address: str) -> None:
    limits(resume="3/10 minutes")
    study = make_study()
    call = {"worker": "ada", "consent": True}
    where = f"/api/studies/{study.slug}/join/"
    resume = Client().post(where, call, content_type="application/json").json()["resume"]
    browser = Client(REMOTE_ADDR=address)
    for _ in range(4):
        wrong = browser.post(where, {"worker": "ada", "resume": "wrong"}, content_type="application/json")
    assert wrong.status_code == 429
    right = browser.post(where, {"worker": "ada", "resume": resume}, content_type="application/json")
    assert "token" in right.json()


def test_right_codes_do_not_count(limits: Callable[..., None], address: str) -> None:
    limits(code="5/10 minutes")
    study = make_study(access={"join": "code", "code": CODE})
    assert {by_call(study, f"w{n}", CODE, address) for n in range(12)} == {201}


def test_one_address_cannot_take_every_place_of_a_study(limits: Callable[..., None], address: str) -> None:
    limits(join="8/10 minutes")
    study, other = make_study(), make_study(name="Other")
    assert [by_call(study, f"w{n}", "", address) for n in range(10)] == [201] * 8 + [429] * 2
    assert by_call(other, "v", "", address) == 201


def test_resume_codes_cannot_be_guessed(limits: Callable[..., None], address: str) -> None:
    limits(resume="3/10 minutes")
    study = make_study()
    browser = Client(REMOTE_ADDR=address)
    form = {"name": "w", "resume": "wrong"}
    browser.get(f"/s/{study.slug}/")
    found = [browser.post(f"/s/{study.slug}/resume/", form).status_code for _ in range(4)]
    assert found == [409, 409, 409, 429]


@pytest.mark.parametrize("length", [40, 43, 50])  # of an old token, a worker's, and one with scopes
def test_unknown_tokens_are_refused_with_fewer_words_after_a_while(
    limits: Callable[..., None], address: str, length: int
) -> None:
    limits(token="3/10 minutes")
    token = "x" * length if length < 50 else KEY_PREFIX + "x" * 43
    browser = Client(REMOTE_ADDR=address, headers={"Authorization": f"Token {token}"})
    assert [browser.get("/api/studies/").status_code for _ in range(4)] == [401, 401, 401, 429]


def test_calls_of_one_address_are_limited_and_pages_are_not(
    limits: Callable[..., None], address: str
) -> None:
    limits(api="3/10 minutes")
    browser = Client(REMOTE_ADDR=address)
    replies = [browser.get("/api/nowhere/") for _ in range(4)]
    assert [reply.status_code for reply in replies] == [404, 404, 404, 429]
    assert replies[3].headers["Content-Type"] == "application/problem+json"
    assert "Too many attempts" in replies[3].json()["detail"]
    assert 0 < int(replies[3].headers["Retry-After"]) <= 600
    assert browser.get("/").status_code == 200
    assert Client(REMOTE_ADDR="203.0.113.9").get("/api/nowhere/").status_code == 404


def test_a_limit_of_many_calls_is_one_too(
    limits: Callable[..., None], address: str, standing_clock: None
) -> None:
    limits(api="1001/10 minutes")
    with visiting_from(address):
        for _ in range(1001):
            count_use("api")
    assert Client(REMOTE_ADDR=address).get("/api/nowhere/").status_code == 429


def test_large_bodies_of_one_address_are_limited(limits: Callable[..., None], address: str) -> None:
    limits(upload="2/10 minutes")
    study = make_study()
    browser = Client(REMOTE_ADDR=address)
    large, small = {"name": "w", "code": "x" * 100_000}, {"name": "w", "code": "x" * 1_000}
    where = f"/s/{study.slug}/"
    assert [browser.post(where, large).status_code for _ in range(3)] == [400, 400, 429]
    refused = browser.post(where, large)
    assert "Too many attempts" in refused.content.decode()
    assert 0 < int(refused.headers["Retry-After"]) <= 600
    assert browser.post("/api/imports/", large, content_type="application/json").status_code == 429
    assert browser.post(where, small).status_code == 400


class SignsNobodyIn(ModelBackend):
    """While it looks at the first attempt, a second one from the same address comes and goes."""

    under_way = False

    def authenticate(self, request: HttpRequest | None, *credentials: Any, **more: Any) -> None:
        if not BesideAnother.under_way and request is not None:
            BesideAnother.under_way = True
            Client(REMOTE_ADDR=request.META["REMOTE_ADDR"]).post(
                "/admin/login/", {"username": "designer", "password": "wrong too"}
            )


class BesideAnother(LimitedBackend, SignsNobodyIn):
    pass


def test_without_its_redis_each_process_counts_alone(
    limits: Callable[..., None],
    settings: Settings,
    address: str,
    caplog: pytest.LogCaptureFixture,
    standing_clock: None,
) -> None:
    limits(**dict.fromkeys(settings.LIMITS, "3/10 minutes") | {"api": "1001/10 minutes"})
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"  # where nobody listens
    study = make_study(access={"join": "code", "code": CODE})
    assert [by_call(study, "w", "wrong", address) for _ in range(4)] == [403] * 3 + [429]
    with visiting_from(address):
        for name in settings.LIMITS:
            if name == "api":
                for _ in range(998):
                    count_use("api", "somebody else")
            for _ in range(3):
                count_use(name, "somebody else")
            with pytest.raises(TooManyAttempts):
                count_use(name, "somebody else")
    said = [one for one in caplog.messages if "does not answer" in one]
    assert len(said) == 1  # it is not asked at each attempt


class TestLogin:
    def log_in(self, name: str, password: str, address: str, **extra: Any) -> tuple[int, str]:
        reply = Client(REMOTE_ADDR=address, **extra).post(
            "/admin/login/", {"username": name, "password": password}
        )
        return reply.status_code, reply.content.decode()

    def test_wrong_passwords_lock_the_account_for_this_address(
        self, limits: Callable[..., None], address: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        limits(login="4/15 minutes", logins="60/15 minutes")
        for name in ("designer", "other"):
            User.objects.create_superuser(name, password="the right one")
        for _ in range(4):
            status, page = self.log_in("designer", "wrong", address)
            assert (status, "Too many attempts" in page) == (200, False)
        for name in ("designer", "Designer"):
            status, page = self.log_in(name, "the right one", address)
            assert (status, "Too many attempts" in page) == (200, True)
        assert f"login (4 per 15 minute) is reached by {address}, of " in caplog.text
        assert self.log_in("other", "the right one", address)[0] == 302
        assert self.log_in("designer", "the right one", "203.0.113.9")[0] == 302

    def test_attempts_at_once_are_refused_in_the_same_sentence(
        self, limits: Callable[..., None], settings: Settings, address: str
    ) -> None:
        limits(login="1/15 minutes")
        settings.AUTHENTICATION_BACKENDS = [f"{__name__}.BesideAnother"]
        status, page = self.log_in("designer", "wrong", address)
        assert (status, "Too many attempts" in page) == (200, True)

    def test_an_address_cannot_try_one_account_after_the_other(
        self, limits: Callable[..., None], address: str
    ) -> None:
        limits(login="4/15 minutes", logins="6/15 minutes")
        User.objects.create_superuser("designer", password="the right one")
        for number in range(6):
            self.log_in(f"a{number}", "wrong", address)
        assert self.log_in("designer", "the right one", address)[0] == 200

    def test_behind_a_proxy_the_visitor_counts_and_cannot_choose_an_address(
        self, limits: Callable[..., None], settings: Settings, address: str
    ) -> None:
        limits(login="2/15 minutes")
        settings.PROXIES = 1
        User.objects.create_superuser("designer", password="the right one")
        for number in range(2):
            self.log_in("designer", "wrong", "10.0.0.1", HTTP_X_FORWARDED_FOR=f"192.0.2.{number}, {address}")
        forged = {"HTTP_X_FORWARDED_FOR": f"192.0.2.77, {address}"}
        assert self.log_in("designer", "the right one", "10.0.0.1", **forged)[0] == 200
        assert (
            self.log_in("designer", "the right one", "10.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.1")[0] == 302
        )

    @pytest.mark.parametrize(
        ("passed", "neighbour"),
        [
            ("192.0.2.7:50123", "192.0.2.8:50123"),
            ("[2001:db8::7]:50123", "[2001:db8:0:1::7]:50123"),
            ("[2001:db8::7]", "[2001:db8:0:1::7]"),
            ("::ffff:192.0.2.7", "::ffff:192.0.2.8"),
            ("unknown", "192.0.2.8"),
        ],
    )
    def test_a_proxy_may_write_ports_or_no_address(
        self, limits: Callable[..., None], settings: Settings, passed: str, neighbour: str
    ) -> None:
        limits(login="2/15 minutes")
        settings.PROXIES = 1
        User.objects.create_superuser("designer", password="the right one")
        for port in "12":
            address = passed.replace("50123", f"5012{port}")
            self.log_in("designer", "wrong", "10.0.0.1", HTTP_X_FORWARDED_FOR=address)
        assert self.log_in("designer", "the right one", "10.0.0.1", HTTP_X_FORWARDED_FOR=passed)[0] == 200
        assert self.log_in("designer", "the right one", "10.0.0.1", HTTP_X_FORWARDED_FOR=neighbour)[0] == 302

    def test_a_name_is_logged_as_a_mark_since_people_type_passwords_there(
        self, limits: Callable[..., None], address: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        limits(login="1/15 minutes")
        for typed in ("my secret\n2026-01-01 INFO forged\x1b[2J", "another"):
            for _ in range(2):
                self.log_in(typed, "wrong", address)
        lines = [line for line in caplog.messages if "is reached by" in line]
        assert len(set(lines)) == 2  # each name has a mark of its own
        assert not any(word in line for line in lines for word in ("secret", "forged", "\x1b", "another"))


def test_a_customer_with_a_48_has_four_times_the_limit_of_an_address(limits: Callable[..., None]) -> None:
    limits(join="5/10 minutes")
    study = make_study()
    joined = [by_call(study, f"w{n}", "", f"2001:db8:77:{n:x}::1") for n in range(40)]
    assert joined == [201] * 20 + [429] * 20
    assert by_call(study, "neighbour", "", "2001:db8:78::1") == 201
    household = [by_call(study, f"v{n}", "", f"2001:db8:79:1::{n:x}") for n in range(1, 8)]
    assert household == [201] * 5 + [429] * 2

"""The client of services: what it repeats, what it never repeats, and what it keeps to itself."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from common.http.client import CallFailed, Client, Retries
from common.http.direct import DirectTransport

SECRET = "a-token-of-ours"
FOUR = Retries(4, pause=0.0)


class Service(httpx.BaseTransport):
    """A service that gives its answers one after another."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers, self.asked = list(answers), list[httpx.Request]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def client(service: httpx.BaseTransport, **options: Any) -> Client:
    credentials = {"Authorization": f"Bearer {SECRET}"}
    return Client(
        "https://service.example/api", seconds=1.0, credentials=credentials, secret=SECRET, transport=service, **options
    )  # fmt: skip


@pytest.mark.parametrize("fault", [httpx.Response(503), httpx.Response(408), httpx.ReadError("cut")])
def test_what_may_be_repeated_is_and_all_else_is_sent_once(fault: httpx.Response | Exception) -> None:
    service = Service(fault, fault, httpx.Response(200, content=b"done"))
    opened: list[int] = []
    with client(service) as calls:
        answer = calls.send(
            "PUT", "file", content=lambda: iter([b"one ", b"file"]), headers={"Content-Length": "8"}, retries=FOUR,
            before_next=lambda: opened.append(1),
        )  # fmt: skip
    assert (answer.status, answer.content, len(opened)) == (200, b"done", 2)
    assert [request.content for request in service.asked] == [b"one file"] * 3
    service = Service(fault, httpx.Response(200))
    with client(service) as calls:
        if isinstance(fault, Exception):
            with pytest.raises(CallFailed) as failed:
                calls.send("POST", "payments", body={"cents": 5}, retries=FOUR)
            assert failed.value.was_sent
        else:
            assert calls.send("POST", "payments", body={"cents": 5}, retries=FOUR).status == fault.status_code
    assert len(service.asked) == 1


@pytest.mark.parametrize("fault", [httpx.Response(429), httpx.ConnectError("away"), httpx.ConnectTimeout("")])
def test_what_was_not_taken_is_sent_again_whatever_it_is(fault: httpx.Response | Exception) -> None:
    service = Service(fault, httpx.Response(201))
    with client(service) as calls:
        assert calls.send("POST", "payments", retries=FOUR).status == 201
    service = Service(*[fault] * 5)
    with client(service) as calls:
        if isinstance(fault, Exception):
            with pytest.raises(CallFailed, match="cannot be reached") as failed:
                calls.send("POST", "payments", retries=FOUR)
            assert not failed.value.was_sent
        else:
            assert calls.send("POST", "payments", retries=FOUR).status == 429
    assert len(service.asked) == FOUR.tries


def test_a_call_is_made_once_unless_more_is_asked_for() -> None:
    service = Service(httpx.Response(503))
    with client(service) as calls:
        assert calls.send("GET", "list").status == 503


def test_a_pause_that_the_service_asks_for_is_kept_or_left_to_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paused: list[float] = []
    monkeypatch.setattr("common.http.client.time.sleep", paused.append)
    busy = [httpx.Response(503, headers={"Retry-After": wait}) for wait in ("7", "0", "3600")]
    service = Service(*busy)
    with client(service) as calls:
        answer = calls.send("GET", "list", retries=Retries(9, pause=2.0, max_pause=60.0))
    assert (answer.status, answer.wait_seconds, paused) == (503, 3600.0, [7.0, 4.0])


def test_credentials_go_to_the_service_alone_and_come_back_from_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "common.http")
    refused = httpx.Response(403, content=f"Bearer {SECRET} is not known".encode())
    service = Service(refused, httpx.Response(503), httpx.Response(200))
    with client(service) as calls:
        assert calls.send("GET", "list").content == b"Bearer *** is not known"
        calls.send("PUT", "https://store.example/key=of-a-store", content=b"1", retries=FOUR)
    own, *elsewhere = service.asked
    assert (str(own.url), own.headers["Authorization"]) == (
        "https://service.example/api/list",
        f"Bearer {SECRET}",
    )
    assert [request.headers.get("Authorization") for request in elsewhere] == [None, None]
    assert "store.example answers 503; it is asked again" in caplog.text
    assert "of-a-store" not in caplog.text


def test_redirects_are_answers() -> None:
    service = Service(httpx.Response(302, headers={"Location": "http://127.0.0.1/"}))
    with client(service) as calls:
        assert calls.send("GET", "list").status == 302


def test_an_answer_ends_by_its_size_and_its_time() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            time.sleep(0.01)
            yield b"x" * 100

    for options in ({"max_bytes": 1000}, {"limits_whole_time": True}):
        service = Service(httpx.Response(200, content=endless()))
        with client(service, **options) as calls, pytest.raises(CallFailed, match="does not end") as failed:
            calls.send("GET", "list")
        assert failed.value.was_sent


@contextmanager
def dripping(first: bytes) -> Iterator[int]:
    """A port where whoever comes is sent ``first``, and then a byte every so often."""
    over = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            try:
                connection.sendall(first)
                while not over.wait(0.05):
                    connection.sendall(b"x")
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=[server], daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(
    ("scheme", "first"),
    [
        ("http", b"HTTP/1.1 200 OK\r\nX-Long: "),
        (
            "https",
            b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc",
        ),  # the beginning of a server's hello, in a record of 16 KiB
    ],
)
def test_a_direct_call_ends_in_time_in_whatever_part_the_other_side_lingers(
    scheme: str, first: bytes
) -> None:
    with dripping(first) as port:
        transport = DirectTransport(seconds=0.4, private=True)
        began = time.monotonic()
        with Client(seconds=9.0, transport=transport) as calls, pytest.raises(CallFailed) as failed:
            calls.send("POST", f"{scheme}://127.0.0.1:{port}/", content=b"{}")
        assert failed.value.is_late
        assert 0.3 < time.monotonic() - began < 3


def test_a_direct_call_connects_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [[(2, 1, 6, "", ("93.184.215.14", 443))], [(2, 1, 6, "", ("127.0.0.1", 443))]]
    connected: list[Any] = []

    def connects(address: Any, *_: Any, **__: Any) -> None:
        connected.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: answers.pop(0))
    monkeypatch.setattr("socket.create_connection", connects)
    transport = DirectTransport(seconds=1.0, private=False)
    with Client(seconds=1.0, transport=transport) as calls, pytest.raises(CallFailed) as failed:
        calls.send("POST", "https://rebinding.example/", content=b"")
    assert connected == [("93.184.215.14", 443)]
    assert (failed.value.was_sent, failed.value.reason) == (False, "Connection refused")


def test_a_name_that_is_none_fails_as_any_other() -> None:
    for name in ("a" * 64 + ".example", "x" * 300 + ".example"):
        transport = DirectTransport(seconds=1.0, private=False)
        with Client(seconds=1.0, transport=transport) as calls, pytest.raises(CallFailed) as failed:
            calls.send("POST", f"https://{name}/", content=b"")
        assert not failed.value.was_sent

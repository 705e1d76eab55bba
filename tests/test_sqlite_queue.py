"""Writers queue before SQLite; the queue ends with its process, and never keeps anybody from SQLite's own lock."""

import io
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import reverse

from config.middleware import LARGE_BODY, WriteQueueMiddleware
from tests.installations import Installation

WRITE = """
import fcntl, os, signal, threading, time
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from common.sqlite import base
from common.sqlite.queue import NEXT_BYTE, TURN_BYTE
from judgments.models import Dataset
queue = f"{settings.DATABASES['default']['NAME']}-queue"

def write(name):
    with transaction.atomic():
        Dataset.objects.create(name=name, source_format="jsonl", fingerprint="")
    connection.close()

def in_child(action):
    child = os.fork()
    if not child:
        action()
        os._exit(0)
    return child

def is_free(byte=TURN_BYTE):  # asked by a child, as the lock belongs to a process
    def ask():
        try:
            fcntl.lockf(os.open(queue, os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except BlockingIOError:
            os._exit(1)
    return os.waitpid(in_child(ask), 0)[1] == 0
"""


def test_a_transaction_leaves_the_queue_however_it_ends(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    said = installation.python(
        f"""{WRITE}
write("first")
ends = [is_free()]
try:
    with transaction.atomic():
        ends.append(is_free())
        Dataset.objects.create(name="first", source_format="jsonl", fingerprint="")
except IntegrityError:
    ends.append(is_free())
with transaction.atomic():  # a child that keeps the file open does not keep the turn
    child = in_child(signal.pause)
ends.append(is_free())
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)

def die():
    connection.connect()
    transaction.atomic().__enter__()
    os.kill(os.getpid(), signal.SIGKILL)

os.waitpid(in_child(die), 0)
ends.append(is_free())
threads = [threading.Thread(target=write, args=(f"thread-{{number}}",)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(ends, Dataset.objects.count(), oct(os.stat(queue).st_mode & 0o777))
"""
    )
    assert said == "[True, False, True, True, True] 9 0o600"


def test_processes_and_threads_write_in_the_order_in_which_they_came(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    said = installation.python(
        f"""{WRITE}
def until(what):
    while not what():
        time.sleep(0.01)

connection.close()
base.QUEUE_SECONDS = 600
waits, begin = os.pipe()
other = in_child(lambda: (os.read(waits, 1), write("another process")))
with transaction.atomic():
    os.write(begin, b"!")
    until(lambda: not is_free(NEXT_BYTE))
    threads = [threading.Thread(target=write, args=(f"thread {{number}}",)) for number in range(4)]
    for number, thread in enumerate(threads, 2):
        thread.start()
        until(lambda: len(base._queues[queue]._threads) == number)
for thread in threads: thread.join()
os.waitpid(other, 0)
print(*Dataset.objects.order_by("pk").values_list("name", flat=True), sep=", ")
"""
    )
    assert said == "another process, thread 0, thread 1, thread 2, thread 3"


def test_who_waited_too_long_in_the_queue_writes_all_the_same(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    said = installation.python(
        f"""{WRITE}
base.QUEUE_SECONDS = 0.05
write("zero")
asked, held = os.pipe()

def hold():
    fcntl.lockf(os.open(queue, os.O_RDWR), fcntl.LOCK_EX, 1, TURN_BYTE)
    os.write(held, b"!")
    signal.pause()

child = in_child(hold)
os.read(asked, 1)

class Interrupted(Exception):
    pass

def interrupt(*_):
    raise Interrupted

signal.signal(signal.SIGUSR1, interrupt)
waiting = base._queues[queue]._threads

def disturb():
    while not waiting:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGUSR1)

base.QUEUE_SECONDS = 600
thread = threading.Thread(target=disturb)
thread.start()
try:
    write("never")
except Interrupted:
    assert not waiting  # or all who come later would wait for it
thread.join()
base.QUEUE_SECONDS = 0.05
write("first")
write("second")
print(Dataset.objects.count(), is_free())
os.kill(child, signal.SIGKILL)
"""
    )
    assert said == "3 False"


class SlowBody(io.BytesIO):
    """A body of two bytes that comes once ``sent`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.sent = threading.Event(), threading.Event()

    def read(self, size: int | None = -1, /) -> bytes:
        self.asked.set()
        assert self.sent.wait(60)
        return b"{}"


def test_submissions_are_computed_one_at_a_time_and_a_slow_sender_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second one inside would raise; while one body is on its way the others are answered."""
    monkeypatch.setattr("config.middleware.QUEUE_SECONDS", 600)
    inside = threading.Lock()

    def view(request: HttpRequest) -> HttpResponse:
        if not inside.acquire(blocking=False):
            raise AssertionError("two at a time")
        time.sleep(0.002)  # lets the others come
        inside.release()
        return HttpResponse(request.body)

    answer = WriteQueueMiddleware(view)
    path = f"/api/assignments/{uuid.uuid4()}/submit/"
    slow = RequestFactory().post(path, "{}", content_type="application/json")
    body = SlowBody()
    slow._stream = body
    with ThreadPoolExecutor(9) as people:
        late = people.submit(answer, slow)
        assert body.asked.wait(60)
        others = [people.submit(answer, RequestFactory().post(path, {"value": 1})) for _ in range(32)]
        assert [one.result(60).status_code for one in others] == [200] * 32
        assert not late.done()
        body.sent.set()
        assert late.result(60).status_code == 200


@pytest.mark.parametrize(
    ("method", "name", "size"),
    [
        ("GET", "annotation:work", 0),
        ("POST", "annotation:work", LARGE_BODY),
        ("POST", "api:do-close", 2),
    ],
)
def test_pages_large_files_and_work_of_the_team_do_not_wait_for_submissions(
    method: str, name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.middleware.QUEUE_SECONDS", 600)
    answer = WriteQueueMiddleware(lambda request: HttpResponse())
    turn = answer.queue.wait(600)  # as of a submission that is being computed
    assert turn is not None
    with ThreadPoolExecutor(1) as people:
        request = RequestFactory().generic(method, reverse(name, args=["one"]), "x" * size)
        reply = people.submit(answer, request)
        try:
            assert reply.result(10).status_code == 200
        finally:
            turn.end()


def test_a_submission_whose_body_breaks_off_or_whose_view_fails_ends_its_turn() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        raise RuntimeError(request.read())

    class Cut(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError("connection reset")

    answer = WriteQueueMiddleware(view)
    for _ in range(2):
        request = RequestFactory().post("/s/one/start/", "{}", content_type="application/json")
        request._stream = Cut()
        assert answer(request).status_code == 400  # no view could read the rest
        with pytest.raises(RuntimeError):
            answer(RequestFactory().post("/s/one/start/", {"value": 1}))
    assert not answer.queue._threads

"""Writers queue before SQLite; the queue ends with its process, and never keeps anybody from SQLite's own lock."""

from collections.abc import Callable

from tests.installations import Installation

WRITE = """
import fcntl, os, signal, threading, time
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from common.sqlite import base
from judgments.models import Dataset
queue = f"{settings.DATABASES['default']['NAME']}-queue"

def write(name):
    with transaction.atomic():
        Dataset.objects.create(name=name, source_format="jsonl", fingerprint="")
    connection.close()

def is_free():
    with open(queue, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
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
with transaction.atomic():  # a child that keeps the file open does not keep the place
    child = os.fork()
    if not child:
        signal.pause()
ends.append(is_free())
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
child = os.fork()
if not child:
    connection.connect()
    transaction.atomic().__enter__()
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
ends.append(is_free())
threads = [threading.Thread(target=write, args=(f"thread-{{number}}",)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(ends, Dataset.objects.count(), oct(os.stat(queue).st_mode & 0o777))
"""
    )
    assert said == "[True, False, True, True, True] 9 0o600"


def test_who_waited_too_long_in_the_queue_writes_all_the_same(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    said = installation.python(
        f"""{WRITE}
base.PATIENCE = 0.05
file = open(queue, "a")
fcntl.flock(file, fcntl.LOCK_EX)
write("first")
write("second")
print(Dataset.objects.count())
"""
    )
    assert said == "2"

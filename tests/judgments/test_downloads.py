"""Downloads that break off and go on: ranges, validators, and what is refused."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from django.core.signals import request_finished
from django.db import close_old_connections
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from common.downloads import file_download
from tests.installations import Installation

CONTENT = bytes(range(256)) * 40  # more than one block
SIZE = len(CONTENT)
LONG_AGO = 1_700_000_000
WHEN = "Tue, 14 Nov 2023 22:13:20 GMT"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("downloads") / "out.bin"
    made.write_bytes(CONTENT)
    os.utime(made, (LONG_AGO, LONG_AGO))
    return made


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes

    def __getitem__(self, name: str) -> str:
        return self.headers[name]


def ask(path: Path, method: str = "GET", **headers: str) -> Answer:
    """What the helper answers, read to its end and closed."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = RequestFactory().generic(method, "/", headers=named)
    response = file_download(request, path, name="out.bin", content_type="application/octet-stream")
    answer = Answer(response.status_code, dict(response.headers), response.getvalue())
    # As Django's own test client: there is no database here.
    request_finished.disconnect(close_old_connections)
    response.close()
    request_finished.connect(close_old_connections)
    return answer


def test_the_whole_file_says_how_it_can_be_gone_on_with(path: Path) -> None:
    whole = ask(path)
    assert (whole.status, whole.content) == (200, CONTENT)
    assert whole["Accept-Ranges"] == "bytes"
    assert whole["Content-Length"] == str(SIZE)
    assert whole["Last-Modified"] == WHEN
    assert whole["ETag"].startswith('"')  # a strong one
    assert whole["Content-Disposition"] == 'attachment; filename="out.bin"'
    assert "private" in whole["Cache-Control"]


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=5000-", 5000, SIZE - 1),
        ("bytes=9-20", 9, 20),
        ("bytes=0-", 0, SIZE - 1),
        (f"bytes=10-{SIZE * 9}", 10, SIZE - 1),
        ("bytes=-5", SIZE - 5, SIZE - 1),
        (f"bytes=-{SIZE * 9}", 0, SIZE - 1),
        ("Bytes = 7 - 8", 7, 8),
    ],
)
def test_a_range_is_given(asked: str, start: int, end: int, path: Path) -> None:
    part = ask(path, Range=asked)
    assert (part.status, part["Content-Range"]) == (206, f"bytes {start}-{end}/{SIZE}")
    assert part["Content-Length"] == str(end - start + 1)
    assert part["Content-Type"] == "application/octet-stream"
    assert part["Content-Disposition"] == 'attachment; filename="out.bin"'
    assert part.content == CONTENT[start : end + 1]


@pytest.mark.parametrize(
    "asked", [f"bytes={SIZE}-", f"bytes={SIZE}-{SIZE + 5}", "bytes=-0", "bytes=9999999999999999999-"]
)
def test_a_range_behind_the_end_is_refused(asked: str, path: Path) -> None:
    refused = ask(path, Range=asked)
    assert (refused.status, refused["Content-Range"]) == (416, f"bytes */{SIZE}")
    assert refused["Content-Type"] == "application/problem+json"
    assert f"{SIZE} bytes".encode() in refused.content


NO_RANGES = [
    "bytes=5-2", "bytes=-", "bytes=", "bytes=a-b", "bytes=1-2,5-6", "lines=1-2", f"bytes={'9' * 5000}-", "5-9",
    "bytes=\N{ARABIC-INDIC DIGIT THREE}-",
]  # fmt: skip


@pytest.mark.parametrize("asked", NO_RANGES)
def test_what_is_no_single_range_gets_the_whole_file(asked: str, path: Path) -> None:
    whole = ask(path, Range=asked)
    assert (whole.status, whole.content) == (200, CONTENT)


@given(st.text(max_size=30))
def test_no_header_breaks_a_download(path: Path, text: str) -> None:
    for headers in ({"Range": text}, {"Range": f"bytes={text}"}, {"Range": "bytes=1-", "If-Range": text}):
        answer = ask(path, **headers)
        assert answer.status in (200, 206, 416)


def test_if_range_gives_the_rest_of_the_same_file_and_another_one_whole(path: Path) -> None:
    etag = ask(path)["ETag"]
    for same in (etag, WHEN):
        assert ask(path, Range="bytes=9-", If_Range=same).status == 206
    for other in ('"other"', f"W/{etag}", "Tue, 14 Nov 2023 22:13:19 GMT", "yesterday"):
        assert ask(path, Range="bytes=9-", If_Range=other).status == 200


def test_a_file_that_was_replaced_has_another_etag(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"one")
    os.utime(path, ns=(0, LONG_AGO * 10**9))
    first = ask(path)["ETag"]
    path.write_bytes(b"two")
    os.utime(path, ns=(0, LONG_AGO * 10**9 + 5))  # the same second
    assert ask(path)["ETag"] != first
    whole = ask(path, Range="bytes=1-", If_Range=first)
    assert (whole.status, whole.content) == (200, b"two")


def test_whoever_has_it_is_told_so_and_whoever_wants_another_one_as_well(path: Path) -> None:
    etag = ask(path)["ETag"]
    for headers in ({"If_None_Match": etag}, {"If_Modified_Since": WHEN}):
        answer = ask(path, **headers)
        assert (answer.status, answer["ETag"], answer.content) == (304, etag, b"")
    refused = ask(path, If_Match='"other"', Range="bytes=1-")
    assert (refused.status, refused["Content-Type"]) == (412, "application/problem+json")
    assert ask(path, If_Match=etag, Range="bytes=1-").status == 206


def test_a_range_is_of_get_alone(path: Path) -> None:
    head = ask(path, "HEAD", Range="bytes=1-")
    assert (head.status, head["Content-Length"]) == (200, str(SIZE))


def test_nothing_is_behind_the_end_of_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    assert ask(path, Range="bytes=0-").status == 416
    assert ask(path).content == b""


EXPORTED = """
from django.contrib.auth.models import User
from annotation.models import Worker
from judgments.jobs.queues import enqueue
from judgments.jobs.claims import run_job
from judgments.access.tokens import SCOPES, create_token
from tests.evaluation.studies import StudyOf, make_dataset
made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog runs"]}), "relevance")
hit = made.hit("h1", [made.unit(f"u{place}", "a.jpg", first=f"text {place}") for place in range(300)])
made.answer(hit, "zoe", [1] * 300)
user = User.objects.create_superuser("grace")
job = enqueue(kind="export", args={"study": made.study.slug, "format": "jsonl"}, user=user)
assert run_job(job.pk)
print(job.pk, create_token(user=user, name="client", scopes=list(SCOPES))[1])
"""


def test_a_broken_download_goes_on_over_http(live_server_on: Callable[[str], Installation]) -> None:
    site = live_server_on("sqlite")
    job, key = site.python(EXPORTED).splitlines()[-1].split()
    place = f"/api/exports/{job}/download/"
    headers = {"Authorization": f"Token {key}", "Accept-Encoding": "identity"}
    with httpx.Client(base_url=site.url, headers=headers, timeout=60) as client:
        with client.stream("GET", place) as answer:
            half = next(answer.iter_raw(20_000))
            etag, size = answer.headers["ETag"], int(answer.headers["Content-Length"])
        rest = client.get(place, headers={"Range": f"bytes={len(half)}-", "If-Range": etag})
        assert (rest.status_code, rest.headers["Content-Range"]) == (
            206,
            f"bytes {len(half)}-{size - 1}/{size}",
        )
        assert half + rest.content == client.get(place).content
        assert len(half) < 40_000 < size
        assert client.get(place, headers={"Range": f"bytes={size}-"}).status_code == 416

"""The workers' site: what frames get, what is posted back, for scripts and for a real browser."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from defusedxml.ElementTree import fromstring

from tests.fakes.mturk import MTurkEmulator, Refused
from tests.fakes.mturk.web import posted
from tests.fakes.turking import SCHEMAS, external, put_up
from tests.refusals import refuses

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

FORM = (
    f'<QuestionForm xmlns="{SCHEMAS}2017-11-06/QuestionForm.xsd"><Question>'
    "<QuestionIdentifier>best</QuestionIdentifier><QuestionContent><Text>Which is best?</Text></QuestionContent>"
    "<AnswerSpecification><SelectionAnswer><Selections><Selection><SelectionIdentifier>a</SelectionIdentifier>"
    "<Text>The first</Text></Selection><Selection><SelectionIdentifier>b</SelectionIdentifier>"
    "<Text>The second</Text></Selection></Selections></SelectionAnswer></AnswerSpecification></Question>"
    "<Question><QuestionIdentifier>why</QuestionIdentifier><AnswerSpecification><FreeTextAnswer/>"
    "</AnswerSpecification></Question></QuestionForm>"
)


def answers(document: str) -> dict[str, str | None]:
    """The answers of a QuestionFormAnswers document, by field."""
    space = f"{{{SCHEMAS}2005-10-01/QuestionFormAnswers.xsd}}"
    return {
        answer.findtext(f"{space}QuestionIdentifier", ""): answer[1].text
        for answer in fromstring(document).iter(f"{space}Answer")
    }


def read(client: MTurkClient, assignment_id: str) -> dict[str, str | None]:
    """What the requester gets to read."""
    return answers(client.get_assignment(AssignmentId=assignment_id)["Assignment"]["Answer"])


def test_a_preview_has_no_assignment_and_no_worker(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client, Question=external("https://quorum.example/work?study=a&b=1#top"))["HITId"]
    seen = emulator.turker("AANN").preview(hit_id)
    parts = urlsplit(seen.url)
    assert (parts.netloc, parts.path, parts.fragment, seen.height) == ("quorum.example", "/work", "top", 600)
    assert parse_qs(parts.query) == {
        "study": ["a"],
        "b": ["1"],
        "assignmentId": ["ASSIGNMENT_ID_NOT_AVAILABLE"],
        "hitId": [hit_id],
    }
    assert emulator.dump()["hits"][0]["turns"] == []


def test_an_accepted_page_knows_who_works_at_what(emulator: MTurkEmulator, client: MTurkClient) -> None:
    hit_id = put_up(client)["HITId"]
    taken = emulator.turker("AANN").accept(hit_id)
    assert parse_qs(urlsplit(taken.url).query) == {
        "assignmentId": [taken.assignment_id],
        "hitId": [hit_id],
        "workerId": ["AANN"],
        "turkSubmitTo": [emulator.endpoint_url],
    }


def test_answers_come_as_a_document(emulator: MTurkEmulator, client: MTurkClient) -> None:
    ann = emulator.turker("AANN")
    taken = ann.accept(put_up(client)["HITId"])
    ann.submit(
        taken.assignment_id,
        [("caption", 'Größe <b> & "日本"\x00\U0001f600'), ("tags", "dog"), ("tags", "cat"), ("empty", "")],
    )
    document = client.get_assignment(AssignmentId=taken.assignment_id)["Assignment"]["Answer"]
    assert document.isascii()
    assert answers(document) == {
        "caption": 'Größe <b> & "日本"\U0001f600',
        "tags": "dog|cat",
        "empty": None,
    }


def test_a_form_counts_once(emulator: MTurkEmulator, client: MTurkClient) -> None:
    ann, ben = emulator.turker("AANN"), emulator.turker("ABEN")
    taken = ann.accept(put_up(client)["HITId"]).assignment_id
    with pytest.raises(Refused, match="assigned") as caught:
        ben.submit(taken, {"a": "1"})
    assert caught.value.status == 403
    with pytest.raises(Refused, match="problem submitting"):
        ann.submit(taken, {})
    with pytest.raises(Refused, match="problem submitting"):
        ann.submit("ASSIGNMENT_ID_NOT_AVAILABLE", {"a": "1"})
    with pytest.raises(Refused, match="no such assignment"):
        ann.submit("3MADEUP", {"a": "1"})
    ann.submit(taken, {"a": "1"})
    with refuses(Refused, "submitted", "returned", "abandoned"):
        ann.submit(taken, {"a": "2"})
    assert read(client, taken) == {"a": "1"}


def test_late_and_returned_work_is_refused(emulator: MTurkEmulator, client: MTurkClient) -> None:
    ann = emulator.turker("AANN")
    late = ann.accept(put_up(client)["HITId"]).assignment_id
    emulator.clock.advance(600)
    with refuses(Refused, "submitted", "returned", "abandoned"):
        ann.submit(late, {"a": "1"})
    returned = ann.accept(put_up(client)["HITId"]).assignment_id
    ann.return_(returned)
    with refuses(Refused, "submitted", "returned", "abandoned"):
        ann.submit(returned, {"a": "1"})
    with pytest.raises(Refused, match="assigned"):
        ann.return_(returned)


def test_a_worker_holds_25_at_most(emulator: MTurkEmulator, client: MTurkClient) -> None:
    ann = emulator.turker("AANN")
    hits = [put_up(client)["HITId"] for _ in range(26)]
    for hit_id in hits[:25]:
        ann.accept(hit_id)
    with pytest.raises(Refused, match="hold 25"):
        ann.accept(hits[25])


def test_a_worker_id_looks_like_one(emulator: MTurkEmulator) -> None:
    with pytest.raises(Refused, match="no Worker ID") as caught:
        emulator.turker("somebody").hits()
    assert caught.value.status == 400


def test_forms_are_read_in_both_encodings() -> None:
    body = (
        b"--cut\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
        b"--cut\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\ntwo\r\nlines\r\n--cut--\r\n"
    )  # fmt: skip
    assert posted("multipart/form-data; boundary=cut", body) == [("a", "1"), ("b", "two\r\nlines")]
    assert posted("application/x-www-form-urlencoded", b"a=1&a=%C3%A4&b=") == [
        ("a", "1"),
        ("a", "ä"),
        ("b", ""),
    ]


@contextmanager
def serving(html: bytes) -> Iterator[str]:
    """A page of somebody else, on `localhost`, which is another site than 127.0.0.1."""

    class Somebody(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Somebody)
    server.daemon_threads = True  # browsers open connections that they may never use
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://localhost:{server.server_address[1]}/work"
    server.shutdown()
    thread.join()
    server.server_close()

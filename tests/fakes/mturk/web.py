"""The workers' site over HTTP: the same addresses answer people with HTML and scripts with JSON."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.fakes.mturk import pages
from tests.fakes.mturk.faults import FaultPlan
from tests.fakes.mturk.replies import Reply, struck_after, struck_before
from tests.fakes.mturk.site import PREVIEW, Frame, Site, SiteRefusal

COOKIE = "mturk-worker"  # cookies do not tell ports apart: a name that no page under test has
SUBMIT = "/mturk/externalSubmit"
WORKER_ID = re.compile(r"A[A-Z0-9]{0,63}")
Fields = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Visit:
    """A request to the site."""

    method: str
    path: tuple[str, ...]
    query: dict[str, str]
    fields: Fields
    worker_id: str
    wants_json: bool


def visit(method: str, target: str, headers: dict[str, str], body: bytes) -> Visit:
    """What a request asks for, and who asks: the cookie, else `?worker=…` in a link made for hand use."""
    parts = urlsplit(target)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    cookie = SimpleCookie(headers.get("cookie", ""))
    known = cookie[COOKIE].value if COOKIE in cookie else ""
    return Visit(
        method=method,
        path=tuple(part for part in parts.path.split("/") if part),
        query=query,
        fields=posted(headers.get("content-type", ""), body),
        worker_id=query.get("worker", known),
        wants_json="application/json" in headers.get("accept", ""),
    )


def posted(content_type: str, body: bytes) -> Fields:
    """The fields of a form post, in both encodings that forms use."""
    if content_type.startswith("multipart/form-data"):
        boundary = content_type.partition("boundary=")[2].strip('"').encode()
        found = []
        for part in body.split(b"--" + boundary)[1:-1]:
            head, _, value = part.partition(b"\r\n\r\n")
            name = head.partition(b'name="')[2].partition(b'"')[0]
            found.append(
                (name.decode("utf-8", "replace"), value.removesuffix(b"\r\n").decode("utf-8", "replace"))
            )
        return found
    return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)


class Web:
    """Finds what a visit is for, and answers it."""

    def __init__(self, site: Site, faults: FaultPlan) -> None:
        self.site = site
        self.faults = faults

    def answer(self, asked: Visit) -> Reply:
        """A page, JSON, or a way on to another page."""
        handler = self._handler(asked)
        if handler is None:
            return _page(pages.message("Not found", "There is no such page."), 404)
        try:
            if asked.worker_id and not WORKER_ID.fullmatch(asked.worker_id):
                raise SiteRefusal("That is no Worker ID.", 400)
            return self._as_worker(asked, handler(asked))
        except SiteRefusal as refusal:
            if asked.wants_json:
                return _json({"error": refusal.message}, refusal.status)
            return _page(pages.message("Sorry", refusal.message), refusal.status)

    def _handler(self, asked: Visit) -> Callable[[Visit], Reply] | None:
        match asked.method, asked.path:
            case "POST", ("mturk", "externalSubmit"):
                return self._submit
            case "GET", ("mturk", "preview"):
                return self._group
            case "GET", ("_frames", _):
                return self._frame
            case "GET", ("worker", "sign-in"):
                return lambda asked: _page(pages.sign_in(asked.query.get("next", "/worker/hits")))
            case "POST", ("worker", "sign-in"):
                return self._sign_in
            case "GET", ("worker", "hits", _):
                return self._preview
            case _, ("worker", *_) if not asked.worker_id:
                return self._who
            case "GET", ("worker", "hits"):
                return self._list
            case "POST", ("worker", "hits", _, "accept"):
                return self._accept
            case "GET", ("worker", "assignments", _):
                return self._assigned
            case "POST", ("worker", "assignments", _, "return"):
                return self._return
            case "POST", ("worker", "qualifications", _):
                return self._request
            case "GET", ("worker", "tests", _):
                return self._test
            case "POST", ("worker", "tests", _):
                return self._take_test
        return None

    def _as_worker(self, asked: Visit, reply: Reply) -> Reply:
        """A link with `?worker=…` signs in for the pages that follow."""
        if "worker" in asked.query and asked.path[:1] == ("worker",):
            return Reply(
                reply.status,
                reply.body,
                reply.content_type,
                {"Set-Cookie": f"{COOKIE}={asked.worker_id}; Path=/"} | reply.headers,
            )
        return reply

    def _who(self, asked: Visit) -> Reply:
        if asked.wants_json:
            return _json({"error": "No worker is signed in."}, 401)
        return _away(f"/worker/sign-in?{urlencode({'next': '/' + '/'.join(asked.path)})}")

    def _sign_in(self, asked: Visit) -> Reply:
        told = dict(asked.fields)
        following = told.get("next", "/worker/hits")
        at_home = following.startswith("/") and not following.startswith("//")
        reply = _away(following if at_home else "/worker/hits")
        cookie = f"{COOKIE}={told.get('workerId', '')}; Path=/"
        return Reply(reply.status, reply.body, reply.content_type, reply.headers | {"Set-Cookie": cookie})

    def _list(self, asked: Visit) -> Reply:
        hits, held = self.site.hits(asked.worker_id), self.site.held(asked.worker_id)
        if asked.wants_json:
            return _json(
                {"hits": [hit.hit_id for hit in hits], "held": [turn.assignment_id for turn in held]}
            )
        with self.site.world.lock:
            kinds = list(self.site.world.qualification_types.values())
        return _page(pages.listing(asked.worker_id, hits, held, kinds))

    def _group(self, asked: Visit) -> Reply:
        """The link that requesters pass on, `/mturk/preview?groupId=…`: the first open HIT of the group."""
        with self.site.world.lock:
            self.site.world.settle()
            for hit in self.site.world.hits.values():
                if hit.type.hit_group_id == asked.query.get("groupId") and hit.status == "Assignable":
                    return _away(f"/worker/hits/{hit.hit_id}")
        raise SiteRefusal("There are no more of these HITs.", 404)

    def _preview(self, asked: Visit) -> Reply:
        frame = self.site.preview(asked.path[2], asked.worker_id)
        return self._framed(asked, frame, pages.preview)

    def _accept(self, asked: Visit) -> Reply:
        frame = self.site.accept(asked.path[2], asked.worker_id)
        if asked.wants_json:
            return _json(asdict(frame))
        return _away(f"/worker/assignments/{frame.assignment_id}")

    def _assigned(self, asked: Visit) -> Reply:
        frame = self.site.assigned(asked.path[2], asked.worker_id)
        return self._framed(asked, frame, pages.assigned)

    def _framed(self, asked: Visit, frame: Frame, page: Callable[..., str]) -> Reply:
        if asked.wants_json:
            return _json(asdict(frame))
        with self.site.world.lock:
            return _page(page(self.site.hit(frame.hit_id), frame))

    def _return(self, asked: Visit) -> Reply:
        self.site.give_back(asked.path[2], asked.worker_id)
        return _json({}) if asked.wants_json else _away("/worker/hits")

    def _frame(self, asked: Visit) -> Reply:
        """What an HTMLQuestion or a QuestionForm shows; the document reads the parameters of its own address."""
        with self.site.world.lock:
            question = self.site.hit(asked.path[1]).question
        if question.kind == "html":
            return _page(question.html)
        assignment_id = asked.query.get("assignmentId", PREVIEW)
        closed = assignment_id == PREVIEW
        hidden = {} if closed else {"assignmentId": assignment_id}
        return _page(pages.question_form(question.fields, SUBMIT, hidden, closed=closed))

    def _submit(self, asked: Visit) -> Reply:
        """The form, which may be lost on the way in or on the way back by a fault for `externalSubmit`."""
        now = self.site.world.clock.now()
        fault = self.faults.strike("externalSubmit", if_named=True)
        if fault is None:
            return self._submitted(asked)
        milliseconds = int(now.timestamp() * 1000)
        lost = struck_before(fault, milliseconds)
        return lost or struck_after(fault, self._submitted(asked), milliseconds)

    def _submitted(self, asked: Visit) -> Reply:
        turn = self.site.submit(asked.fields, asked.worker_id)
        if asked.wants_json:
            return _json({"assignment_id": turn.assignment_id, "state": turn.state})
        return _page(pages.message("Thank you", "The HIT has been successfully submitted."))

    def _request(self, asked: Visit) -> Reply:
        request = self.site.request_qualification(asked.path[2], asked.worker_id)
        if asked.wants_json:
            return _json({"request_id": request.request_id, "state": request.state})
        return _away(f"/worker/tests/{request.request_id}" if request.state == "Started" else "/worker/hits")

    def _test(self, asked: Visit) -> Reply:
        fields = self.site.test_fields(asked.path[2], asked.worker_id)
        return _page(pages.question_form(fields, f"/worker/tests/{asked.path[2]}", {}))

    def _take_test(self, asked: Visit) -> Reply:
        request = self.site.take_test(asked.path[2], asked.worker_id, asked.fields)
        return _json({"state": request.state}) if asked.wants_json else _away("/worker/hits")


def _page(html: str, status: int = 200) -> Reply:
    return Reply(status, html.encode(), "text/html; charset=utf-8")


def _json(told: object, status: int = 200) -> Reply:
    return Reply(status, json.dumps(told).encode(), "application/json")


def _away(address: str) -> Reply:
    return Reply(303, b"", "text/html; charset=utf-8", {"Location": address})

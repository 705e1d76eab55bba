"""What no client of good will sends: each gets one sentence in a problem document, and changes nothing."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from evaluation.results.aggregation import aggregate_study
from judgments.models import Study
from tests.doors import key_of
from tests.installations import Installation
from tests.marks import long_except
from tests.strangers import rows
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
CLIENT = Client()  # for thousands of requests with a token and without cookies
METHODS = ("get", "post", "put", "patch", "delete")
# what a body may not be, and a word of what is said of it
BROKEN: dict[str, tuple[bytes, str]] = {
    "nothing": (b" ", "is no JSON"),
    "half": (b'{"study": ', "is no JSON"),
    "not UTF-8": (b'{"study": "\xff"}', "not UTF-8 at byte 11"),
    "UTF-16": ('{"study": "x"}'.encode("utf-16"), "not UTF-8 at byte 0"),
    "no number": (b'{"study": NaN}', "NaN is no number"),
    "beyond any number": (b'{"study": -1e999}', "holds -1e999"),
    "5,000 digits": (b'{"study": ' + b"9" * 5_000 + b"}", "is no JSON"),
    "U+0000": (b'{"study": "a\\u0000b"}', "U+0000"),
    "half a pair": (b'{"\\ud800": 1}', "half of a surrogate pair"),
    "a member twice": (b'{"study": "a", "why": "b", "study": "c"}', "names the member 'study' twice"),
    "twice further in": (b'{"plan": [{"a": 1, "a": 2}]}', "names the member 'a' twice"),
    "10,000 deep": (b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "nested too deeply"),
    "900 deep": (b'{"a":' * 900 + b"1" + b"}" * 900, "nested too deeply"),
    "101 deep": (b'{"a":' * 101 + b"1" + b"}" * 101, "nested too deeply"),
}


@pytest.fixture(scope="module")
def aggregated(module_db: None) -> Study:
    made = make_study(controls={"per_hit": 1})
    aggregate_study(study=made)
    return made


@pytest.fixture
def study(aggregated: Study) -> Study:
    return deepcopy(aggregated)


@pytest.fixture
def staff() -> dict[str, str]:
    user = User.objects.create_superuser("designer")
    return key_of(user)


@cache
def described_paths() -> dict[str, dict[str, Any]]:
    """The interface's own description, which takes seconds to make."""
    paths: dict[str, dict[str, Any]] = Client().get("/api/schema/?format=json").json()["paths"]
    return paths


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, address and description of every call."""
    for path, found in described_paths().items():
        yield from ((method, path, found[method]) for method in METHODS if method in found)


def filled(path: str, study: Study) -> str:
    """The address, about this study where it can be."""
    return re.sub(r"\{(\w+)\}", lambda part: study.slug if part[1] == "slug" else "1", path)


def said(response: Any, *statuses: int) -> str:
    """The one sentence of a problem document."""
    assert response.status_code in statuses, (response.status_code, response.content[:300])
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == response.status_code
    assert body["detail"]
    assert "\n" not in body["detail"]
    return str(body["detail"])


def send(method: str, path: str, body: bytes, headers: dict[str, str], kind: str = "application/json") -> Any:
    return CLIENT.generic(method.upper(), path, data=body, content_type=kind, headers=headers)


@pytest.mark.parametrize("name", BROKEN)
def test_a_body_that_can_be_read_in_no_way_or_in_two_is_refused_by_name(
    name: str, study: Study, staff: dict[str, str]
) -> None:
    body, words = BROKEN[name]
    draft = make_study("graded", opened=False)
    before = rows()
    paths = [("post", "/api/exports/"), ("post", f"/api/studies/{study.slug}/pause/")]
    paths += [("put", f"/api/studies/{draft.slug}/design/"), ("patch", f"/api/studies/{draft.slug}/design/")]
    for method, path in [*paths, ("post", f"/api/studies/{study.slug}/join/")]:
        sentence = said(send(method, path, body, staff if "join" not in path else {}), 400)
        assert words in sentence, path
    assert {**rows(), "judgments.ApiToken": []} == {**before, "judgments.ApiToken": []}  # its use is noted


def test_a_body_as_deep_as_allowed_is_read(staff: dict[str, str]) -> None:
    draft = make_study("graded", opened=False)
    body = b'{"sampling":' * 98 + b'{"x": []}' + b"}" * 98
    sentence = said(send("patch", f"/api/studies/{draft.slug}/design/", body, staff), 400)
    assert "deep" not in sentence
    assert "sampling" in sentence


@pytest.mark.long
def test_no_call_breaks_at_a_body_that_it_does_not_expect(study: Study, staff: dict[str, str]) -> None:
    _, of_worker = make_worker(study)
    bodies: list[Any] = [[], None, 1, "x", {}, {"study": study.slug, "no such member": 1}]
    names = ["study", "answers", "units", "assignments", "worker", "why", "metrics", "plan", "count"]
    odd: tuple[Any, ...] = ("x" * 300_000, 10**30, -(2**63) - 1, 1e308, None, True)
    values: tuple[Any, ...] = (*odd, [[]], {"a": [10**400]}, "\u202e\u0007")
    bodies += [{**dict.fromkeys(names, value), "study": study.slug} for value in values]
    bodies += [dict.fromkeys(names, 10**30), {name: [[]] for name in names}]
    texts = [json.dumps(body).encode() for body in bodies]
    for method, path, described in operations():
        if "application/json" not in described.get("requestBody", {}).get("content", {}):
            continue
        headers = of_worker if "worker" in described.get("tags", []) else staff
        for text in texts:
            response = send(method, filled(path, study), text, headers)
            if response.status_code >= 400:
                assert len(said(response, 400, 403, 404, 409, 413)) < 1_000, (method, path, text[:100])


def test_a_body_that_would_fill_the_memory_is_refused_unread(staff: dict[str, str]) -> None:
    for body in (b'{"toml": "' + b"x" * 3_000_000 + b'"}', b"[" + b"{}," * 1_000_000 + b"{}]"):
        said(send("post", "/api/studies/", body, staff), 413)


def test_a_compressed_body_is_refused_and_never_unpacked(staff: dict[str, str]) -> None:
    before = rows()["judgments.Study"]
    bomb = gzip.compress(b"0" * 50_000_000)
    for body in (gzip.compress(b'{"study": "x"}'), bomb):
        for kind in ("application/json", "application/toml"):
            headers = {**staff, "Content-Encoding": "gzip"}
            assert "compressed" in said(send("post", "/api/studies/", body, headers, kind), 415)
    said(send("post", "/api/studies/", b"{}", {**staff, "Content-Encoding": "identity"}), 400)
    assert rows()["judgments.Study"] == before


@pytest.mark.parametrize(
    "kind",
    long_except(
        [
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/json-seq",
            "x",
            "multipart/form-data",
        ],
        "text/plain",
        "multipart/form-data",
    ),
)
def test_no_call_reads_a_body_of_another_type(kind: str, study: Study, staff: dict[str, str]) -> None:
    _, of_worker = make_worker(study)
    before = rows() | {"judgments.ApiToken": []}
    for method, path, described in operations():
        content = described.get("requestBody", {}).get("content", {})
        if "application/json" not in content or kind in content:
            continue
        headers = of_worker if "worker" in described.get("tags", []) else staff
        said(send(method, filled(path, study), b'{"study": "x"}', headers, kind), 404, 409, 415)
    assert rows() | {"judgments.ApiToken": []} == before


def test_captions_come_as_a_form_or_are_refused(staff: dict[str, str]) -> None:
    assert "form" in said(Client().generic("POST", "/api/submissions/", headers=staff), 400)
    said(send("post", "/api/submissions/", b"{}", staff), 415)
    said(send("post", "/api/submissions/", b"x", staff, "multipart/form-data"), 400)
    form = {"challenge": "a\x00b", "system": "s", "team": "t"}
    assert "U+0000" in said(Client().post("/api/submissions/", form, headers=staff), 400)


@pytest.mark.long
def test_every_address_answers_every_method_and_says_which_it_takes(
    study: Study, staff: dict[str, str]
) -> None:
    described: dict[str, set[str]] = {}
    for method, path, _ in operations():
        described.setdefault(path, set()).add(method.upper())
    before = rows() | {"judgments.ApiToken": []}
    for path, taken in described.items():
        address = filled(path, study)
        for method in ("OPTIONS", "HEAD", "TRACE", "PROPFIND", "BREW", *(m.upper() for m in METHODS)):
            if method in taken or (method == "HEAD" and "GET" in taken):
                continue
            response = CLIENT.generic(method, address, headers=staff)
            assert response.status_code < 500, (method, address)
            if response.status_code == 405:
                allowed = {one.strip() for one in response["Allow"].split(",")}
                assert allowed - {"OPTIONS", "HEAD"} == taken, (method, path)
        # a header does not turn a method into another one
        for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
            if "GET" not in taken:
                said(CLIENT.get(address, headers={**staff, name: min(taken)}), 403, 404, 405)
    assert rows() | {"judgments.ApiToken": []} == before


def test_a_session_changes_nothing_without_its_csrf_token(study: Study) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.create_superuser("designer"))
    before = rows()
    for method, path, described in operations():
        if method == "get" or "worker" in described.get("tags", []):
            continue
        response = browser.generic(
            method.upper(), filled(path, study), data=b"{}", content_type="application/json"
        )
        assert "CSRF" in said(response, 403, 404) or response.status_code == 404, path
    assert rows() == before


@pytest.mark.parametrize(
    "path",
    ["/s/a%00b/", "/challenges/a%00/", "/%00", "/api/studies/a%00b/", "/?code=a%00b", "/admin/?what=%00"],
)
def test_no_page_looks_for_an_address_that_no_row_can_have(path: str) -> None:
    assert Client().get(path).status_code == 404
    assert Client().post(path).status_code == 404


# Each on an installation of its own: what SQLite takes for a text, PostgreSQL may refuse to look for.
LOOK = r"""
import json
from django.contrib.auth.models import User
from django.test import Client
from tests.doors import key_of
from tests.studies import make_study, make_worker

study = make_study()
_, of_worker = make_worker(study)
staff = key_of(User.objects.create_superuser("designer"))
client = Client(SERVER_NAME="localhost")  # making one reads the whole folder of static files
described = client.get("/api/schema/?format=json").json()["paths"]
found = []
for path, calls in described.items():
    if "{" not in path:
        continue
    for odd in ("a%00b", "%FF%FE", "%ED%A0%80", "9" * 30, "9" * 18, "-1", "%0A", "x" * 3000):
        address = path
        for part in ("slug", "id", "key", "rule", "name"):
            address = address.replace("{%s}" % part, odd)
        for method, call in calls.items():
            headers = of_worker if "worker" in call.get("tags", []) else staff
            body = {"worker": "a", "why": "x", "answers": [], "action": "flag"} if method != "get" else None
            sent = client.generic(
                method.upper(), address, json.dumps(body) if body else "", "application/json", headers=headers
            )
            if sent.status_code not in (302, 400, 403, 404, 405) or (
                sent.status_code >= 400 and sent["Content-Type"] != "application/problem+json"
            ):
                found.append([method, address[:120], sent.status_code])
print(json.dumps(found))
"""


@pytest.mark.long
def test_an_address_that_no_row_can_have_is_not_there_on_any_database(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    assert json.loads(installation_on(database).python(LOOK).splitlines()[-1]) == []


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("units/?control=true&control=false", "control: is given twice; expected it once."),
        ("units/?control=", "control: is empty; expected one of its values."),
        ("studies/?state=", "state: is empty; expected one of its values."),
        ("outputs/?rank=%20%2B1", "rank: must be a whole number of at most 18 digits."),
        ("outputs/?rank=%D9%A3", "rank: must be a whole number of at most 18 digits."),
        ("units/?page_size=%D9%A3", "page_size: must be a whole number from 1 to 1000."),
    ],
)
def test_a_list_takes_what_its_description_allows_alone(
    staff: dict[str, str], query: str, problem: str
) -> None:
    assert said(Client().get(f"/api/{query}", headers=staff), 400) == problem


def test_brackets_in_texts_are_not_counted_and_depth_is_found_before_anything_is_made(
    staff: dict[str, str],
) -> None:
    draft = make_study("graded", opened=False)
    path = f"/api/studies/{draft.slug}/design/"
    assert "deep" not in said(send("patch", path, b'{"name": "' + b'[\\"' * 200 + b'", "x": 1}', staff), 400)
    wide = b"[" + b",".join([b"[" * 102 + b"]" * 102] * 1_500) + b"]"
    for body in (wide, b"[" * 320_000, b'{"a": "' + b"\\\\" * 150_000):
        said(send("patch", path, body, staff), 400)

"""The Python client against a live installation, and how it bears a server that is busy or away."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from quorum_client import JobFailed, Problem, Quorum
from tests.installations import Installation, Installations

KEY = """
from django.contrib.auth.models import User
from judgments.access.tokens import SCOPES, create_token
user = User.objects.create_superuser("grace")
print(create_token(user=user, name="client", scopes=list(SCOPES))[1])
"""
DATASET = """
from tests.studies import make_dataset
make_dataset()
"""
STUDY = """
name = "From a program"
dataset = "animals"
protocol = "triplet"
seed = 3
units_per_hit = 5

[sampling]
pairs = {HC = 2, HI = 2, MM = 2}
references = 2
"""


@pytest.fixture(scope="module")
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite") as made:
        made.start_server()
        made.start_worker()
        made.python(DATASET)
        yield made


@pytest.fixture(scope="module")
def quorum(installation: Installation) -> Iterator[Quorum]:
    with Quorum(installation.url, installation.python(KEY)) as client:
        yield client


def test_a_study_goes_from_a_file_to_a_table(
    quorum: Quorum, installation: Installation, tmp_path: Path
) -> None:
    study = quorum.create_study(STUDY)
    assert study.generate()["result"]["HITs"] > 0
    assert study.open()["state"] == "open"
    installation.manage("rehearse", study.get()["slug"], "--workers", "6", "--seed", "1")
    judgments = study.frame("judgments")
    units = study.frame("units")
    assert set(judgments["unit"]) <= set(units["unit"])
    assert str(judgments["submitted_at"].dtype).startswith("datetime64")
    study.aggregate()
    assert study.get("agreement")["data_hash"]
    consensus = study.frame("consensus", of="units")
    assert len(consensus) == len(units[~units["control"] & ~units["filtered"]])
    assert set(judgments["worker"]) <= set(study.frame("workers")["name"])
    study.evaluate(metrics=["bleu-1"])
    assert "accuracy" in json.dumps(study.get("evaluation"))
    assert study.get("board")["judgments"] == len(judgments)
    assert set(study.get("strengths", control="length")["systems"][0]) >= {"system", "strength", "low"}
    apart = quorum.frame(f"studies/{study.get()['slug']}/disagreements", metric="bleu-1")
    assert list(apart["size"]) == sorted(apart["size"], reverse=True)
    key = units[units["pair"].notna()]["pair"].iloc[0]
    closer = study.get(f"disagreements/{key}")
    assert {vote["worker"] for vote in closer["votes"]} <= set(judgments["worker"])
    assert len(closer["scores"]["bleu-1"]) == len(closer["captions"]) == 2
    assert study.next_batch(chosen=[key], why="once more")["state"] == "draft"
    file = study.export("jsonl", tmp_path / "judgments.jsonl")
    assert len(file.read_text().splitlines()) == len(judgments)
    assert study.close()["state"] == "closed"
    assert list(quorum.frame("studies", state="closed")["slug"]) == [study.get()["slug"]]
    assumptions = {"pairs": [60, 200], "votes": [1], "win_rate": 0.9, "right": 1.0, "simulations": 50}
    job = quorum.wait(quorum.post("plans/", {"assumptions": assumptions}))
    assert {row["pairs"] for row in quorum.get(f"plans/{job['id']}/")["result"]["tried"]} == {60, 200}
    assert [path.name for path in tmp_path.iterdir()] == ["judgments.jsonl"]


def test_what_the_server_refuses_is_said_in_its_words(quorum: Quorum) -> None:
    with pytest.raises(Problem, match="no study 'none'") as refused:
        quorum.study("none").close()
    assert refused.value.status == 404
    with pytest.raises(Problem, match="page_size"):
        quorum.frame("studies", page_size=0)
    with pytest.raises(Problem) as refused:
        quorum.create_study("name = 7")
    assert refused.value.status == 400
    study = quorum.create_study(STUDY.replace("From a program", "Without HITs"))
    with pytest.raises(Problem, match="Unknown metric 'no-such-metric'"):
        study.evaluate(metrics=["no-such-metric"])
    with pytest.raises(JobFailed):
        study.evaluate(metrics=["bleu-1"])
    assert study.frame("judgments").empty


def test_pages_follow_each_other_only_once_they_are_wanted(quorum: Quorum) -> None:
    keys = [row["key"] for row in quorum.rows("captions", page_size=7)]
    assert len(keys) == len(set(keys)) == len(quorum.frame("captions")) > 7 * 2
    rows = quorum.rows("captions", page_size=7)
    assert next(rows)["key"] == keys[0]


def client(answers: list[httpx.Response | Exception]) -> tuple[Quorum, list[float]]:
    """A client of a server that gives these answers in turn, and how long it waited before each."""
    waited: list[float] = []

    def give(request: httpx.Request) -> httpx.Response:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    made = Quorum("http://quorum.example", "x", sleep=waited.append, transport=httpx.MockTransport(give))
    return made, waited


def page(*rows: dict[str, str]) -> httpx.Response:
    return httpx.Response(200, json={"next": None, "previous": None, "results": list(rows)})


def test_a_busy_server_is_asked_again_when_it_says_so() -> None:
    busy = httpx.Response(503, headers={"Retry-After": "7"})
    quorum, waited = client([busy, httpx.Response(429), httpx.ConnectError("away"), page({"slug": "a"})])
    assert list(quorum.frame("studies")["slug"]) == ["a"]
    assert waited == [7.0, 1.0, 2.0]


def test_a_server_that_stays_away_is_an_error_after_five_tries() -> None:
    quorum, waited = client([httpx.ConnectError("away")] * 5)
    with pytest.raises(Problem, match="reached") as problem:
        quorum.frame("studies")
    assert (problem.value.status, waited) == (0, [0.5, 1.0, 2.0, 4.0])


def test_figures_that_are_still_being_counted_are_asked_for_until_they_are_there() -> None:
    counting = httpx.Response(202, headers={"Retry-After": "5"}, json={"state": "being counted"})
    quorum, waited = client([counting, counting, httpx.Response(200, json={"units": {"shared": 3}})])
    assert quorum.study("crowd").get("comparison", **{"with": "experts"}) == {"units": {"shared": 3}}
    assert waited == [5.0, 5.0]


def test_what_changes_something_is_never_sent_twice() -> None:
    quorum, waited = client([httpx.ReadTimeout("no answer")])
    with pytest.raises(Problem):
        quorum.study("a").open()
    assert waited == []


def test_a_step_that_moves_money_is_sent_again_under_its_key_and_done_once() -> None:
    sent: list[tuple[str, str | None, object]] = []
    told = {"total_cents": 60, "left_cents": 100, "confirm": "abc"}
    answers: list[httpx.Response | Exception] = [
        httpx.Response(200, json=told), httpx.ReadTimeout("lost"), httpx.Response(202, json={"calls": [7]}),
        httpx.Response(202, json={"calls": [7]}),
    ]  # fmt: skip

    def give(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else dict(request.url.params)
        sent.append((request.method, request.headers.get("Idempotency-Key"), body))
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    made = Quorum("http://quorum.example", "x", sleep=lambda _: None, transport=httpx.MockTransport(give))
    step = made.study("a").preview("bonus", worker="ada", cents=50)
    assert step.preview["total_cents"] == 60
    assert step.confirm("Thanks.") == step.confirm("Thanks.") == {"calls": [7]}
    body = {"worker": "ada", "cents": 50, "confirm": "abc", "why": "Thanks."}
    assert sent[0] == ("GET", None, {"worker": "ada", "cents": "50"})
    assert sent[1:] == [("POST", step.key, body)] * 3


def test_a_page_of_a_proxy_is_an_error_too() -> None:
    quorum, _ = client([httpx.Response(403, text="<html>")])
    with pytest.raises(Problem, match="answered Forbidden"):
        quorum.frame("studies")


def test_a_download_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise httpx.ReadError("cut")

    quorum, _ = client([httpx.Response(200, content=broken())])
    with pytest.raises(httpx.ReadError):
        quorum.save("exports/1/download/", str(tmp_path / "file"))
    assert list(tmp_path.iterdir()) == []


def cut_after(content: bytes) -> Iterator[bytes]:
    yield content
    raise httpx.ReadError("cut")


def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path: Path) -> None:
    asked: list[tuple[str | None, str | None]] = []
    answers = iter(
        [
            httpx.Response(200, content=cut_after(b"one "), headers={"ETag": '"a"'}),
            httpx.Response(206, content=cut_after(b"two "), headers={"ETag": '"a"'}),
            httpx.Response(200, content=cut_after(b"another file, "), headers={"ETag": '"b"'}),
            httpx.Response(206, content=b"to its end", headers={"ETag": '"b"'}),
        ]
    )

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.headers.get("Range"), request.headers.get("If-Range")))
        return next(answers)

    quorum = Quorum("http://quorum", "key", sleep=lambda _: None, transport=httpx.MockTransport(answer))
    quorum.save("exports/1/download/", str(tmp_path / "file"))
    assert (tmp_path / "file").read_bytes() == b"another file, to its end"
    assert asked == [(None, None), ("bytes=4-", '"a"'), ("bytes=8-", '"a"'), ("bytes=14-", '"b"')]


def test_the_client_needs_nothing_of_quorum() -> None:
    for path in Path("quorum_client").glob("*.py"):
        words = path.read_text()
        assert "django" not in words
        assert not any(
            f"from {room}" in words for room in ("judgments", "annotation", "evaluation", "config")
        )

"""The evaluation server: captions are checked, counted, scored and ranked; references stay hidden."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from common.amounts import coefficient
from common.errors import WrongState
from contrib.challenges.caption_files import read_captions
from contrib.challenges.challenges import close_challenge, make_challenge, remove_submission
from contrib.challenges.errors import ChallengeError, LimitReached, SubmissionRefused
from contrib.challenges.models import Challenge, ChallengeEvent, Standing, Submission
from contrib.challenges.scores.leaderboard import leaderboard_rows
from contrib.challenges.submissions import (
    SubmissionDetails,
    remaining_submissions,
    submit_caption_file,
)
from contrib.challenges.tests.challenging import (
    a_challenge,
    captions,
    file_of,
    participant,
    references,
    submit,
    work_off,
)
from judgments.access.tokens import create_token
from judgments.jobs.claims import run_job
from judgments.models import Caption, Job
from quorum.metrics import score
from tests.annotation.foreign_pages import english_on
from tests.doors import signed_in
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

ABOUT = SubmissionDetails(system="Captioner", team="Team")


def test_a_submission_is_scored_as_the_score_command_would() -> None:
    challenge = a_challenge()
    made = submit(challenge, participant(), good=10)
    work_off()
    made.refresh_from_db()
    expected = score(
        [entry["caption"] for entry in captions(10)], list(references().values()), challenge.metrics
    )
    assert made.state == "scored"
    for name in challenge.metrics:
        assert made.scores[name]["corpus"] == pytest.approx(expected.scores[name].corpus, rel=1e-12)
        assert made.signatures[name] == expected.scores[name].signature
    assert made.scores["cider-d"]["low"] < made.scores["cider-d"]["corpus"] < made.scores["cider-d"]["high"]
    assert "low" not in made.scores["bleu-4"]  # its figure is no mean over images


def test_the_leaderboard_tells_apart_what_the_data_tell_apart(django_assert_max_num_queries: Any) -> None:
    challenge, ada = a_challenge(), participant()
    for good, system in ((4, "worst"), (20, "best"), (19, "near")):
        submit(challenge, ada, good, system)
    hidden = submit(challenge, ada, 23, "hidden", public=False)
    work_off()
    with django_assert_max_num_queries(3):
        rows = leaderboard_rows(challenge=challenge, user_id=None, now=timezone.now())
    assert [(row.submission.system, row.rank_low, row.rank_high) for row in rows] == [
        ("best", 1, 2),
        ("near", 1, 2),
        ("worst", 3, 3),
    ]
    assert f"{hidden.pk}" not in str(Standing.objects.get().of)


def test_ranks_of_another_set_of_submissions_are_not_shown() -> None:
    challenge, ada = a_challenge(), participant()
    first = submit(challenge, ada, 20, "one")
    submit(challenge, ada, 4, "two")
    work_off()
    Submission.objects.filter(pk=first.pk).update(public=False)
    rows = leaderboard_rows(challenge=challenge, user_id=ada.pk, now=timezone.now())
    assert [(row.rank_low, row.is_own) for row in rows] == [(None, True)]


def test_references_that_changed_meanwhile_are_noticed_and_another_try_is_free() -> None:
    challenge, ada = a_challenge(per_day=2), participant()
    first = submit(challenge, ada, 10)
    work_off()  # this process has the references ready
    added = Caption.objects.create(
        dataset=challenge.dataset,
        item=challenge.dataset.items.first(),
        key="new",
        text="new",
        role="reference",
    )
    second = submit(challenge, ada, 5)
    work_off()
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == ("scored", "failed")
    assert "changed after" in second.reason
    added.delete()
    assert submit(challenge, ada, 5).pk == second.pk
    work_off()
    second.refresh_from_db()
    assert (second.state, second.reason) == ("scored", "")


POSITIONS = {"1": 0, "2": 1, "3": 2, "4": 3, "5": 4}

GOOD = [{"image_id": number, "caption": f"text {number}"} for number in (5, 3, 1, 2, 4)]


def read(content: Any, size: int = 7) -> list[str]:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read_captions((raw[at : at + size] for at in range(0, len(raw), size)), POSITIONS)


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_a_file_is_read_in_pieces_of_any_size(size: int) -> None:
    assert read(GOOD, size) == [f"text {number}" for number in (1, 2, 3, 4, 5)]
    spaced = b"\xef\xbb\xbf \n" + json.dumps(GOOD, indent=3, ensure_ascii=False).encode() + b"\n\n"
    assert read(spaced.replace(b"text 1", "tëxt 1".encode()), size)[0] == "tëxt 1"


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"", ["COCO results JSON"]),
        (b"{}", ["COCO results JSON"]),
        (b"[", ["COCO results JSON"]),
        (b"[1 2]", ["Entry 1", "object"]),
        (b"[NaN]", ["Entry 1", "object"]),
        (b"[" * 200_000, ["nested too deeply"]),
        (b'[{"image_id": NaN, "caption": "a"}]', ["Entry 1", "“image_id”"]),
        (b'[{"image_id": true, "caption": "a"}]', ["Entry 1", "“image_id”"]),
        (b'[{"image_id": 1' + b"0" * 5000 + b', "caption": "a"}]', ["COCO results JSON"]),
        (b'[{"image_id": 1, "caption": 2}]', ["Entry 1", "no caption"]),
        (b'[{"image_id": 1, "caption": null}]', ["Entry 1", "no caption"]),
        (b'[{"image_id": 1, "caption": "\\ud800"}]', ["invalid character"]),
        (b'[{"image_id": 1, "caption": "' + b"a" * 1001 + b'"}]', [1001]),
        (b'[{"image_id": 1, "caption": "' + b"a" * 200_000 + b'"}]', ["COCO results JSON"]),
        (b'[{"image_id": 1, "caption": "\xff"}]', ["UTF-8"]),
        (json.dumps(GOOD).encode() + b"[]", ["after the end"]),
        (GOOD[:3], ["3 of 5", "'2', '4'"]),
        ([*GOOD, {"image_id": 3, "caption": "again"}], ["more than one caption", "'3'"]),
        ([*GOOD, {"image_id": "x", "caption": "?"}], ["not in the challenge", "'x'"]),
        (
            [{"image_id": n, "caption": "?"} for n in range(10, 90)],
            ["not in the challenge", "'10', '11', '12'"],
        ),
    ],
)
def test_a_file_that_cannot_be_scored_is_refused_by_what_is_wrong(content: Any, values: list[object]) -> None:
    with refuses(SubmissionRefused, *values):
        read(content, 60_000)


@time_machine.travel(
    datetime.now(UTC).replace(hour=12), tick=True
)  # far from midnight, when a day begins anew
def test_limits_count_stored_captions_alone_and_days_are_those_of_utc() -> None:
    challenge, ada = a_challenge(per_day=2, per_total=3), participant()
    with pytest.raises(SubmissionRefused):
        submit_caption_file(challenge=challenge, user=ada, details=ABOUT, chunks=[b"[]"])
    first = submit(challenge, ada, 1)
    assert submit(challenge, ada, 1).pk == first.pk  # the same captions
    submit(challenge, ada, 2)
    with refuses(LimitReached, "today", 2):
        submit(challenge, ada, 3)
    Submission.objects.update(day=timezone.now().date() - timedelta(days=1))
    submit(challenge, ada, 3)
    with refuses(LimitReached, 3):
        submit(challenge, ada, 4)
    submit(challenge, participant("grace"), 4)


def test_nothing_is_taken_before_the_start_or_after_the_end() -> None:
    now, ada = timezone.now(), participant()
    early = a_challenge("early", opens_at=now + timedelta(days=1))
    late = a_challenge("late", opens_at=now - timedelta(days=2), closes_at=now - timedelta(days=1))
    for challenge in (early, late):
        with pytest.raises(WrongState):
            submit(challenge, ada, 1)
    assert Job.objects.count() == 0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"metrics": []}, "metric"),
        ({"metrics": ["cidr"]}, "cider"),
        ({"metrics": ["bleu-4", "cider-d"]}, "ordered by bleu-4"),
        ({"metrics": ["cider-d", "cider-d"]}, "named twice"),
        ({"tokenizer": "none"}, "tokenizer"),
        ({"split": "nowhere"}, "no references"),
        ({"closes_at": timezone.now() - timedelta(days=3)}, "closes"),
    ],
)
def test_a_challenge_that_cannot_be_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ChallengeError, match=said):
        a_challenge(**values)
    assert Challenge.objects.count() == 0


def test_scores_that_are_shown_at_the_end_are_shown_at_the_end() -> None:
    challenge, ada = a_challenge(shown_before_end=False), participant()
    made = submit(challenge, ada, 7)
    work_off()
    made.refresh_from_db()
    figure, browser = coefficient(made.scores["cider-d"]["corpus"], 3), signed_in(ada)
    pages = ("/challenges/lawns/", "/challenges/lawns/own/")
    assert not any(figure in browser.get(path).text for path in pages)
    assert browser.get(f"/api/submissions/{made.pk}/").json()["scores"] == {}
    assert browser.get("/api/challenges/lawns/leaderboard/").json()["rows"] == []
    close_challenge(challenge=challenge, why="The time is over.")
    assert all(figure in browser.get(path).text for path in pages)
    assert browser.get(f"/api/submissions/{made.pk}/").json()["scores"] == {
        name: {which: round(figure, 3) for which, figure in figures.items()}
        for name, figures in made.scores.items()
    }


def test_a_stranger_reads_and_submits_nothing() -> None:
    made = submit(a_challenge(), participant(), 7, public=False)
    work_off()
    stranger, nobody = signed_in(participant("stranger")), Client()
    assert made.system not in stranger.get("/challenges/lawns/").text
    assert made.system not in stranger.get("/challenges/lawns/own/").text
    assert stranger.post(f"/challenges/lawns/own/{made.pk}/show/", {"public": "yes"}).status_code == 404
    assert nobody.post(f"/challenges/lawns/own/{made.pk}/show/", {"public": "yes"}).status_code == 404
    assert stranger.get(f"/api/submissions/{made.pk}/").status_code == 404
    assert stranger.get("/api/submissions/").json()["results"] == []
    assert stranger.patch(
        f"/api/submissions/{made.pk}/", '{"public": true}', content_type="application/json"
    ).status_code in (403, 404)
    for path in ("/api/submissions/", "/api/challenges/"):
        assert nobody.get(path).status_code == 401
    for path in ("/challenges/lawns/own/", "/challenges/lawns/submit/"):
        assert nobody.get(path)["Location"].startswith("/challenges/account/sign-in/?next=")
    assert nobody.post("/challenges/lawns/submit/", {"file": file_of([])}).status_code == 302
    for path in ("challenge", "submission"):
        assert stranger.get(f"/admin/challenges/{path}/").status_code == 302
    newcomer = signed_in(User.objects.create_user("newcomer", is_staff=True))
    for path in ("challenge/", "submission/", "challenge/add/", f"submission/{made.pk}/remove/"):
        assert newcomer.get(f"/admin/challenges/{path}").status_code in (403, 404)
    assert not Submission.objects.get().public


def test_a_participant_signs_in_submits_and_sees_the_place() -> None:
    challenge, _ada = a_challenge(), participant()
    browser = Client(enforce_csrf_checks=False)
    reply = browser.post(
        "/challenges/account/sign-in/",
        {"username": "ada", "password": "correct horse battery", "next": "/challenges/lawns/submit/"},
    )
    assert reply["Location"] == "/challenges/lawns/submit/"
    fields = {"system": "<b>Bold</b>", "team": "<script>x</script>", "link": "https://example.org/paper"}
    reply = browser.post("/challenges/lawns/submit/", fields | {"public": "on", "file": file_of(captions(9))})
    assert (reply.status_code, reply["Location"]) == (303, "/challenges/lawns/own/")
    work_off()
    page = browser.get("/challenges/lawns/").text
    assert "&lt;b&gt;Bold&lt;/b&gt;" in page
    assert "<script>x" not in page
    shown = coefficient(Submission.objects.get(challenge=challenge).scores["cider-d"]["corpus"], 3)
    assert f">{shown}<" in page  # three digits, as a report's thresholds of the same metric
    reply = browser.post(
        "/challenges/lawns/submit/",
        {"system": "s", "team": "t", "link": "javascript:alert(1)", "file": file_of(captions(8))},
    )
    assert reply.status_code == 400
    assert Submission.objects.count() == 1


def test_a_form_from_another_site_and_a_file_that_is_too_large_are_refused() -> None:
    a_challenge()
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(participant())
    values = {"system": "s", "team": "t", "file": file_of(captions(3))}
    assert careful.post("/challenges/lawns/submit/", values).status_code == 403
    values["file"] = file_of(b" " * (1 << 21))
    reply = careful.post("/challenges/lawns/submit/", values)
    assert (reply.status_code, "too large" in reply.text) == (413, True)
    browser = signed_in(User.objects.get())
    values = {"challenge": "lawns", "system": "s", "team": "t", "file": file_of(b" " * (1 << 21))}
    assert browser.post("/api/submissions/", values).status_code == 413
    assert Submission.objects.count() == 0


def test_a_participant_makes_a_token_on_the_page_and_a_program_submits_with_it() -> None:
    a_challenge()
    page, browser = "/challenges/lawns/token/", signed_in(participant())
    assert Client().post(page)["Location"] == "/challenges/lawns/own/"
    assert browser.get(page).status_code == 405
    assert page in browser.get("/challenges/lawns/own/").text
    keys = []
    for _ in range(2):
        made = browser.post(page)
        assert "no-store" in made["Cache-Control"]
        keys += re.findall(r"<code>(quorum_[\w-]+)</code>", made.text)
    assert not re.search("quorum_[A-Za-z0-9_-]{20}", browser.get("/challenges/lawns/own/").text)
    body = {"challenge": "lawns", "system": "s", "team": "t"}
    statuses = [
        Client()
        .post(
            "/api/submissions/",
            body | {"file": file_of(captions(9))},
            headers={"Authorization": f"Token {key}"},
        )
        .status_code
        for key in keys
    ]
    assert statuses == [401, 201]
    token = {"Authorization": f"Token {keys[1]}"}
    assert Client().get("/api/submissions/", headers=token).status_code == 200
    assert Client().get("/api/studies/", headers=token).status_code == 403


def test_a_program_submits_with_a_token_of_its_scope() -> None:
    a_challenge()
    ada = participant()
    _, key = create_token(user=ada, name="sends", scopes=["submissions:write"])
    _, reader = create_token(user=ada, name="reads", scopes=["submissions:read"])

    def send(key: str, **values: Any) -> Any:
        body = {"challenge": "lawns", "system": "s", "team": "t", "file": file_of(captions(9)), **values}
        return Client().post("/api/submissions/", body, headers={"Authorization": f"Token {key}"})

    assert send(reader).status_code == 403
    assert send(key, challenge="nowhere").status_code == 404
    assert send(key, file=file_of([])).json()["title"] == "The submission cannot be used"
    made = send(key)
    assert (made.status_code, made.json()["state"]) == (201, "queued")
    assert send(key).status_code == 200
    work_off()
    headers = {"Authorization": f"Token {reader}"}
    followed = Client().get(made["Location"], headers=headers).json()
    assert (followed["state"], set(followed["scores"])) == ("scored", {"cider-d", "bleu-4", "rouge-l"})
    rows = Client().get("/api/challenges/lawns/leaderboard/", headers=headers).json()["rows"]
    assert [(row["system"], row["rank_low"], row["rank_high"], row["own"]) for row in rows] == [
        ("s", 1, 1, True)
    ]
    off = Client().patch(
        f"/api/submissions/{followed['id']}/",
        '{"public": false}',
        content_type="application/json",
        headers={"Authorization": f"Token {key}"},
    )
    assert (off.status_code, off.json()["public"]) == (200, False)


def test_a_file_that_is_too_large_for_memory_is_taken_by_both_doors(settings: Any) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 100
    a_challenge()
    browser = signed_in(participant())
    body = {"challenge": "lawns", "system": "s", "team": "t"}
    assert browser.post("/api/submissions/", {**body, "file": file_of(captions(9))}).status_code == 201
    assert (
        browser.post("/challenges/lawns/submit/", {**body, "file": file_of(captions(8))}).status_code == 303
    )


def long_captions(words: str = "") -> list[dict[str, Any]]:
    """More than a request reads."""
    return [
        entry | {"caption": f"{words}{entry['caption']} {'in the rain ' * 70}"} for entry in captions(9, 100)
    ]


@time_machine.travel(
    datetime.now(UTC).replace(hour=12), tick=True
)  # far from midnight, when a day begins anew
def test_a_large_file_is_read_by_a_job_which_its_author_follows_and_cancels() -> None:
    challenge, ada = a_challenge(images=100), participant()
    browser = signed_in(ada)

    def send(entries: Any) -> str:
        form = {"system": "Captioner", "team": "t", "file": file_of(entries)}
        reply = browser.post("/challenges/lawns/submit/", form)
        assert (reply.status_code, reply["Location"]) == (303, "/challenges/lawns/own/")
        return browser.get("/challenges/lawns/own/").text

    assert "waiting to be read" in send(long_captions())
    address = f"/challenges/lawns/own/jobs/{Job.objects.get().pk}/cancel/"
    assert signed_in(participant("eve")).post(address).status_code == 404
    assert Client().post(address).status_code == 404
    assert browser.post(address)["Location"] == "/challenges/lawns/own/"
    work_off()
    assert Submission.objects.count() == 0
    assert "can be cancelled" in browser.post(address, follow=True).text

    send(long_captions()[:-1])
    run_job(Job.objects.latest("pk").pk)
    page = browser.get("/challenges/lawns/own/").text
    assert "Captions in the file: 99 of 100." in page
    assert "refused and not counted" in page
    assert Submission.objects.count() == 0

    send(long_captions())
    now = timezone.now()  # it came in time
    Challenge.objects.update(opens_at=now - timedelta(days=1), closes_at=now - timedelta(minutes=1))
    work_off()
    assert Submission.objects.get().captions == 100
    reply = browser.post(
        "/challenges/lawns/submit/", {"system": "s", "team": "t", "file": file_of(long_captions())}
    )
    assert reply.status_code == 409
    assert remaining_submissions(challenge=challenge, user=ada).today == challenge.per_day - 1


def test_a_program_follows_the_job_that_reads_its_large_file() -> None:
    a_challenge(images=100)
    ada = participant()
    _, key = create_token(user=ada, name="sends", scopes=["submissions:write"])
    program = Client(headers={"Authorization": f"Token {key}"})
    body = {"challenge": "lawns", "system": "s", "team": "t"}
    asked = program.post("/api/submissions/", body | {"file": file_of(long_captions())})
    assert (asked.status_code, asked.json()["state"]) == (202, "queued")
    assert signed_in(participant("eve")).get(asked["Location"]).status_code == 404
    work_off()
    job = program.get(asked["Location"]).json()
    assert (job["state"], job["progress"]) == ("done", 1.0)
    made = program.get(f"/api/submissions/{job['result']['submission']}/").json()
    assert (made["state"], made["captions"]) == ("scored", 100)
    other = program.post("/api/submissions/", body | {"file": file_of(long_captions("now "))})
    assert program.post(f"{other['Location']}cancel/").json()["state"] == "cancelled"
    assert program.post(f"{other['Location']}cancel/").status_code == 409
    work_off()
    assert Submission.objects.count() == 1


def test_a_challenge_is_made_changed_closed_and_cleaned_in_the_admin(designer: Client) -> None:
    dataset = a_challenge("elsewhere").dataset
    opens = timezone.now() - timedelta(hours=1)
    values = {
        "title": "Gardens", "slug": "gardens", "dataset": dataset.pk, "split": "test", "tokenizer": "ptb",
        "opens_at_0": f"{opens:%Y-%m-%d}", "opens_at_1": f"{opens:%H:%M:%S}", "closes_at_0": "", "closes_at_1": "",
        "per_day": 2, "per_total": 9, "shown_before_end": "on", "description": "Some *words*.",
    }  # fmt: skip

    def filled_in(**more: str) -> dict[str, Any]:
        return {f"challenge-{name}": value for name, value in (values | more).items()} | {"_save": "Save"}

    wrong = designer.post("/admin/challenges/challenge/add/", filled_in(metrics="bleu-4"))
    assert "ordered by bleu-4" in wrong.text
    designer.post("/admin/challenges/challenge/add/", filled_in(metrics="cider-d, bleu-4"))
    made = Challenge.objects.get(slug="gardens")
    assert (made.metrics, made.images) == (["cider-d", "bleu-4"], 24)
    page = designer.get(f"/admin/challenges/challenge/{made.pk}/change/")
    assert page.status_code == 200
    reply = designer.post(f"/admin/challenges/challenge/{made.pk}/change/", filled_in(title="Yards"))
    assert reply.status_code == 302
    made.refresh_from_db()
    assert (made.title, made.metrics) == ("Yards", ["cider-d", "bleu-4"])
    submission = submit(made, participant(), 5)
    work_off()
    remove = f"/admin/challenges/submission/{submission.pk}/remove/"
    assert designer.post(remove, {"why": " "}).status_code == 400
    assert designer.post(remove, {"why": "Trained on the test images."}).status_code == 302
    work_off()
    assert leaderboard_rows(challenge=made, user_id=None, now=timezone.now()) == []
    assert "Trained on the test images." in signed_in(submission.user).get("/challenges/gardens/own/").text
    assert "designer · Changed: title" in designer.get(f"/admin/challenges/challenge/{made.pk}/change/").text
    assert "&lt;li&gt;" not in designer.get(f"/admin/challenges/challenge/{made.pk}/change/").text
    close = f"/admin/challenges/challenge/{made.pk}/close/"
    assert designer.get(close).status_code == 200
    assert designer.post(close, {"why": "Done."}).status_code == 302
    assert designer.post(close, {"why": "Again."}).status_code == 400
    log = ChallengeEvent.objects.filter(challenge=made).order_by("pk")
    assert list(log.values_list("what", flat=True)) == ["made", "changed", "submission-removed", "closed"]
    assert {event.by.get_username() for event in log if event.by} == {"designer"}
    for path in ("challenge", "submission"):
        assert designer.get(f"/admin/challenges/{path}/").status_code == 200


def test_a_removed_submission_is_removed_once_and_its_captions_do_not_come_back() -> None:
    challenge, ada = a_challenge(), participant()
    made = submit(challenge, ada, 5)
    work_off()
    remove_submission(submission=made, why="Copied.")
    with pytest.raises(WrongState):
        remove_submission(submission=made, why="Copied.")
    assert submit(challenge, ada, 5).pk == made.pk
    assert Submission.objects.get().removed_why == "Copied."


def test_a_challenge_keeps_the_hash_of_its_references() -> None:
    first = a_challenge("one")
    again = Challenge(
        slug="two", title="Two", dataset=first.dataset, split="test", metrics=["rouge-l"], tokenizer="ptb"
    )
    assert make_challenge(challenge=again).references_sha256 == first.references_sha256
    other = a_challenge("three", images=23)
    assert other.references_sha256 != first.references_sha256


def test_bookmarks_of_the_lists_in_the_admin_still_lead_there(designer: Client) -> None:
    made = a_challenge()
    page = designer.get(f"/admin/evaluation/challenge/{made.pk}/change/?q=1")
    assert page["Location"] == f"/admin/challenges/challenge/{made.pk}/change/?q=1"


def test_what_its_author_does_not_show_is_for_organisers_of_that_challenge_alone() -> None:
    challenge = a_challenge()
    hidden = submit(challenge, participant(), 3, "Hidden", public=False)
    submit(challenge, participant("bela"), 5, "Shown")
    organiser, other = (User.objects.create_user(name, is_staff=True) for name in ("organiser", "other"))
    names = Permission.objects.filter(codename__in=["view_submission", "change_submission"])
    for user in (organiser, other):
        user.user_permissions.set(names)
    Challenge.objects.update(made_by=organiser)
    for user, seen in ((organiser, True), (other, False)):
        browser = signed_in(user)
        listed = browser.get("/admin/challenges/submission/").content.decode()
        assert ("Shown" in listed, "Hidden" in listed) == (True, seen)
        remove = browser.get(f"/admin/challenges/submission/{hidden.pk}/remove/")
        assert remove.status_code == (200 if seen else 404)


GERMAN = {"accept-language": "de"}


def test_the_way_from_the_list_to_the_leaderboard_is_german() -> None:
    made = a_challenge(title="Wiesen", description="")
    browser = Client(headers=GERMAN)
    before = [reverse("challenges:challenges"), reverse("challenges:challenge", args=[made.slug])]
    pages = [browser.get(address).text for address in [*before, reverse("challenges:sign-in")]]
    browser.force_login(participant())
    submit = reverse("challenges:submit", args=[made.slug])
    pages.append(browser.get(submit).text)
    values = {"system": "Gaertner", "team": "Ada", "public": "on"}
    refused = browser.post(submit, values | {"file": SimpleUploadedFile("a.json", b"[]")})
    assert "Bildunterschriften in der Datei: 0 von 24." in refused.text
    done = browser.post(submit, values | {"file": file_of(captions(20))}, follow=True)
    assert "Ihre Bildunterschriften sind gespeichert und werden bewertet." in done.text
    pages += [refused.text, done.text]
    work_off()
    pages += [browser.get(address).text for address in [*before, reverse("challenges:own", args=[made.slug])]]
    assert "Rangliste" in pages[-2]
    assert "Aus der Rangliste nehmen" in pages[-1]
    for shown in pages:
        assert '<html lang="de"' in shown
        assert english_on(shown) == []

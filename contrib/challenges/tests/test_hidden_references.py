"""A challenge's references stay hidden: by refusal of what would show them, at every address, and in figures."""

import json
import re
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from common.errors import DesignError
from contrib.challenges.challenges import change_challenge, close_challenge
from contrib.challenges.errors import ChallengeError
from contrib.challenges.models import Challenge, Submission
from contrib.challenges.scores.scoring import SCORING_FAILURE
from contrib.challenges.submissions import SubmissionDetails, submit_caption_file
from contrib.challenges.tests.challenging import (
    SECRET,
    a_challenge,
    captions,
    file_of,
    participant,
    references,
    staff,
    submit,
    work_off,
)
from judgments.access.dataset_roles import give_dataset_role, share_dataset
from judgments.design.reading.checking import make_design
from judgments.models import Study
from judgments.studies.studies import change_design, create_study
from quorum.metrics import score
from tests.annotation.casting import make_dataset as make_shapes
from tests.doors import signed_in
from tests.evaluation.studies import make_dataset
from tests.metrics.test_score import install
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
OVER = "until challenge"
DESIGN = {"name": "Lawns", "slug": "of-lawns", "dataset": "lawns", "protocol": "relevance"}


@pytest.mark.parametrize("sharing", ["installation", "published"])
def test_a_challenge_of_references_that_others_may_read_is_refused(sharing: str) -> None:
    share_dataset(dataset=make_dataset("lawns", references(), "test"), sharing=sharing)
    with refuses(ChallengeError, field="dataset"):
        a_challenge()
    assert Challenge.objects.count() == 0


def test_a_challenge_of_references_that_a_study_shows_is_refused() -> None:
    share_dataset(dataset=make_dataset("lawns", references(), "test"), sharing="members")
    create_study(design=make_design(DESIGN))
    with refuses(ChallengeError, "of-lawns", field="dataset"):
        a_challenge()
    assert Challenge.objects.count() == 0


def test_nobody_else_gets_to_read_the_references_before_the_challenge_is_over(designer: Client) -> None:
    challenge = a_challenge(opens_at=timezone.now() + timedelta(hours=1))
    do = reverse("admin:judgments_dataset_do", args=[challenge.dataset_id, "share"])
    elsewhere = create_study(design=make_design({**DESIGN, "dataset": make_shapes("other").name}))

    def shared_by_page() -> bool:
        return OVER not in designer.post(do, {"sharing": "published"}, follow=True).text

    def post(address: str, body: Any) -> Any:
        return designer.post(address, json.dumps(body), content_type="application/json")

    for _ in ("before it opens", "while it is open"):
        assert not shared_by_page()
        answer = post("/api/datasets/lawns/share/", {"sharing": "installation"})
        assert (answer.status_code, OVER in answer.text) == (409, True)
        with pytest.raises(CommandError, match=OVER):
            call_command("dataset_access", "lawns", "share", "--sharing", "installation")
        answer = post("/api/studies/", {**DESIGN, "slug": "new"})
        assert (answer.status_code, OVER in answer.text) == (400, True)
        with pytest.raises(DesignError, match=OVER):
            change_design(study=elsewhere, design=make_design(DESIGN))
        challenge.dataset.refresh_from_db()
        assert (challenge.dataset.sharing, Study.objects.count()) == ("members", 1)
        Challenge.objects.update(opens_at=timezone.now() - timedelta(hours=1))
    challenge.refresh_from_db()
    close_challenge(challenge=challenge, why="The time is over.")
    assert shared_by_page()
    assert post("/api/studies/", {**DESIGN, "slug": "new"}).status_code == 201
    challenge.refresh_from_db()
    challenge.closes_at = timezone.now() + timedelta(days=1)
    with refuses(ChallengeError, "everybody", field="dataset"):
        change_challenge(challenge=challenge, fields=["closes_at"])


def test_who_can_read_the_references_takes_no_part(designer: Client) -> None:
    challenge, member = a_challenge(), staff("member")
    give_dataset_role(dataset=challenge.dataset, user=member, role="viewer")
    body = {"challenge": "lawns", "system": "s", "team": "t"}
    for reader in (signed_in(member), designer):
        answer = reader.post("/api/submissions/", {**body, "file": file_of(captions(3))})
        assert (answer.status_code, "cannot take part" in answer.text) == (409, True)
        answer = reader.post("/challenges/lawns/submit/", {**body, "file": file_of(captions(3))})
        assert (answer.status_code, "cannot take part" in answer.text) == (409, True)
    assert Submission.objects.count() == 0


def test_only_owners_make_challenges_of_a_dataset() -> None:
    dataset = a_challenge("elsewhere").dataset
    organiser = staff("organiser", "add_challenge", "view_challenge", "view_dataset")
    give_dataset_role(dataset=dataset, user=organiser, role="owner")
    page, option = "/admin/challenges/challenge/add/", f'<option value="{dataset.pk}"'
    assert option in signed_in(organiser).get(page).text
    give_dataset_role(dataset=dataset, user=staff("heir"), role="owner")
    give_dataset_role(dataset=dataset, user=organiser, role="editor")
    assert option not in signed_in(organiser).get(page).text


QUOTING = """
from quorum.metrics.registry import text_metric
def refuse(candidates, references, settings):
    raise ValueError("cannot read " + references[0][0])
metric = text_metric("quoting", "fails, and says with which text", refuse)
"""


def test_what_a_metric_says_of_a_text_is_for_the_log_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "quoting_metric.py").write_text(QUOTING)
    install(tmp_path, "quorum-quoting", "1", "[quorum.metrics]\nquoting = quoting_metric:metric\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    challenge, ada = a_challenge(metrics=["cider-d", "quoting"]), participant()
    made = submit(challenge, ada, 5)
    work_off()
    shown = signed_in(ada).get(f"/api/submissions/{made.pk}/").json()
    assert (shown["state"], shown["reason"]) == ("failed", SCORING_FAILURE)
    assert SECRET in caplog.text


IMAGES = 16


def probing() -> tuple[Challenge, list[dict[str, Any]], np.ndarray[Any, Any], int]:
    """A challenge whose references hold a dog or a cat, a file that asks each of them which, and what it can tell.

    The attacker knows all words but that one, so that each image adds a share of its own to the score, or nothing.
    """
    animals = [("dog", "cat")[(number * 7 % 5) % 2] for number in range(IMAGES)]
    hidden = {str(number): [f"a {animal} sits in the grass"] for number, animal in enumerate(animals)}
    share_dataset(dataset=make_dataset("animals", hidden, "test"), sharing="members")
    asking = ["dog" + " x" * number for number in range(IMAGES)]
    each = score(asking, [["a dog sits in the grass"]] * IMAGES, ["rouge-l"]).scores["rouge-l"].images
    subsets = np.array(list(product((0, 1), repeat=IMAGES)))
    truth = int(np.flatnonzero((subsets == [animal == "dog" for animal in animals]).all(axis=1))[0])
    entries = [{"image_id": number, "caption": text} for number, text in enumerate(asking)]
    return a_challenge("animals", metrics=["rouge-l"]), entries, subsets @ each / IMAGES, truth


def test_a_probing_submission_leaves_hundreds_of_answers_open() -> None:
    """With all digits of its score the same file would tell a word of every image at once."""
    challenge, entries, sums, truth = probing()
    ada = participant()
    made, _ = submit_caption_file(
        challenge=challenge,
        user=ada,
        details=SubmissionDetails("Probe", "Team"),
        chunks=[json.dumps(entries).encode()],
    )
    work_off()
    made.refresh_from_db()
    stored = made.scores["rouge-l"]["corpus"]
    assert np.flatnonzero(np.abs(sums - stored) < 1e-12).tolist() == [truth]

    browser = signed_in(ada)
    shown = browser.get(f"/api/submissions/{made.pk}/").json()["scores"]["rouge-l"]
    board = browser.get("/api/challenges/animals/leaderboard/").json()["rows"]
    assert [row["scores"]["rouge-l"] for row in board] == [shown]
    open_answers = np.flatnonzero(np.round(sums, 3) == shown["corpus"])
    assert truth in open_answers
    assert len(open_answers) > 200  # of 65,536: a figure tells less than ten of the sixteen bits
    for path in ("/challenges/animals/", "/challenges/animals/own/", "/api/submissions/"):
        assert re.search(r"(?<!:\d\d)\.\d{4}", browser.get(path).text) is None, path  # but in times


def test_organisers_see_no_score_before_the_end_either(designer: Client) -> None:
    made = submit(a_challenge(shown_before_end=False), participant(), 7)
    work_off()
    made.refresh_from_db()
    figure = str(made.scores["cider-d"]["corpus"])[:5]
    page = designer.get(f"/admin/challenges/submission/{made.pk}/change/")
    assert page.status_code == 200
    assert figure not in page.text

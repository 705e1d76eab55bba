"""Studies that ask for a quiz in an installation that leaves it out."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client, override_settings
from django.urls import reverse

from annotation.crowds.opening import obstacles, open_study
from annotation.errors import NotAdmitted
from annotation.work.claims import claim_assignment
from common.errors import DesignError, WrongState
from contrib.quiz.tests.quizzing import QUESTIONS, quizzed
from judgments.models import Study
from judgments.studies.study_page import study_page_address
from tests.annotation.casting import make_dataset, make_study, with_person
from tests.annotation.crowds.turking import CROWD
from tests.installations import Installation, Installations

SENTENCE = "Turn on “quiz”"
USED = """
from contrib.quiz.tests.quizzing import take
from tests.annotation.casting import joined, make_dataset, make_study

dataset = make_dataset()
quiz = {"controls": {"per_hit": 0}, "quiz": {"preset": "hodosh-2013-english", "items": 1, "attempts": 1}}
study = make_study(dataset, name="Quizzed", slug="quizzed", **quiz)
take(study, joined(study, "ada"))
make_study(dataset, name="Draft", slug="draft", opened=False, **quiz)
make_study(dataset, name="Plain", slug="plain")
"""
VISIT = """
import io, json
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from annotation.models import QuizAttempt
from annotation.privacy import erasing, people
from annotation.views.visitors import WORKER_COOKIE
from annotation.work.joining import join_study
from judgments.models import Study
from judgments.studies.study_page import PAGES

said = io.StringIO()
rosa = User.objects.create_superuser("rosa", password="a long enough password")
browser = Client()
browser.force_login(rosa)
quizzed, draft, plain = (Study.objects.get(slug=slug) for slug in ("quizzed", "draft", "plain"))

def ask(path, client=browser, method="get"):
    reply = getattr(client, method)(path, follow=True)
    return [reply.status_code, reply.content.decode() if not reply.streaming else ""]

def person(study, name):
    client = Client()
    client.cookies[WORKER_COOKIE] = join_study(study=study, name=name).token
    return client

eve = person(quizzed, "eve")
ask("/admin/")  # loads the pages of studies
answer = {
    "pages": {
        f"{study.slug} {name}": ask(f"/admin/judgments/study/{study.pk}/{name}/")
        for study in (quizzed, draft, plain) for name in PAGES
    },
    "work": ask(f"/s/{quizzed.slug}/work/", eve),
    "start": ask(f"/s/{quizzed.slug}/start/", eve),
    "me": ask("/me/", eve),
    "quiz": [
        ask(f"/s/{quizzed.slug}/quiz/", eve), ask(f"/api/studies/{quizzed.slug}/quiz/"), ask("/api/quiz-attempts/"),
    ],
    "plain": ask(f"/s/{plain.slug}/work/", person(plain, "eve")),
}
call_command("check_integrity", stdout=said)
erasing.erase_person(study=quizzed, worker=people.find_person(quizzed, "ada"), by=rosa)
answer["attempts"] = QuizAttempt.objects.count()
answer["deleted"] = ask(f"/admin/judgments/study/{draft.pk}/delete/", method="post")[0]
call_command("check_integrity", stdout=said)
answer["left"] = sorted(Study.objects.values_list("slug", flat=True))
print(json.dumps(answer))
"""


@pytest.fixture
def off() -> Iterator[None]:
    reverse("admin:index")  # loads the addresses with the quiz on: the process keeps them for other tests
    features = {name: feature for name, feature in settings.FEATURES.items() if name != "quiz"}
    with override_settings(FEATURES=features):
        yield


@pytest.mark.django_db
@pytest.mark.usefixtures("off")
def test_a_study_with_a_quiz_is_not_opened_and_its_checklist_says_why(admin_client: Client) -> None:
    study = make_study(make_dataset(), quiz={"questions": QUESTIONS}, opened=False)
    with pytest.raises(WrongState, match=SENTENCE):
        open_study(study=study)
    assert Study.objects.get().state == Study.State.GENERATED
    assert SENTENCE in admin_client.get(study_page_address(study, "launch")).content.decode()


@pytest.mark.django_db
@pytest.mark.usefixtures("off")
def test_the_checklist_of_mechanical_turk_says_it_once(admin_client: Client) -> None:
    study = make_study(make_dataset(), quiz={"questions": QUESTIONS}, crowd=CROWD, opened=False)
    assert [one.topic for one in obstacles(study, cents=0) if SENTENCE in one.sentence] == ["quiz"]
    assert admin_client.get(study_page_address(study, "launch")).content.decode().count(SENTENCE) == 1


@pytest.mark.django_db
def test_an_open_study_lets_nobody_in_without_its_quiz(request: pytest.FixtureRequest) -> None:
    study, ada = with_person(quizzed())
    request.getfixturevalue("off")
    with pytest.raises(NotAdmitted):
        claim_assignment(study=study, worker=ada.worker)


@pytest.mark.django_db
@pytest.mark.usefixtures("off")
def test_known_items_are_not_drawn_and_a_study_without_a_quiz_opens() -> None:
    dataset = make_dataset()
    with pytest.raises(DesignError, match=SENTENCE) as refused:
        make_study(dataset, quiz={"items": 1})
    assert refused.value.field == "quiz.items"
    study, ada = with_person(make_study(dataset, name="Plain"))
    assert claim_assignment(study=study, worker=ada.worker) is not None


@pytest.fixture
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("quiz")
        yield installation


@pytest.mark.long
def test_studies_that_had_a_quiz_are_shown_erased_and_deleted(installation: Installation) -> None:
    answer = installation.reply_of(VISIT)
    assert {name: status for name, (status, _) in answer["pages"].items() if status not in (200, 404)} == {}
    assert SENTENCE in answer["pages"]["draft launch"][1]
    assert 'name="quiz-preset"' not in answer["pages"]["draft change"][1]
    assert [status for status, _ in answer["quiz"]] == [404] * 3
    assert answer["work"][0] == 403
    assert [answer["start"][0], answer["me"][0]] == [200, 200]
    assert 'data-assignment="' in answer["plain"][1]
    assert answer["attempts"] == 0
    assert answer["deleted"] == 200
    assert answer["left"] == ["plain", "quizzed"]

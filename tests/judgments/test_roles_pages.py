"""The pages People and Log of a study: roles given, changed and taken; what was done, to read and to take home."""

import csv
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.rows.append_only import AppendOnlyError
from judgments.access.roles import give_role
from judgments.access.study_log import note_event
from judgments.models import Study, StudyEvent, StudyRole
from tests.judgments.desk import do, page, words
from tests.studies import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(opened=False)


def person(name: str, **values: Any) -> User:
    return User.objects.create_user(name, **{"is_staff": True} | values)


def with_role(study: Study, role: str) -> tuple[User, Client]:
    user, client = person(role), Client()
    give_role(study=study, user=user, role=role)
    client.force_login(user)
    return user, client


def roles(study: Study) -> dict[str, str]:
    return dict(StudyRole.objects.filter(study=study).values_list("user__username", "role"))


def streamed(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


class TestPeople:
    def test_an_owner_gives_changes_and_takes_a_role_and_each_is_in_the_log(self, study: Study) -> None:
        _, owner = with_role(study, "owner")
        ada = person("ada")
        owner.post(do(study, "give-role"), {"user": ada.pk, "role": "viewer", "page": "people"})
        owner.post(do(study, "give-role"), {"user": ada.pk, "role": "designer", "page": "people"})
        assert roles(study) == {"owner": "owner", "ada": "designer"}
        answer = owner.post(do(study, "take-role"), {"user": ada.pk, "page": "people"}, follow=True)
        assert "ada no longer has a role in this study" in words(answer)
        assert roles(study) == {"owner": "owner"}
        log = StudyEvent.objects.filter(study=study, by__username="owner").order_by("pk")
        assert list(log.values_list("what", flat=True)) == ["role-given", "role-given", "role-taken"]
        assert [entry.details.get("before") for entry in log] == [None, "viewer", "designer"]

    def test_the_page_names_everybody_with_role_day_and_giver(self, study: Study) -> None:
        user, owner = with_role(study, "owner")
        give_role(study=study, user=person("ada"), role="reviewer", by=user)
        shown = words(owner.get(page(study, "people")))
        assert "owner you" in shown
        assert "ada reviewer" in shown
        with_nobody = words(with_role(study, "viewer")[1].get(page(study, "people")))
        assert "ada reviewer" in with_nobody
        assert "Give the role" not in with_nobody

    @pytest.mark.parametrize("step", ["give-role", "take-role"])
    def test_the_only_owner_cannot_leave_and_a_second_one_can(self, study: Study, step: str) -> None:
        user, owner = with_role(study, "owner")
        sent = {"user": user.pk, "role": "viewer", "page": "people"}
        assert "is the only owner" in words(owner.post(do(study, step), sent, follow=True))
        assert roles(study) == {"owner": "owner"}
        give_role(study=study, user=person("ada"), role="owner")
        assert owner.post(do(study, step), sent).status_code == 302
        assert roles(study) == {"ada": "owner"} | ({"owner": "viewer"} if step == "give-role" else {})
        gone = owner.get(page(study, "people")).status_code
        assert gone == (200 if step == "give-role" else 404)

    @pytest.mark.parametrize("role", ["viewer", "reviewer", "designer"])
    def test_nobody_else_gives_or_takes(self, study: Study, role: str) -> None:
        user, client = with_role(study, role)
        for step in ("give-role", "take-role"):
            assert client.post(do(study, step), {"user": user.pk, "role": "owner"}).status_code == 403
        assert roles(study) == {role: role}

    @pytest.mark.parametrize(
        "sent", [{}, {"user": "x"}, {"user": "9" * 30}, {"user": "worker"}, {"user": "ada", "role": "king"}]
    )
    def test_what_makes_no_sense_is_refused_in_a_sentence(self, study: Study, sent: dict[str, str]) -> None:
        _, owner = with_role(study, "owner")
        people = {"worker": person("worker", is_staff=False).pk, "ada": person("ada").pk}
        sent = {"role": "viewer", **sent, "page": "people"}
        sent["user"] = str(people.get(sent.get("user", ""), sent.get("user", "")))
        answer = owner.post(do(study, "give-role"), sent, follow=True)
        assert answer.status_code == 200
        assert "q-error" in answer.content.decode() or "error" in answer.content.decode()
        assert roles(study) == {"owner": "owner"}


class TestLog:
    def test_the_newest_stands_first_with_reason_and_details(self, study: Study) -> None:
        user, client = with_role(study, "viewer")
        note_event(study=study, what="closed", sentence="Shut <b>now</b>.", by=user, why="Enough.", hits=3)
        answer = client.get(page(study, "log"))
        shown = words(answer)
        assert shown.index("Shut <b>now</b>.") < shown.index("role-given viewer is viewer now.")
        assert "Reason: Enough." in shown
        assert "hits: 3" in shown
        assert "<b>now</b>" not in answer.content.decode()

    def test_it_is_narrowed_by_kind_and_person(self, study: Study) -> None:
        user, client = with_role(study, "viewer")
        note_event(study=study, what="closed", sentence="Shut by somebody.", by=user)
        note_event(study=study, what="closed", sentence="Shut by itself.")
        for query, seen in {
            "what=closed": (True, True),
            f"by={user.pk}": (True, False),
            "by=platform&what=closed": (False, True),
            "by=x": (False, False),
            f"by={'9' * 30}": (False, False),
        }.items():
            shown = words(client.get(f"{page(study, 'log')}?{query}"))
            assert ("Shut by somebody." in shown, "Shut by itself." in shown) == seen, query

    def test_pages_lead_to_older_entries(self, study: Study) -> None:
        _, client = with_role(study, "viewer")
        for number in range(60):
            note_event(study=study, what="noted", sentence=f"Note {number:03}.")
        assert "Note 059." in words(client.get(page(study, "log")))
        assert "Note 003." not in words(client.get(page(study, "log")))
        assert "Note 003." in words(client.get(page(study, "log") + "?page=2"))

    def test_the_files_hold_every_entry_oldest_first_and_no_formula(self, study: Study) -> None:
        user, client = with_role(study, "viewer")
        note_event(
            study=study, what="closed", sentence="=cmd|' /C calc'!A0", by=user, why="Gr\u00fc\u00dfe", n=1
        )
        lines = streamed(client.get(page(study, "log-file") + "?as=jsonl")).splitlines()
        entries = [json.loads(line) for line in lines]
        assert [entry["what"] for entry in entries] == ["created", "role-given", "closed"]
        assert entries[-1]["why"] == "Gr\u00fc\u00dfe"
        assert entries[-1]["by"] == "viewer"
        assert entries[-1]["details"] == {"n": 1}
        rows = list(csv.DictReader(streamed(client.get(page(study, "log-file") + "?as=csv")).splitlines()))
        assert [row["what"] for row in rows] == ["created", "role-given", "closed"]
        assert not rows[-1]["words"].startswith("=")
        narrowed = streamed(client.get(page(study, "log-file") + "?as=jsonl&what=closed")).splitlines()
        assert len(narrowed) == 1
        assert client.get(page(study, "log-file") + "?as=xlsx").status_code == 404

    def test_no_entry_can_be_changed_or_deleted(self, study: Study, designer: Client) -> None:
        entry = StudyEvent.objects.filter(study=study)[0]
        for act in ("change", "delete"):
            answer = designer.post(
                f"/admin/judgments/studyevent/{entry.pk}/{act}/", {"words": "x", "post": "yes"}
            )
            assert answer.status_code == 403
        with pytest.raises(AppendOnlyError):
            StudyEvent.objects.filter(pk=entry.pk).update(words="x")
        with pytest.raises(AppendOnlyError):
            StudyEvent.objects.filter(pk=entry.pk).delete()
        assert StudyEvent.objects.get(pk=entry.pk).words == entry.words

"""What an installation without a kind shows of the studies that it has of it."""

import re
from typing import Any

from tests.installations import Installations

# Of the studies "done", which was rehearsed, "draft", and "open", of which ann submitted one answer.
VISIT = """
import io, json
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from annotation.models import Judgment
from annotation.privacy import erasing, people
from judgments.models import Study
from judgments.studies.study_page import PAGES

said = io.StringIO()
rosa = User.objects.create_superuser("rosa", password="a long enough password")
browser = Client(raise_request_exception=False)
browser.force_login(rosa)
done, draft, opened = (Study.objects.get(slug=slug) for slug in ("done", "draft", "open"))
def ask(path, method="get"):
    reply = getattr(browser, method)(path)
    return [reply.status_code, reply.content.decode() if not reply.streaming else ""]
answer = {
    "lists": [
        ask(f"/admin/{path}")
        for path in ("", "judgments/study/", "judgments/study/add/", "annotation/judgment/")
    ],
    "pages": {
        f"{study.slug} {name}": ask(f"/admin/judgments/study/{study.pk}/{name}/")
        for study in (done, draft) for name in PAGES
    },
    "people": [ask("/s/open/"), ask("/s/open/work/"), ask("/s/open/preview/")],
}
call_command("check_integrity", stdout=said)
person = people.find_person(opened, "ann")
erasing.erase_person(study=opened, worker=person, by=rosa)
answer["left"] = list(Judgment.objects.of_study(opened).values_list("answer", flat=True))
call_command("check_integrity", stdout=said)
answer["deleted"] = [ask(f"/admin/judgments/study/{draft.pk}/delete/", method)[0] for method in ("get", "post")]
answer["there"] = Study.objects.filter(slug="draft").exists()
answer["said"] = said.getvalue()
print(json.dumps(answer, default=str))
"""


def visit(installations: Installations, *, used: str, feature: str) -> dict[str, Any]:
    """Return what the pages show without the feature, after a script has used the installation with it."""
    with installations.fresh("sqlite", after=used) as installation:
        installation.turn_off(feature)
        return installation.reply_of(VISIT)


def check_that_pages_say(answer: dict[str, Any], sentence: str) -> None:
    """Check that studies are listed and deleted, and that what needs the kind says the sentence."""
    assert [status for status, _ in answer["lists"]] == [200] * 4
    refused = {name: text for name, (status, text) in answer["pages"].items() if status == 409}
    assert {"done change", "draft change", "draft plan", "done board"} <= refused.keys()
    assert [name for name, text in refused.items() if sentence not in text] == []
    assert [name for name, (status, _) in answer["pages"].items() if status not in (200, 302, 404, 409)] == []
    assert re.search(r'href="/admin/judgments/study/\d+/delete/"', refused["draft change"])
    assert [status for status, _ in answer["people"]] == [200, 302, 409]
    assert sentence in answer["people"][2][1]
    assert answer["deleted"] == [200, 302]
    assert not answer["there"]

"""What a rehearsal says on the checklist of a launch."""

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from contrib.rehearsals.results import compute_rehearsal, store_rehearsal
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.models import Analysis
from judgments.access.roles import give_role
from judgments.models import Study
from judgments.studies.generation.hits import generate_hits
from tests.annotation.test_launch_page import checked
from tests.judgments.desk import do, page
from tests.studies import make_study

pytestmark = pytest.mark.django_db


def test_a_study_that_nobody_rehearsed_says_so(designer: Client) -> None:
    points = checked(designer, make_study(opened=False))
    assert points["Rehearsal"][0] == "can be improved"
    assert points["Agreement expected"][0] == "not known yet"


def test_a_rehearsal_tells_what_agreement_to_expect(designer: Client) -> None:
    study = make_study(opened=False)
    designer.post(do(study, "rehearse"), {"workers": "4", "spammers": "0", "seed": "1"})
    copy = Study.objects.exclude(pk=study.pk).get()
    generate_hits(study=copy)
    crowd = RehearsalCrowd(workers=4, spammers=0.0, seed=1)
    report = rehearse(study=copy, crowd=crowd)
    copy.refresh_from_db()
    store_rehearsal(compute_rehearsal(study=copy, crowd=crowd, report=report))
    points = checked(designer, study)
    assert points["Rehearsal"][0] == "ready"
    assert points["Agreement expected"][0] == "can be improved"  # careless answers at random
    assert "Krippendorff" in points["Agreement expected"][1]
    analysis = Analysis.objects.newest(copy, Analysis.Kind.REHEARSAL)
    assert analysis is not None
    row = {"first": "A", "second": "B", "pairs": 36}
    analysis.result["power"] = [
        row | {"what": what, "difference": difference, "main": main, "power": power, "needed": needed}
        for what, difference, main, power, needed in (
            ("systems", 0.6, False, 0.3, None),
            ("systems", 0.7, True, 0.9, 36),
            ("metrics", 0.05, False, 0.02, None),
            ("metrics", 0.1, True, 0.04, 1152),
        )
    ]
    analysis.save()
    readiness, sentence = checked(designer, study)["Power"]
    assert readiness == "doubtful"
    assert "Then 2 and 4 of 100 studies like this one would find it" in sentence
    assert "the better of two metrics is right on 5 % and 10 % more of the pairs." in sentence
    assert "the study needs more pairs (about 1,152 instead of 36)." in sentence
    generate_hits(study=study)
    study.refresh_from_db()
    # what the study is for since the rehearsal decides what its power is about
    for purpose, readiness in (
        ("systems", "ready"),
        ("ranking", "ready"),
        ("labels", ""),
        ("metrics", "doubtful"),
    ):
        study.design["purpose"] = purpose
        study.save()
        assert checked(designer, study).get("Power", ("",))[0] == readiness, purpose
        with transaction.atomic():
            opened = designer.post(f"/api/studies/{study.slug}/open/", {}, content_type="application/json")
            transaction.set_rollback(True)
        assert opened.status_code == (409 if readiness == "doubtful" else 200), purpose
    refused = designer.post(f"/api/studies/{study.slug}/open/", {}, content_type="application/json")
    assert refused.status_code == 409
    assert "2 and 4 of 100 studies like this one would find it" in refused.json()["detail"]
    assert "(numbers in the same order). To open the study nevertheless" in refused.json()["detail"]
    assert 'name="anyway"' in designer.get(page(study, "launch")).content.decode()
    # Systems that are alike tell nothing of a power to find a difference, however high it is said to be.
    study.design["purpose"] = "systems"
    study.save()
    assert "30 and 90 of 100 studies like this one would find it" in checked(designer, study)["Power"][1]
    for row in analysis.result["power"]:
        row["alike"] = row["what"] == "systems"
    analysis.save()
    assert checked(designer, study)["Power"][0] == "not known yet"
    study.design["purpose"] = "metrics"
    study.save()
    # the copy belongs to its maker: who only sees the study learns nothing from it
    viewer = User.objects.create_user("vera", is_staff=True)
    give_role(study=study, user=viewer, role="viewer")
    designer.force_login(viewer)
    assert checked(designer, study)["Rehearsal"][0] == "can be improved"
    designer.force_login(User.objects.get(username="designer"))
    designer.post(do(study, "open"), {"page": "launch", "anyway": "true"})
    study.refresh_from_db()
    assert study.state == "open"

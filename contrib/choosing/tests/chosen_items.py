"""Studies whose items are chosen."""

from django.core.management import call_command

from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.models import Study
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import mark_open
from tests.studies import make_dataset, make_study

METRICS = ["bleu-1", "rouge-l"]


def draft(protocol: str, **values: object) -> Study:
    make_dataset(images=80, systems=3)
    return make_study(protocol, opened=False, seed=5, **values)


def pairs_draft() -> Study:
    return draft("pairwise", sampling={"pairs": {"HM": 60, "MM": 60}})


def choose(study: Study, *options: str) -> Study:
    call_command("select_items", study.slug, *options)
    study.refresh_from_db()
    return study


def judged(study: Study) -> Study:
    generate_hits(study=study)
    mark_open(study=study)
    rehearse(study=study, crowd=RehearsalCrowd(workers=8, spammers=0.0, seed=4))
    study.refresh_from_db()
    return study

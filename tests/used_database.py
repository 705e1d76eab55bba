"""A database in which each feature has rows in each table that it writes, and one person who did all that people do.

``use_features`` runs in an installation that has all features. The person is Ada: NAME where people choose a name, ADA
at a panel, TURKER at Mechanical Turk. All that she wrote has WORD, but for captions: these stay where they are adopted.
"""

import json
from io import StringIO
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from rest_framework.authtoken.models import Token

from annotation.crowds.opening import close_study, open_study
from annotation.models import CrowdSession, Worker
from annotation.money.account_limits import set_limits
from annotation.money.payments import decide_session
from annotation.privacy.consent import change_consent
from annotation.privacy.erasure_requests import request_erasure
from annotation.quality.exclusions import exclude_worker
from annotation.quality.reviews import reject_assignments, store_appeal
from annotation.quality.rules import store_rule
from annotation.work.claims import claim_assignment
from annotation.work.joining import create_invitations
from annotation.work.submissions import report_problem, submit_assignment
from contrib.adjudication.decisions import decide_adjudication, send_to_adjudicator
from contrib.adoption.adopting import adopt_captions
from contrib.archives.models import Deposit
from contrib.arena.tests.arenas import arena
from contrib.challenges.tests.challenging import a_challenge, participant, submit, work_off
from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from contrib.disagreement.cached_figures import DISAGREEMENT
from contrib.follow_up.batches import make_next_batch
from contrib.hit_templates.tests.templating import make_template_study
from contrib.judgment_imports.importing import import_judgments
from contrib.multiverse.conclusions import compute_multiverse
from contrib.multiverse.storing import store_multiverse
from contrib.panel_lists.tests.lists import HEADER, line
from contrib.planning.assumptions import read_assumptions
from contrib.planning.plans import compute_plan, store_power_plan
from contrib.prolific.tests.emulator import ProlificEmulator
from contrib.prolific.tests.panel import Panel, point_at
from contrib.prolific.tests.panel import panel_study as study_at_prolific
from contrib.published_sets.tests.test_fifty import PAIR, folder
from contrib.quiz.tests.quizzing import QUESTIONS, take
from contrib.registration.plans import parse_plan, register_study
from contrib.rehearsals.copies import copy_for_rehearsal
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from contrib.second_factor.devices import enable_second_factor, get_or_create_pending_device
from contrib.second_factor.tests.test_second_factor import code_of
from contrib.webhooks.operations import store_webhook, write_test_message
from evaluation.data.judgment_sets.blocks import store_digests
from evaluation.models import Release
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.access.dataset_roles import give_dataset_role
from judgments.access.roles import give_role
from judgments.cached_figures import recompute_figures, store_figures
from judgments.design.saved_presets import store_preset
from judgments.models import Dataset, Study
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import mark_open
from tests.annotation.casting import Person, joined
from tests.annotation.casting import make_dataset as make_pictures
from tests.annotation.casting import make_study as make_study_of
from tests.annotation.crowds.panels import ADA, BOB, EVE, at_work, do_page, done, give, panel_study, start
from tests.annotation.crowds.turking import Crowd, emulated, make_turk_study, sync
from tests.annotation.leasing import claimed
from tests.annotation.sourcing import side_by_side
from tests.annotation.writing import PASTED, write, write_all, writing_study
from tests.doors import call, get, key_of, signed_in
from tests.installations import once_a_run
from tests.studies import make_study

NAME, EMAIL, WORD = "Ada Unmistakable", "unmistakable@example.org", "quetzal"
TURKER = "AUNMISTAKABLE"
CONTROLS = {"controls": {"per_hit": 0}}


def use_accounts(rosa: User) -> None:
    """What accounts have: a second factor, tokens, groups, a session, a log of what they changed."""
    colleague = User.objects.create_superuser("colleague", password="a long enough password")
    colleague.user_permissions.add(Permission.objects.get(codename="view_study"))
    signed_in(colleague).post("/admin/auth/group/add/", {"name": "Annotators"})
    colleague.groups.add(Group.objects.get(name="Annotators"))
    Token.objects.create(user=colleague)
    type(get_or_create_pending_device(colleague)).objects.update(confirmed=False)
    enable_second_factor(user=colleague, code=code_of(colleague))


def use_crowds(rosa: User) -> None:
    """Ada at Mechanical Turk, at Prolific and at a panel whose lists are booked; all three paid her."""
    with emulated() as mturk:
        study = make_turk_study(name="At Mechanical Turk", slug="at-mturk")
        open_study(study=study, by=rosa)
        sync(study)
        Crowd(mturk, study).do_all("unmistakable", "bob")
        sync(study)
        for session in study.crowd_sessions.all():
            decide_session(session=session, approve=True)
        sync(study)
        pay_bonus_by_api(study, 30, rosa)
        sync(study)
        close_study(study=study)
        sync(study)
    with ProlificEmulator() as prolific:
        point_at(prolific, settings)  # type: ignore[arg-type]  # Django's own, which it sets
        study = study_at_prolific(slug="at-prolific", demographics=["age"])
        open_study(study=study)
        panel = Panel(study, prolific)
        for ids in (ADA, BOB):
            submission, _ = prolific.enter(panel.publication.external_id, ids["PROLIFIC_PID"])
            names = {"STUDY_ID": panel.publication.external_id, "SESSION_ID": submission}
            browser, _ = start(study, ids | names)
            do_page(study, browser)
            prolific.come_back(submission, panel.code())
        sync(study)
        for session in CrowdSession.objects.filter(study=study):
            decide_session(session=session, approve=True)
        sync(study)
        call_command("fetch_demographics", "at-prolific", stdout=StringIO())
    listed = panel_study(slug="listed", name="Booked from a list", dataset="listed")
    done(listed, ADA, BOB)
    at_work(listed, EVE)
    give(listed, ADA["PROLIFIC_PID"])
    lines = (line(ADA, "APPROVED"), line(BOB, "REJECTED"), line(EVE, "APPROVED"))
    call_command(
        "reconcile_panel", "listed", written("list.csv", HEADER, *lines), "--book", stdout=StringIO()
    )


def pay_bonus_by_api(study: Study, cents: int, by: User) -> None:
    """Pay the first person of the study, or ask another account to confirm it, above a limit."""
    headers = {**key_of(by, studies=[study]), "Idempotency-Key": f"bonus of {cents}"}
    worker = study.crowd_sessions.order_by("pk")[0].worker
    asked = {"worker": worker.name, "cents": cents}
    shown = get(f"/api/studies/{study.slug}/bonus/?{urlencode(asked)}", headers)
    body = asked | {"why": "Well done.", "confirm": shown["confirm"]}
    assert call("post", f"studies/{study.slug}/bonus/", headers, body).status_code == 202


def use_kinds(rosa: User) -> None:
    """Ada in a study of each kind and way of asking that a feature adds, beside simulated people."""
    drawn = arena(name="Arena", slug="arena")
    answer(drawn, ada_in(drawn).worker, value=1)
    answers: dict[str, dict[str, Any]] = {
        "slider": {"value": 50},
        "best-worst": {"answer": {"best": 1, "worst": 2}},
    }
    for kind, given in answers.items():
        study = make_study(kind, name=f"Asked: {kind}", slug=f"asked-{kind}")
        answer(study, ada_in(study).worker, **given)
        rehearse(study=make_study(kind, name=f"Simulated: {kind}"), crowd=RehearsalCrowd(workers=3))
    spans = side_by_side(slug="spans")
    answer(spans, ada_in(spans).worker, answer={"spans": [], "score": 70})
    template = make_template_study(Path(mkdtemp()), judgments_per_unit=4)
    answer(template, ada_in(template).worker, answer={"tone": "pos", "place": "Ulm", "why": WORD})
    shapes = Dataset.objects.get(name="shapes")
    asked = make_study_of(shapes, name="With a quiz", slug="quiz", quiz={"questions": QUESTIONS})
    take(asked, ada_in(asked))
    pool = make_study_of(make_pictures("few"), "relevance", name="Of few control items", slug="few-controls")
    answer(pool, ada_in(pool).worker, value=1)
    make_study("pairwise", name="Stops early", stopping={"rule": "settled", "full_depth": 0.5})


def use_texts(rosa: User) -> None:
    """Captions that Ada wrote, one of them pasted, flagged and rejected, are adopted; she appeals, and asks to go."""
    study = writing_study(
        dataset_name="written",
        writers=3,
        slug="written",
        writing={"record": True, "hidden_line": True},
        erasure={"offered": "on-request"},
    )
    store_rule(study=study, rule="pasted-text", settings={}, action="flag", enabled=True)
    ada = ada_in(study).worker
    page = write(study, ada, signals=PASTED)
    write_all(study, "ben")
    close_study(study=study)
    adopt_captions(study=study)
    reject_assignments(study=study, assignments=[page.pk], reason=f"{NAME} copied.", by=rosa)
    page.refresh_from_db()
    store_appeal(assignment=page, worker=ada, text=f"I did not: {WORD}.")
    request_erasure(study=study, worker=ada)


def use_results(rosa: User) -> None:
    """A study with what the platform and features make of judgments, and drafts that follow from it."""
    study = make_study(
        "pairwise",
        opened=False,
        slug="judged",
        name="Judged",
        consent="Yes?",
        access={"join": "invited"},
        sampling={"pairs": {"MM": 6}},
        controls={"per_hit": 0},
    )
    register_study(study=study, plan=parse_plan({"hypotheses": [{"text": "People agree."}]}), by=None)
    generate_hits(study=study)
    mark_open(study=study)
    webhook = store_webhook(study=study, url="https://192.0.32.10/", events=["assignment.submitted"])
    write_test_message(webhook=webhook)
    [code] = create_invitations(study=study, count=1, note=f"for {EMAIL}")
    others = create_invitations(study=study, count=2, note="the lab")
    ada = ada_in(study, consent=True, code=code.code).worker
    page = claimed(study, ada).assignment
    report_problem(assignment=page, position=1, what="other", comment=f"{WORD}, says {EMAIL}")
    answer(study, ada, value=1)
    for name, invitation in zip(("ben", "cyd"), others, strict=True):
        answer(study, joined(study, name, consent=True, code=invitation.code).worker, value=2)
    exclude_worker(study=study, worker=Worker.objects.get(name="cyd"), why=f"copied from {NAME}", by=rosa)
    change_consent(study=study, text="Yes, still?", why="clearer")
    unit = study.units.filter(control=False)[0]
    [sent] = send_to_adjudicator(study=study, units=[unit.pk], adjudicator=rosa)
    decide_adjudication(adjudication=sent, answer=1)
    import_answers(study)
    import_scores(study.dataset)
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1", "rouge-l", "comet"])
    call_command("compare_judges", study.slug, stdout=StringIO())
    multiverse = compute_multiverse(study, metrics=["bleu-1", "rouge-l"], tokenizer="ptb", data_hash="0" * 64)
    store_multiverse(study, multiverse, judgments="0" * 64)
    store_snapshot(compute_snapshot(study=study))
    close_study(study=study)
    release = Release.objects.create(study=study, version="1.0", size=1)  # a real one draws for half a minute
    Deposit.objects.create(
        release=release, archive="zenodo", host="zenodo.org"
    )  # archives are services of others
    call_command("erase_person", study.slug, "--worker", "cyd", "--yes", stdout=StringIO())
    store_digests(study, {}, 0)  # blocks of rows would take 100,000 judgments
    store_figures(recompute_figures(study, [DISAGREEMENT.name]))
    make_next_batch(study=study, keys=[study.pairs.values_list("key", flat=True)[0]])
    store_preset(design=design_of(study), slug="as-judged", title="As judged", by=rosa)
    give_role(study=study, user=rosa, role="owner")
    give_dataset_role(dataset=study.dataset, user=rosa, role="owner")
    planned = make_study("pairwise", opened=False, name="Planned", slug="planned")
    assumptions = read_assumptions({"simulations": 20, "pairs": [50]})
    store_power_plan(study=planned, assumptions=assumptions, result=compute_plan(assumptions=assumptions))
    copy_for_rehearsal(study=planned)
    call_command("select_items", "planned", "--method", "even", "--budget", "3", stdout=StringIO())


def import_answers(study: Study) -> None:
    """Answers of a judge, and predictions of a model."""
    units = study.units.filter(control=False).values_list("key", flat=True)
    answers = written("judge.csv", "unit,value", *(f"{unit},1" for unit in units))
    call_command("import_judge", study.slug, answers, name="model", stdout=StringIO())
    shares = [json.dumps({"unit": unit, "distribution": {"1": 0.4, "2": 0.6}}) for unit in units]
    call_command(
        "import_predictions", study.slug, written("p.jsonl", *shares), name="model", stdout=StringIO()
    )


def import_scores(dataset: Dataset) -> None:
    """Scores of a metric that was computed elsewhere."""
    outputs = dataset.systems.values_list("outputs__item__name", "outputs__caption__text")
    scores = [json.dumps({"image": image, "caption": text, "score": len(text)}) for image, text in outputs]
    file = written("scores.jsonl", *scores)
    call_command("import_scores", file, dataset=dataset.name, metric=["comet"], stdout=StringIO())


def use_files(rosa: User) -> None:
    """Sets, systems and judgments that come as files; Ada is among the judgments."""
    pascal = folder(Path(mkdtemp()), PAIR)
    call_command("import_dataset", "pascal-50s", pascal, name="pascal", stdout=StringIO())
    dataset = Dataset.objects.get(name="animals")
    image, caption = dataset.items.earliest("pk").name, dataset.captions.earliest("pk").text
    keywords = written("keywords.csv", "image,keywords", f"{image},dog; lawn")
    call_command("import_candidates", "csv", keywords, dataset="animals", system="namer", stdout=StringIO())
    row = {"unit": "u", "worker": NAME, "value": 3, "image": image, "first_text": caption, "comment": WORD}
    import_judgments(
        format="jsonl", path=written("rows.jsonl", json.dumps(row)), dataset="animals", study="elsewhere",
        protocol="graded",
    )  # fmt: skip


def use_drafts(rosa: User) -> None:
    """Studies that nobody was let into, so that they can be deleted; each uses a feature."""
    shapes = Dataset.objects.get(name="shapes")
    for kind in ("slider", "best-worst", "spans"):
        make_study(kind, opened=False, name=f"Draft: {kind}")
    generate_hits(study=make_study("slider", opened=False, name="Ready: slider"))
    make_template_study(Path(mkdtemp()), slug="ready-template", opened=False)
    ways: dict[str, dict[str, Any]] = {
        "quiz": {"quiz": {"questions": QUESTIONS}},
        "typing": {"rules": [{"rule": "typing", "action": "flag"}]},
        "panel": {"panel": {"preset": "prolific"}, "crowd": {"backend": "external"}},
        "prolific": {"panel": {"preset": "prolific", "api": True}, "crowd": {"backend": "external"}},
    }
    for name, values in ways.items():
        make_study_of(shapes, opened=False, name=f"Ready: {name}", slug=f"ready-{name}", **values)
    design = {"arena": {"pages": 3}, "answers": {"no_difference": True}, "sampling": {}}
    generate_hits(study=make_study("pairwise", opened=False, name="Ready: arena", **design))
    ready = make_study("pairwise", opened=False, name="Ready", slug="ready", sampling={"pairs": {"MM": 6}})
    register_study(study=ready, plan=parse_plan({"hypotheses": [{"text": "People agree."}]}), by=None)
    generate_hits(study=ready)
    import_answers(ready)
    store_webhook(study=ready, url="https://192.0.32.10/", events=["study.completed"])
    store_snapshot(compute_snapshot(study=ready))


def use_limits(rosa: User) -> None:
    """A limit, and a bonus above it that waits for another account."""
    set_limits(currency="USD", by=rosa, confirm_cents=50)
    pay_bonus_by_api(Study.objects.get(slug="at-mturk"), 60, rosa)


def use_challenges(rosa: User) -> None:
    """A challenge with a submission."""
    submit(a_challenge(), participant("grace"), good=7)


def written(name: str, *lines: str) -> Path:
    """Return a file of these lines."""
    path = Path(mkdtemp(), name)
    path.write_text("\n".join(lines) + "\n")
    return path


def ada_in(study: Study, **values: Any) -> Person:
    """Let Ada join, as the participant whom other studies know."""
    return joined(study, NAME, known_worker=Worker.objects.filter(name=NAME).first(), **values)


def answer(study: Study, worker: Worker, **given: Any) -> None:
    """Give the same answer to all that a person is shown, each with a comment."""
    comment = f"{WORD} {NAME}" if worker.name == NAME else "Fine."
    while claim := claim_assignment(study=study, worker=worker):
        answers = [{"position": one.position, "comment": comment, **given} for one in claim.page_units]
        submit_assignment(assignment=claim.assignment, answers=answers)


def use_features() -> None:
    """Use every feature; then ask the database whether a table was left out."""
    settings.ALLOWED_HOSTS = ["localhost", "testserver"]
    with once_a_run(Path(settings.STATIC_ROOT) / "staticfiles.json") as missing:
        if missing:
            call_command("collectstatic", "--no-input", verbosity=0)
    rosa = User.objects.create_superuser(
        "rosa", EMAIL.replace("unmistakable", "rosa"), "a long enough password"
    )
    for use in USES:
        use(rosa)
    work_off()


USES = (
    use_accounts,
    use_crowds,
    use_kinds,
    use_texts,
    use_results,
    use_drafts,
    use_files,
    use_limits,
    use_challenges,
)


def empty_tables() -> set[str]:
    models = [model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy]
    return {model._meta.label for model in models if not model._base_manager.exists()}

"""Commands about people: erase one, forget ids, change the consent text."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.crowds.people import forget_raw_ids
from annotation.models import CrowdSession, Erasure, Worker
from annotation.privacy import operations
from annotation.privacy.erasing import erase_person, erasure_of, find_person, people_of, preview
from annotation.privacy.retention import erasure_list, replay
from common.amounts import counted
from common.commands import QuorumCommand
from common.errors import NotThere, WrongState
from judgments.jobs import run_job
from judgments.models import Study
from judgments.studies.studies import find_study


class ErasePerson(QuorumCommand):
    help = (
        "Remove who somebody is from a study, for good; without --yes, only say what would go and what stays.\n"
        "Their judgments stay under a random name, or go as well (--way all). What was published stays provable\n"
        "(docs/privacy.md). --list prints who was erased, without names, for backups; --replay erases them again."
    )
    example = "manage.py erase_person triplets-50 --worker w-mkrtqzsd --yes"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="?", help="slug of the study; left out: all studies of --worker")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--worker", help="name or pseudonym, or the crowd's own id (PROLIFIC_PID, WorkerId)"
        )
        what.add_argument("--list", action="store_true", help="print the erasures, one JSON object a line")
        what.add_argument("--replay", metavar="FILE", help="erase again whom a list of --list names")
        parser.add_argument("--way", choices=Erasure.Way.values, default=Erasure.Way.IDENTITY.value)
        parser.add_argument("--withdraw", action="store_true", help="remove files of releases from here, too")
        parser.add_argument("--yes", action="store_true", help="erase; without it, only say what would go")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            for row in erasure_list():
                self.stdout.write(json.dumps(row, ensure_ascii=False))
            return
        if options["replay"]:
            done = replay(Path(options["replay"]))
            self.say(
                f"{counted(done.again, 'person')} erased again, {done.entered:,} entered without "
                f"anybody to erase, {done.known:,} known."
            )
            if done.unknown:
                self.say(f"Studies that are not here: {', '.join(sorted(set(done.unknown)))}.")
            if done.waiting:
                listed = " ".join(sorted(set(done.waiting)))
                raise WrongState(
                    f"{counted(len(done.waiting), 'person')} could not be erased yet; repeat it afterwards. {listed}"
                )
            return
        for study, worker in self._people(options["study"], options["worker"]):
            self._erase(study, worker, options)

    def _people(self, slug: str | None, name: str) -> list[tuple[Study, Worker]]:
        if slug:
            study = find_study(slug)
            person = find_person(study, name)
            if person is None:
                before = erasure_of(study, name)
                self.say(f"The person was erased already, on {before.at.date() if before else ''}.")
            return [(study, person)] if person else []
        people, erased = [], False
        for study in Study.objects.order_by("pk"):
            try:
                person = find_person(study, name)
            except NotThere:
                continue
            erased |= person is None
            people += [(study, person)] if person else []
        if not people and not erased:
            raise NotThere(f"Nothing was changed: {name!r} took part in no study.")
        if not people:
            self.say("The person was erased already.")
        return people

    def _erase(self, study: Study, worker: Worker, options: dict[str, Any]) -> None:
        seen = preview(study=study, worker=worker, way=options["way"])
        self.say(f"Study {study.slug}:")
        for title, rows in (("goes", seen.removed), ("stays without a name", seen.kept)):
            self.say(f"  {title}: {', '.join(f'{n:,} {label}' for label, n in rows) or 'nothing'}")
        if seen.elsewhere and options["study"]:
            self.say("  The person takes part in other studies too, which keep their name.")
        if not options["yes"]:
            raise WrongState("Nothing was erased, and nothing could be brought back: say --yes to erase.")
        worker = people_of(study).get(pk=worker.pk)
        done = erase_person(study=study, worker=worker, way=options["way"], withdraw=options["withdraw"])
        assert done.job is not None
        run_job(done.job.pk)
        self.say(f"  Erased. Receipt, shown once: {done.receipt}")


class ForgetIds(QuorumCommand):
    help = (
        "Delete the raw ids (PROLIFIC_PID, WorkerId, ...) of people who took part in this study alone, and what\n"
        "their crowd said of them (demographics).\n"
        "Pseudonyms and answers stay. Nobody can be paid, written to or sent back by the ids any more."
    )
    example = "manage.py forget_ids triplets-50 --yes"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--yes", action="store_true", help="delete; without it, only say what would go")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        waiting = CrowdSession.objects.filter(study=study, status=CrowdSession.Status.SUBMITTED).count()
        if waiting:
            self.say(
                f"{waiting:,} sessions wait for their approval: without ids they cannot be paid by a list."
            )
        if not options["yes"]:
            raise WrongState(
                "Nothing was deleted: raw ids cannot be brought back; say --yes to delete those of study "
                f"{study.slug!r}."
            )
        self.say(f"{forget_raw_ids(study=study):,} raw ids were deleted.")


class ChangeConsent(QuorumCommand):
    help = (
        "Replace the consent text of a study that was drawn, from a Markdown file. Participants agree to the new\n"
        "version before they begin another page of work; what they hold and did is kept (docs/privacy.md)."
    )
    example = (
        'manage.py change_consent triplets-50 consent.md --translation de=consent-de.md --why "we publish"'
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("file", type=Path, help="the text, in Markdown")
        parser.add_argument(
            "--translation",
            action="append",
            default=[],
            metavar="LANGUAGE=FILE",
            help="the text in a language",
        )
        parser.add_argument("--why", required=True, help="the reason; the study's log shows it")

    def handle(self, *args: Any, **options: Any) -> None:
        translations = {}
        for translation in options["translation"]:
            language, equals, path = translation.partition("=")
            if not equals:
                raise CommandError(
                    f"--translation is {translation!r}; expected LANGUAGE=FILE, such as de=consent-de.md."
                )
            translations[language] = Path(path).read_text(encoding="utf-8")
        outcome = operations.change.run(
            find_study(options["study"]),
            {
                "consent": options["file"].read_text(encoding="utf-8"),
                "translations": translations,
                "why": options["why"],
            },
            by=None,
        )
        self.say(outcome.message)

"""Commands about a study's crowd and its money, and about personal data.

Modules that only one command needs are imported in it, so that other commands start fast.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from annotation.models import CrowdSession, Erasure, Worker
from common.amounts import with_noun
from common.commands import QuorumCommand
from common.errors import ObjectNotFound, WrongState
from judgments.jobs.claims import run_job
from judgments.management.base import OperationCommand, add_parameters, as_form_data, operation_at
from judgments.models import Study
from judgments.studies.studies import find_study


class SyncCrowd(OperationCommand):
    operation = operation_at("annotation.crowds.operations.sync")
    help = "Bring a study and its crowd together; may be run at any time, any number of times."
    example = "manage.py sync_crowd triplets-50 --output report.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", metavar="PATH", type=Path, help="the report as JSON")
        parser.add_argument(
            "--thorough",
            action="store_true",
            help="look at all work, also where nothing seems to have happened",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        report = self.operation.run(study, {}, by=None, thorough=options["thorough"]).value
        if options["output"]:
            text = json.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n"
            options["output"].write_text(text, encoding="utf-8")
        states = [f"{count} {state}" for state, count in report.assignments_by_state.items()]
        self.say(
            f"Pages of work at the crowd: {report.hit_count}. Assignments: {', '.join(states) or 'none'}."
        )
        for discrepancy in report.discrepancies:
            self.say(f"{discrepancy.kind}: {discrepancy.words}")


class SetLimits(QuorumCommand):
    help = "Set all limits of an account, or of the installation, in one currency (docs/roles.md)."
    example = "manage.py set_limits --by root --currency USD --day-cents 50000 --confirm-cents 10000"

    def add_arguments(self, parser: ArgumentParser) -> None:
        from annotation.money.parameters import LimitsRequest

        parser.add_argument(
            "--by",
            required=True,
            metavar="NAME",
            help="account that may set limits; the admin's history has it",
        )
        add_parameters(parser, LimitsRequest())

    def handle(self, *args: Any, **options: Any) -> None:
        from annotation.money.account_limits import SET_LIMITS, set_limits
        from annotation.money.parameters import LimitsRequest

        values = LimitsRequest.read(as_form_data(LimitsRequest(), options))
        by = User.objects.filter(username=options["by"], is_active=True).first()
        if by is None or not by.has_perms(SET_LIMITS):
            raise CommandError(f"Nothing was changed: no account {options['by']!r} may set limits.")
        self.say(f"The limits are set: {set_limits(by=by, **values)}.")


class ErasePerson(QuorumCommand):
    help = (
        "Remove permanently who somebody is from a study; without --yes, only say what would go and what stays.\n"
        "Their judgments stay under a random name, or go as well (--way all). What was published stays provable\n"
        "(docs/privacy.md). --list prints who was erased, without names, for backups; --replay erases them again."
    )
    example = "manage.py erase_person triplets-50 --worker w-mkrtqzsd --yes"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="?", help="slug of the study; left out: all studies of --worker")
        target = parser.add_mutually_exclusive_group(required=True)
        target.add_argument(
            "--worker", help="name or pseudonym, or the crowd's own id (PROLIFIC_PID, WorkerId)"
        )
        target.add_argument("--list", action="store_true", help="print the erasures, one JSON object a line")
        target.add_argument("--replay", metavar="FILE", help="erase again whom a list of --list names")
        parser.add_argument("--way", choices=Erasure.Extent.values, default=Erasure.Extent.IDENTITY.value)
        parser.add_argument("--withdraw", action="store_true", help="remove files of releases from here, too")
        parser.add_argument("--yes", action="store_true", help="erase; without it, only say what would go")

    def handle(self, *args: Any, **options: Any) -> None:
        from annotation.privacy import erasure_list

        if options["list"]:
            for row in erasure_list.erasure_list():
                self.stdout.write(json.dumps(row, ensure_ascii=False))
            return
        if options["replay"]:
            replay = erasure_list.replay_erasures(Path(options["replay"]))
            self.say(
                f"{with_noun(replay.replay_count, 'person')} erased again, {replay.new_count:,} entered without "
                f"anybody to erase, {replay.known_count:,} known."
            )
            if replay.missing_studies:
                self.say(f"Studies that are not here: {', '.join(sorted(set(replay.missing_studies)))}.")
            if replay.refusals:
                sentences = " ".join(sorted(set(replay.refusals)))
                raise WrongState(
                    f"{with_noun(len(replay.refusals), 'person')} could not be erased yet; repeat it afterwards. "
                    f"{sentences}"
                )
            return
        for study, worker in self._find_people(options["study"], options["worker"]):
            self._erase_worker(study, worker, options)

    def _find_people(self, slug: str | None, name: str) -> list[tuple[Study, Worker]]:
        """Return each study in which somebody with this name takes part, and the worker.

        If there is none because the person was erased already (``find_person`` returns None), print this and return an
        empty list. Without ``slug``, all studies are searched.
        """
        from annotation.privacy.people import erasure_of, find_person

        if slug:
            study = find_study(slug)
            person = find_person(study, name)
            if person is None:
                erasure = erasure_of(study, name)
                self.say(f"The person was erased already, on {erasure.at.date() if erasure else ''}.")
            return [(study, person)] if person else []
        people: list[tuple[Study, Worker]] = []
        was_erased = False
        for study in Study.objects.order_by("pk"):
            try:
                person = find_person(study, name)
            except ObjectNotFound:
                continue
            if person is None:
                was_erased = True
            else:
                people.append((study, person))
        if not people and not was_erased:
            raise ObjectNotFound(f"Nothing was changed: {name!r} took part in no study.")
        if not people:
            self.say("The person was erased already.")
        return people

    def _erase_worker(self, study: Study, worker: Worker, options: dict[str, Any]) -> None:
        """Say what an erasure removes from a study and, with ``--yes``, carry it out."""
        from annotation.privacy.erasing import erase_person
        from annotation.privacy.people import people_of
        from annotation.privacy.preview import preview_erasure

        preview = preview_erasure(study=study, worker=worker, way=options["way"])
        self.say(f"Study {study.slug}:")
        for title, counts in (("goes", preview.removed), ("stays without a name", preview.kept)):
            texts = [f"{n:,} {label}" for label, n in counts]
            self.say(f"  {title}: {', '.join(texts) or 'nothing'}")
        if preview.is_in_another_study and options["study"]:
            self.say("  The person takes part in other studies too, which keep their name.")
        if not options["yes"]:
            raise WrongState("Nothing was erased, and nothing could be brought back: say --yes to erase.")
        worker = people_of(study).get(pk=worker.pk)  # an erasure from an earlier study may have changed it
        erasure = erase_person(study=study, worker=worker, way=options["way"], withdraw=options["withdraw"])
        assert erasure.job is not None
        run_job(erasure.job.pk)
        self.say(f"  Erased. Receipt, shown once: {erasure.receipt}")


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
        from annotation.crowds.raw_ids import forget_raw_ids

        study = find_study(options["study"])
        waiting_count = CrowdSession.objects.filter(study=study, status=CrowdSession.Status.SUBMITTED).count()
        if waiting_count:
            self.say(
                f"{waiting_count:,} sessions wait for their approval: without ids they cannot be paid by a list."
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
        from annotation.privacy import operations

        translations = {}
        for translation in options["translation"]:
            language, equals, path = translation.partition("=")
            if not equals:
                raise CommandError(
                    f"--translation is {translation!r}; expected LANGUAGE=FILE, such as de=consent-de.md."
                )
            translations[language] = Path(path).read_text(encoding="utf-8")
        outcome = operations.change_consent_text.run(
            find_study(options["study"]),
            {
                "consent": options["file"].read_text(encoding="utf-8"),
                "translations": translations,
                "why": options["why"],
            },
            by=None,
        )
        self.say(outcome.message)

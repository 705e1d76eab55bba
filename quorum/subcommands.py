"""The subcommands of ``quorum``: for each, a ``manage.py`` command, a description and a dotted path.

A subcommand is called by its words, such as ``quorum dataset import``. The path names the class of the command, or an
operation that is declared with the command's help. Optional features declare their subcommands in their ``apps.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

BEGIN, DATASETS, STUDIES, RESULTS, CROWDS, FILES, SERVER = (
    "To begin", "Datasets", "Studies", "Results", "Crowds and money", "Files, without a database", "The installation",
)  # fmt: skip

# Commands of ``quorum`` that are not commands of ``manage.py``.
COMMANDS_OUTSIDE_DJANGO = {
    "run": "web server and background worker, with a demo; Ctrl-C stops them",
    "completion": "what a shell needs to complete these words",
}

# For each title of a section, by words: the command's name, a description and a dotted path.
Commands = Mapping[str, Mapping[str, tuple[str, str, str]]]

SECTIONS: Commands = {
    DATASETS: {
        "dataset import": ("import_dataset", "images (or texts) and reference captions",
            "judgments.management.datasets.ImportDataset"),
        "dataset candidates": ("import_candidates", "one system's captions, boxes or keywords",
            "judgments.management.datasets.ImportCandidates"),
        "dataset rankings": ("import_rankings", "systems' ranked lists",
            "judgments.management.datasets.ImportRankings"),
        "dataset access": ("dataset_access", "who may read it",
            "judgments.management.datasets.DatasetAccess"),
    },
    STUDIES: {
        "study new": ("create_study", "a draft from a study file",
            "judgments.management.designs.CreateStudy"),
        "study export": ("export_study", "the study file of a study",
            "judgments.management.designs.ExportStudy"),
        "study diff": ("diff_designs", "how two designs differ", "judgments.management.designs.DiffDesigns"),
        "study generate": ("generate_hits", "draw items, check questions and pages of work; the design is frozen",
            "judgments.management.studies.GenerateHits"),
        "study discard": ("discard_hits", "pages of work go, and the design is a draft again",
            "judgments.studies.operations.discard"),
        "study change-item": ("change_item", "an item is shown otherwise, pulled out, or written by hand",
            "judgments.studies.operations.change_item"),
        "study take-back": ("take_back_change", "the last change by hand goes",
            "judgments.studies.operations.take_back_change"),
        "study open": ("open_study", "let people in", "annotation.crowds.operations.open_to_workers"),
        "study pause": ("pause_study", "offer no work for a while", "annotation.work.operations.pause"),
        "study resume": ("resume_study", "offer work again", "annotation.work.operations.resume"),
        "study extend": ("extend_study", "more participants, or more time", "annotation.work.operations.extend"),
        "study reopen": ("reopen_units", "more votes for some items",
            "evaluation.results.reopening.reopen"),
        "study close": ("close_study", "offer no more work", "annotation.crowds.operations.close"),
        "study consent": ("change_consent", "another consent text; people are asked again",
            "annotation.management.ChangeConsent"),
    },
    RESULTS: {
        "aggregate": ("aggregate", "consensus, agreement, participants",
            "evaluation.management.results.Aggregate"),
        "evaluate": ("evaluate", "which metric agrees with the consensus",
            "evaluation.management.results.Evaluate"),
        "report": ("report", "figures, tables and text of a study", "evaluation.management.releases.MakeReport"),
        "share": ("share_report", "a read-only link to a report, for those without an account",
            "evaluation.reports.sharing.share_report"),
        "export": ("export_judgments", "judgments as a file",
            "evaluation.management.releases.ExportJudgments"),
        "release": ("release", "a frozen bundle that others can verify",
            "evaluation.management.releases.MakeRelease"),
        "prove": ("prove_release", "a release was made from rows that existed, whoever was erased since",
            "evaluation.management.releases.ProveRelease"),
        "verify": ("verify", "compute a bundle, a study or a signature again",
            "evaluation.management.releases.Verify"),
    },
    CROWDS: {
        "crowd sync": ("sync_crowd", "compare a study with its crowd",
            "annotation.management.SyncCrowd"),
        "crowd limits": ("set_limits", "what an account may spend", "annotation.management.SetLimits"),
        "crowd forget": ("forget_ids", "delete the crowd's ids of a closed study's people",
            "annotation.management.ForgetIds"),
        "crowd erase": ("erase_person", "remove who somebody is, on request; releases stay provable",
            "annotation.management.ErasePerson"),
    },
    FILES: {
        "score": ("score", "metrics of candidate files against reference files",
            "evaluation.management.score.Score"),
        "agreement": ("agreement", "agreement of a judgments file, or of two",
            "evaluation.management.agreement.Agreement"),
    },
    SERVER: {
        "server prepare": ("prepare", "set up or update database and files",
            "config.management.prepare.Prepare"),
        "server admin": ("ensure_admin", "the first account, or a new password for one",
            "config.management.accounts.EnsureAdmin"),
        "server token": ("create_token", "a token for the HTTP interface",
            "judgments.management.server.CreateToken"),
        "server jobs": ("run_jobs", "do now what the background worker does",
            "judgments.management.server.RunJobs"),
        "job cancel": ("cancel_job", "end a job that waits or runs", "judgments.management.server.CancelJob"),
        "job retry": ("retry_job", "do a job again that failed or was cancelled",
            "judgments.management.server.RetryJob"),
        "server check": ("check_integrity", "look for every broken invariant",
            "evaluation.management.integrity.CheckIntegrity"),
    },
}  # fmt: skip


class Subcommand(NamedTuple):
    """A subcommand: the name of its ``manage.py`` command, its description in the help, and its dotted path."""

    name: str
    description: str
    path: str


class CommandTable:
    """The subcommands of the platform and of the enabled features.

    Attributes:
        sections: for each title, the subcommands by their words, such as "dataset import".
        names: the name of the ``manage.py`` command by the words of its subcommand.
        paths: the dotted path by the name of the ``manage.py`` command.
        groups: titles of sections by the first word of subcommands of two words, such as "dataset".
        without_data: names of the commands that work in a folder without an installation.
    """

    def __init__(self, *features: Commands, without_data: Collection[str] = ()) -> None:
        self.sections: dict[str, dict[str, Subcommand]] = {title: {} for title in SECTIONS}
        for commands in (SECTIONS, *features):
            for title, section in commands.items():
                for words, entry in section.items():
                    self.sections[title][words] = Subcommand(*entry)
        self.names: dict[str, str] = {}
        self.paths: dict[str, str] = {}
        self.groups: dict[str, str] = {}
        for title, subcommands in self.sections.items():
            for words, subcommand in subcommands.items():
                self.names[words] = subcommand.name
                self.paths[subcommand.name] = subcommand.path
                if " " in words:
                    self.groups[words.split()[0]] = title
        names_of_file_commands = {subcommand.name for subcommand in self.sections[FILES].values()}
        self.without_data = {*names_of_file_commands, "verify", *without_data}

    def page(self, group: str = "") -> str:
        """Return the help page of all subcommands, or of those that begin with the word `group`."""
        lines = []
        if not group:
            lines = [
                "Collect judgments from people, and find out which metrics agree with them.",
                "",
                "usage: quorum [-h] [--version] WORDS ...        `quorum WORDS --help` has an example",
                "",
                BEGIN,
                *(f"  {words:<22} {description}" for words, description in COMMANDS_OUTSIDE_DJANGO.items()),
            ]
        for title, section in self.sections.items():
            section_lines = [
                f"  {words:<22} {subcommand.description}"
                for words, subcommand in section.items()
                if not group or words.startswith(f"{group} ")
            ]
            if section_lines:
                lines += ["", title] if lines else [title]
                lines += section_lines
        if not group:
            lines += ["", "Every name of `manage.py` works too: `quorum create_study`, `quorum migrate`."]
        return "\n".join(lines) + "\n"


PLATFORM_COMMANDS = CommandTable()

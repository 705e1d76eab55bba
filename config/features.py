"""Features that an installation can leave out, and their additions to the platform.

Features are the apps in the folder ``contrib``, and apps of other packages that are entry points of the group
``quorum.features``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import Promise

from judgments.jobs.registry import JobKind, register

if TYPE_CHECKING:
    from common.environment import Environment

CONTRIB_FOLDER = Path(__file__).resolve().parent.parent / "contrib"
ENTRY_GROUP = "quorum.features"  # group of entry points of other packages
Entry = tuple[str | Promise, str, str]  # entry of the sidebar: title, icon, model


class Feature(AppConfig):
    """An app that the setting CONTRIB_APPS can leave out. Its attributes are its additions to the platform.

    A feature that is off is still an installed app, so that migrations, erasures and integrity checks know its tables,
    but it adds nothing else.

    Attributes:
        needs: names of features that it needs. If one of them is off, this feature is off, too.
        packages: Django apps of other packages that it uses.
        middleware: paths of middleware, each with the middleware after which it is placed.
        commands: commands by section and by words of ``quorum``, each as (name, description, path), as in
            ``quorum.subcommands``.
        commands_without_data: names of its commands that work in a folder without an installation.
        agreement_extensions: paths of classes of options that it adds to the command ``agreement``
            (``evaluation.management.agreement.AgreementExtension``).
        urls: module of its URLs.
        pages: modules that are loaded with the admin, to register pages and operations.
        additions: its templates that complete pages of the platform, each with its place (``{% additions place %}``).
        jobs: kinds of jobs by name. While the feature is off, they do not run, but jobs from before are listed.
        calls: module of the URLs of its HTTP interface, below /api/.
        kinds: paths of classes of kinds of HIT (``judgments.kinds.base.Kind``).
        rehearsals: paths of classes of simulated answers of kinds. Other features read them.
        presets: names of presets of study files. A preset is a file NAME.toml in the feature's folder ``presets``.
        crowd_offers: paths of descriptions of crowds for designs (``judgments.design.crowds.CrowdOffer``).
        crowds: paths of classes of crowds (``annotation.crowds.base.CrowdBackend``).
        arena_drawings: paths of functions that draw the units of an arena's page when it is claimed
            (``annotation.work.slots.acceptance.claim_slot``).
        quiz_presets: paths of sets of quiz questions, each with a name, title and source (``judgments.design.quiz``).
        quiz_items: paths of functions that reserve material of a study for the known items of its quiz
            (``judgments.studies.generation.batches.divide_for_quiz``).
        quiz_backends: paths of classes of quizzes that precede the work (``annotation.work.quiz.QuizBackend``).
        framed_pages: names of URLs that are also available in the frame of a crowd's page.
        detectors: paths of classes of detectors (``annotation.quality.detectors.base.Rule``).
        formats: paths of export formats (``evaluation.data.export.formats.Format``).
        import_formats: paths of import formats (``judgments.importers.import_format.ImportFormat``).
        upload_recognisers: paths of functions that recognise the format of an uploaded file
            (``judgments.datasets.understanding.Recogniser``).
        enums: names that choices have in the OpenAPI document, with the paths of the choices.
        standings: paths of functions of a study that return the standings of systems by answers of its kinds, or None
            (``evaluation.results.systems.verdict_of_systems``).
        figure_sections: names of figures of its kinds (``judgments.kinds.base.KindResults``), each with the path of a
            function that returns their section of a report.
        report_sections: paths of functions of a study that return a section of its report, or None
            (``evaluation.reports.storage.build_report``).
        other_answers: paths of functions of a study that yield the answers of judges who are not people, as (name of
            the judge, row id of a unit, value). Other features read them (``common.features.of_features``).
        choice_fits: paths of functions of a study that return people's choices of the best of several captions, with
            strengths of systems that are fitted to them. Other features read them.
        registered_plans: paths of functions that return the registered plan of a study, or None
            (``evaluation.reports.sections.registration.find_registered_plan``).
        report_parts: paths of classes of optional parts of a report (``evaluation.reports.parts.ReportPart``).
        kernels: paths of functions that call all of its compiled kernels (``config.compiling``).
        text_systems: paths of functions that return systems that score how well captions fit an image, by other
            captions of the image. The last system is the baseline of the others. Other features read them.
        questions: what people type into the documentation's search if the feature's page is the answer.
        reference: generated pages of the documentation, each with the path of a function that yields its lines.
        scopes: scopes of tokens, each with a description.
        participant_scopes: scopes that tokens of accounts without staff rights can have, too, each with a description.
        queues: queues of rows that /health/metrics counts by state, such as ``{"webhooks": ("webhooks.WebhookDelivery",
            "made_at")}``: by name, the model and its field of time.
        integrity_checks: paths of functions that yield problems in its tables. They run even if the feature is off.
        account_pages: pages in the menu of the account, as (title, name of the URL).
        menu: sections of the sidebar, as (heading, entries). An entry is (title, icon, model) and opens the admin's
            list of the model.
        tables: entries under "tables" in the sidebar.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    packages: ClassVar[tuple[str, ...]] = ()
    middleware: ClassVar[Mapping[str, str]] = {}
    commands: ClassVar[Mapping[str, Mapping[str, tuple[str, str, str]]]] = {}
    commands_without_data: ClassVar[tuple[str, ...]] = ()
    agreement_extensions: ClassVar[tuple[str, ...]] = ()
    urls: ClassVar[str] = ""
    pages: ClassVar[tuple[str, ...]] = ()
    additions: ClassVar[Mapping[str, str]] = {}
    jobs: ClassVar[Mapping[str, JobKind]] = {}
    calls: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]] = ()
    rehearsals: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[tuple[str, ...]] = ()
    crowd_offers: ClassVar[tuple[str, ...]] = ()
    crowds: ClassVar[tuple[str, ...]] = ()
    arena_drawings: ClassVar[tuple[str, ...]] = ()
    quiz_presets: ClassVar[tuple[str, ...]] = ()
    quiz_items: ClassVar[tuple[str, ...]] = ()
    quiz_backends: ClassVar[tuple[str, ...]] = ()
    framed_pages: ClassVar[tuple[str, ...]] = ()
    detectors: ClassVar[tuple[str, ...]] = ()
    formats: ClassVar[tuple[str, ...]] = ()
    import_formats: ClassVar[tuple[str, ...]] = ()
    upload_recognisers: ClassVar[tuple[str, ...]] = ()
    enums: ClassVar[Mapping[str, str]] = {}
    standings: ClassVar[tuple[str, ...]] = ()
    figure_sections: ClassVar[Mapping[str, str]] = {}
    report_sections: ClassVar[tuple[str, ...]] = ()
    other_answers: ClassVar[tuple[str, ...]] = ()
    choice_fits: ClassVar[tuple[str, ...]] = ()
    registered_plans: ClassVar[tuple[str, ...]] = ()
    report_parts: ClassVar[tuple[str, ...]] = ()
    kernels: ClassVar[tuple[str, ...]] = ()
    text_systems: ClassVar[tuple[str, ...]] = ()
    questions: ClassVar[tuple[str, ...]] = ()
    reference: ClassVar[Mapping[str, str]] = {}
    scopes: ClassVar[Mapping[str, str]] = {}
    participant_scopes: ClassVar[Mapping[str, str]] = {}
    queues: ClassVar[Mapping[str, tuple[str, str]]] = {}
    integrity_checks: ClassVar[tuple[str, ...]] = ()
    account_pages: ClassVar[tuple[tuple[str | Promise, str], ...]] = ()
    menu: ClassVar[tuple[tuple[str | Promise, tuple[Entry, ...]], ...]] = ()
    tables: ClassVar[tuple[Entry, ...]] = ()

    @classmethod
    def settings(cls, env: Environment) -> dict[str, Any]:
        """Return the feature's own settings, read from the environment."""
        return {}

    @classmethod
    def check_absence(cls, env: Environment) -> None:
        """Raise ImproperlyConfigured if a setting needs the feature. It is called if the feature is off."""

    @classmethod
    def path_of_app(cls) -> str:
        """Return the feature's entry in INSTALLED_APPS."""
        return f"{cls.__module__}.{cls.__qualname__}"

    def ready(self) -> None:
        from django.conf import settings

        self.connect_always()
        register(self.jobs, is_on=self.label in settings.FEATURES)
        if self.label in settings.FEATURES:
            self.start()

    def connect_always(self) -> None:
        """Connect receivers that are needed even if the feature is off, such as of erased people. It is called once."""

    def start(self) -> None:
        """Connect signals. It is called once if the feature is on."""


@cache
def all_features() -> dict[str, type[Feature]]:
    """Return all features by name, from the folder ``contrib`` and from other packages."""
    own_features = {
        path.parent.name: _find_feature(f"contrib.{path.parent.name}")
        for path in sorted(CONTRIB_FOLDER.glob("*/apps.py"))
    }
    return own_features | {point.name: point.load() for point in sorted(entry_points(group=ENTRY_GROUP))}


def _find_feature(package: str) -> type[Feature]:
    """Return the feature class of a package, which its module ``apps`` declares with the package's path as ``name``."""
    members = vars(import_module(f"{package}.apps")).values()
    [feature] = [cls for cls in members if isinstance(cls, type) and getattr(cls, "name", "") == package]
    return feature


def feature_names_in(setting: str | None) -> list[str]:
    """Return the names of features in a setting, or of all features if it is None.

    Raise ImproperlyConfigured for an unknown name.
    """
    if setting is None:
        return list(all_features())
    names = [name.strip() for name in setting.split(",") if name.strip()]
    for name in names:
        if name not in all_features():
            raise ImproperlyConfigured(
                f"CONTRIB_APPS is {setting!r}, and {name!r} is no feature; expected some of "
                f"{', '.join(all_features())}, separated by commas, or nothing for none."
            )
    return names


def active_features(names: Iterable[str]) -> dict[str, type[Feature]]:
    """Return the active features by name: the named features, except those that need an inactive feature."""
    features = {name: feature for name, feature in all_features().items() if name in names}
    while True:  # repeated, since a removed feature may be needed by others
        names_without_needs = [
            name for name, feature in features.items() if not features.keys() >= set(feature.needs)
        ]
        if not names_without_needs:
            return features
        for name in names_without_needs:
            del features[name]


def with_middleware(middleware: list[str], features: Iterable[type[Feature]]) -> list[str]:
    """Return the platform's middleware, with the features' middleware inserted."""
    middleware = [*middleware]
    for feature in features:
        for path, preceding_path in feature.middleware.items():
            middleware.insert(middleware.index(preceding_path) + 1, path)
    return middleware

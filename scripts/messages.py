"""Update the message catalogues of pages: ``python scripts/messages.py update``.

New messages of templates, code and data are added without translation to the catalogues below ``locale/``. ``check``
lists missing translations. The compiled catalogues are committed, so that an installation needs no tool for them.

Pages for workers are in six languages, pages for staff in English and German. Messages that no worker sees are only in
the staff's catalogue.
"""

from __future__ import annotations

import functools
import io
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from gettext import c2py
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ("ar", "de", "es", "fr", "zh_Hans")
STAFF_LANGUAGES = ("de",)
STAFF = "staff"  # message context of staff texts in workers' files, and folder of the staff's catalogue
PACKAGES = ("annotation", "common", "config", "contrib", "evaluation", "judgments")
# Code and templates with texts for workers. All other code and templates have texts for staff.
WORKERS_CODE = (
    "annotation/crowds/claims.py", "annotation/crowds/sessions.py", "annotation/crowds/submitting.py",
    "annotation/crowds/mturk/frames.py",
    "annotation/crowds/mturk/views.py", "annotation/crowds/panel/admission.py", "annotation/crowds/panel/backend.py",
    "annotation/crowds/panel/links.py", "annotation/crowds/panel/views.py", "contrib/prolific/outbox/deciding.py",
    "annotation/errors.py", "annotation/models/judgments.py",
    "annotation/privacy/views", "annotation/privacy/erasure_requests.py", "annotation/quality/exclusions.py",
    "annotation/quality/flags.py", "annotation/quality/cases", "annotation/quality/reviews.py",
    "contrib/adjudication/decisions.py", "contrib/adjudication/views.py",
    "annotation/templatetags", "annotation/views", "annotation/work/answers", "annotation/work/leases.py",
    "annotation/work/joining.py", "annotation/work/requirements.py", "annotation/work/submissions.py",
    "annotation/work/summaries.py",
    "annotation/work/quiz.py", "annotation/work/sheet", "annotation/work/slots",
    "common/rate_limits.py", "contrib/challenges/caption_files.py", "contrib/challenges/forms.py",
    "contrib/challenges/page.py", "contrib/challenges/submissions.py", "contrib/challenges/views.py",
    "contrib/challenges/api.py",
    "judgments/design/scale.py", "judgments/design/wordings.py",
    "contrib/error_spans/kind", "contrib/hit_templates/filling.py", "contrib/hit_templates/kind.py",
    "contrib/hit_templates/answers.py", "contrib/hit_templates/html",
    "contrib/quiz/attempts", "contrib/quiz/errors.py", "contrib/slider/kind.py",
    "contrib/best_worst/answers.py", "contrib/best_worst/kind.py", "contrib/best_worst/results.py",
    "judgments/kinds",
)  # fmt: skip
WORKERS_TEMPLATES = (
    "templates/annotation", "contrib/adjudication/templates/annotation", "contrib/challenges/templates",
    "contrib/error_spans/templates/annotation", "contrib/ethics/templates/annotation",
    "contrib/hit_templates/templates/annotation", "contrib/quiz/templates/quiz",
    "contrib/best_worst/templates", "contrib/slider/templates", "templates/base.html", "templates/home.html",
    "templates/403.html", "templates/403_csrf.html", "templates/404.html", "templates/429.html",
    "templates/500.html", "templates/503.html",
)  # fmt: skip
# Texts of the admin's theme that Quorum's pages show, and that the theme has only in English.
THEME_TEXTS = (
    "Add row", "Apply Filters", "Choose file to upload", "Click to cancel", "Click to download", "Dark", "Date",
    "Expand row", "False", "General", "Image preview", "Light", "More actions", "No data", "No results found",
    "Reset filters", "Return to site", "Run", "Select action", "Select action to run", "Select all rows",
    "Select record", "Select value", "System", "This item will be deleted.", "Toggle password visibility", "True",
    "Type to search", "Welcome back to", "You have been successfully logged out from the administration",
    "Whether the user will be able to authenticate using a password or not. If disabled, they may still be able to "
    "authenticate using other backends, such as Single Sign-On or LDAP.",
    "After you've created a user, you’ll be able to edit more user options.",
    "Raw passwords are not stored, so there is no way to see this user’s password, but you can change the password "
    'using <a href="{}" class="text-primary-600 dark:text-primary-500">this form</a>.',
)  # fmt: skip
# Gettext functions: Babel's defaults, and functions that Django adds.
KEYWORDS = DEFAULT_KEYWORDS | {
    f"{name}_lazy": DEFAULT_KEYWORDS[name] for name in ("gettext", "ngettext", "pgettext", "npgettext")
} | {"gettext_noop": None}  # fmt: skip
HEADER = "# The texts of Quorum's {readers} pages ({language})."
CREATION_DATE = datetime(2026, 11, 20, tzinfo=UTC)  # a fixed date, so that equal texts give equal files


@functools.cache
def collect_messages(*, staff: bool = False) -> Catalog:
    """Return the messages of workers' pages, or those that only staff pages show."""
    catalog = Catalog(project="Quorum", charset="utf-8")
    workers = collect_messages() if staff else None
    for path, message, comments, context in _messages_of_sources():
        is_for_staff = context == STAFF or not path.startswith((*WORKERS_CODE, *WORKERS_TEMPLATES))
        if is_for_staff == staff and not _has_message(workers, message, context):
            catalog.add(message, locations=[(path, 0)], auto_comments=comments, context=context)
    texts = (*_staff_texts(), *_constant_texts()) if staff else _data_texts()
    for path, text in texts:
        if not _has_message(workers, text.strip(), None):
            catalog.add(text.strip(), locations=[(path, 0)])
    return catalog


@functools.cache
def _messages_of_sources() -> list[tuple[str, Any, list[str], str | None]]:
    """Return (path, message, comments, context) for all sources. A message is a text, or a singular with a plural."""
    messages = []
    for path, source in _sources():
        for _line, text, comments, context in extract(
            "python", io.BytesIO(source), KEYWORDS, ("Translators:",)
        ):
            messages.append((path, text, comments, context))
    return messages


def _has_message(catalog: Catalog | None, message: Any, context: str | None) -> bool:
    return catalog is not None and catalog.get(message, context=context) is not None


def _data_texts() -> Iterator[tuple[str, str]]:
    """Yield (path, text) for texts in data files, which are translated when they are shown."""
    from judgments.design.countries import COUNTRIES
    from judgments.design.quiz import QUIZ_PRESETS
    from judgments.design.reading.presets import PRESETS, preset_files
    from judgments.kinds import KINDS
    from judgments.kinds.caption_rules import RULES

    for kind in KINDS.values():
        path = f"{type(kind).__module__.replace('.', '/')}.py"
        yield from ((path, choice.label) for choice in kind.choices)
        yield from _design_texts(path, kind.defaults)
    yield from _wording_texts()
    yield from (("judgments/kinds/caption_rules/rules.toml", str(rule.message)) for rule in RULES)
    mqm = "contrib/error_spans/kind/mqm.toml"
    categories = tomllib.loads((ROOT / mqm).read_text(encoding="utf-8"))["category"]
    yield from ((mqm, category["label"]) for category in categories)
    files = preset_files()
    for name, preset in PRESETS.items():
        yield from _design_texts(str(Path(str(files[name])).relative_to(ROOT)), preset.values)
    for question in QUIZ_PRESETS["hodosh-2013-english"].questions:
        yield from (("contrib/quiz/english.toml", text) for text in (question.text, question.explanation))
    yield from _error_titles()
    yield from (("judgments/design/countries.csv", name) for name in COUNTRIES.values())


def _wording_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts of kinds for each type of judged text, such as summaries and translations."""
    from judgments.design.wordings import WORDINGS, read_wordings
    from judgments.kinds import KINDS

    files: list[tuple[str, Mapping[str, Any]]] = [
        ("judgments/design/wordings.toml", wordings) for wordings in WORDINGS.values()
    ]
    files.append(("contrib/error_spans/kind/wordings.toml", KINDS["spans"].wordings))
    best_worst = ROOT / "contrib/best_worst/wordings.toml"
    files += [
        ("contrib/best_worst/wordings.toml", wordings) for wordings in read_wordings(best_worst).values()
    ]
    for file, wordings in files:
        for wording in wordings.values():
            texts = (
                wording.question,
                *wording.choices,
                *wording.former_choices,
                *wording.poles,
                wording.label,
                wording.hint,
                *wording.keys,
                wording.contradiction,
            )
            yield from ((file, str(text)) for text in texts if text)


def _error_titles() -> Iterator[tuple[str, str]]:
    """Yield the titles of the errors that workers can see."""
    from importlib import import_module

    from common.errors import QuorumError

    for path in ("common/errors.py", *(path for path in WORKERS_CODE if path.endswith("/errors.py"))):
        module = import_module(path.removesuffix(".py").replace("/", "."))
        classes = [member for member in vars(module).values() if isinstance(member, type)]
        yield from ((path, cls.title) for cls in classes if issubclass(cls, QuorumError))


def _design_texts(path: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts of a study file, without captions of examples."""
    yield from ((path, values[key]) for key in ("question", "instructions", "consent") if values.get(key))
    for example in values.get("examples", ()):
        yield from ((path, example[key]) for key in ("scene", "answer", "why") if example.get(key))


def _staff_texts() -> Iterator[tuple[str, str]]:
    """Yield (path, text) for texts in declarations that staff pages translate."""
    from config.admin.names import declared_names, fields_with_choices
    from config.admin.site import site
    from judgments.access.dataset_roles import DATASET_ROLES
    from judgments.access.tokens import SCOPES
    from judgments.access.views import ROLES
    from judgments.admin.terms import terms
    from judgments.datasets.upload_parts import ENCODINGS
    from judgments.jobs.words import JOB_TITLES, QUEUE_TITLES, RESULT_LABELS
    from judgments.studies.home_page import NEEDS

    yield from (("the admin's theme", text) for text in THEME_TEXTS)
    yield from _study_page_texts()
    yield from _design_page_texts()
    yield from (("models and lists", text) for _, _, text in declared_names())
    for field in fields_with_choices():
        yield from (("models and lists", str(label)) for _, label in field.flatchoices)
    for model_admin in site._registry.values():
        texts = (getattr(model_admin, "empty_list_text", ""), getattr(model_admin, "add_label", ""))
        yield from (("models and lists", text) for text in texts if text)
    for term, explanation in terms().items():
        yield from (("docs/glossary.md", text) for text in (term, explanation))
    for need in NEEDS.values():
        yield from ((f"need {need.name}", text) for text in (*need.labels, need.button))
    for sentences in (JOB_TITLES, RESULT_LABELS, QUEUE_TITLES):
        yield from (("judgments/jobs/words.py", text) for text in sentences.values())
    for role, explanation in (*ROLES, *DATASET_ROLES):
        yield from (("judgments/access", text) for text in (role, explanation))
    yield from (("judgments/access", text) for text in SCOPES.values())
    yield from (("judgments/datasets/upload_parts.py", text) for text in ENCODINGS.values())


def _study_page_texts() -> Iterator[tuple[str, str]]:
    """Yield the labels and texts of a study's sections, pages and steps."""
    from judgments.studies.pages import StudySection
    from judgments.studies.study_page import PAGES, START_PAGES, STEPS

    path = "judgments/studies/study_page.py"
    yield from ((path, group.value) for group in StudySection)
    yield from ((path, page.label) for page in PAGES.values() if page.label)
    for start in START_PAGES.values():
        yield from ((path, text) for text in (start.label, start.text) if text)
    for name, step in STEPS.items():
        location = f"step {name}"
        yield from ((location, text) for text in (step.label, step.message) if text)
        if step.form is None:
            continue
        parameter_fields = step.form.parameters().fields
        for field in map(parameter_fields.__getitem__, step.form.fields):
            yield from ((location, str(text)) for text in (field.label, field.help_text) if text)
            # The declared (value, label) pairs, or else those of a ChoiceField.
            choices = field.style.get("choices", ()) or getattr(field, "choices", {}).items()
            if not callable(choices):  # choices that depend on the study are names, not texts
                yield from ((location, str(label)) for value, label in choices if str(label) != value)


def _design_page_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts of the form for designs, for every kind."""
    from django.conf import settings

    from judgments.design.editing.form.design_form import DesignForm
    from judgments.design.editing.form.sections import DESIGN_STEPS
    from judgments.design.editing.form.values import starting_values
    from judgments.design.editing.rows import RowsField
    from judgments.design.reading.presets import PRESETS
    from judgments.kinds import KINDS

    path = "judgments/design"
    django_texts = set(dict(settings.LANGUAGES).values())  # Django translates the names of languages
    for name, explanation in DESIGN_STEPS.items():
        yield from ((path, text) for text in (name, explanation))
    for preset in PRESETS.values():
        yield from ((path, text) for text in (preset.title, preset.choose, preset.source) if text)
    for kind in KINDS.values():
        yield path, kind.title
        form = DesignForm(base=starting_values(protocol=kind.name), datasets=[])
        for section in form.sections:
            yield from ((path, text) for text in (section.title, section.text) if text)
        for name, field in form.fields.items():
            yield from ((path, str(text)) for text in (field.label, field.help_text) if text)
            choices = getattr(field, "choices", ()) if name != "dataset" else ()
            yield from ((path, str(label)) for _, label in choices)
            # The field of translations has several parts.
            for part in getattr(field, "parts", {"": field}).values():
                for column in part.columns if isinstance(part, RowsField) else ():
                    labels = (label for _, label in column.choices if label not in django_texts)
                    yield from ((path, text) for text in (column.label, column.help, *labels) if text)


def _constant_texts() -> Iterator[tuple[str, str]]:
    """Yield (path, text) for texts in constants that staff pages translate, such as reasons and formats."""
    from annotation.crowds import BACKENDS
    from evaluation.data.export.formats import FORMATS
    from judgments.design.quiz import QUIZ_PRESETS
    from judgments.importers.notes import QUIRK_NOTES
    from judgments.kinds import KINDS

    yield from _reasons()
    yield from _table_texts()
    yield from (
        ("evaluation/data/export/formats", export_format.description) for export_format in FORMATS.values()
    )
    yield from (("annotation/crowds", backend.title) for backend in BACKENDS)
    yield from (("judgments/importers", sentence) for sentence in QUIRK_NOTES.values())
    for kind in KINDS.values():
        sentences = (kind.comparison.refusal, kind.aggregation.no_alpha)
        yield from (("judgments/kinds", text) for text in sentences if text)
    yield from (("contrib/quiz/english.toml", preset.unstated_settings) for preset in QUIZ_PRESETS.values())


def _reasons() -> Iterator[tuple[str, str]]:
    """Yield the constants with sentences about why a figure is undefined, but no sentences with placeholders."""
    import pkgutil
    from importlib import import_module

    from evaluation.results import agreement, worker_models
    from evaluation.results.rankings import measures
    from quorum import statistics

    modules = [agreement, measures, worker_models]
    for package in pkgutil.walk_packages(statistics.__path__, f"{statistics.__name__}."):
        modules.append(import_module(package.name))
    for module in modules:
        for name, text in vars(module).items():
            if name.isupper() and isinstance(text, str) and " " in text and "{" not in text:
                yield module.__name__.replace(".", "/") + ".py", text


def _table_texts() -> Iterator[tuple[str, str]]:
    """Yield the titles and column heads of tables that pages show."""
    from evaluation.presentation.rendering import WORDING_TEMPLATES

    path, on_pages = "evaluation/presentation/wording.toml", WORDING_TEMPLATES["on_pages"]
    heads = set(on_pages["columns"])
    for wording in map(WORDING_TEMPLATES["tables"].get, on_pages["tables"]):
        heads |= {head for head, _ in wording.get("columns", ())}
        yield path, wording["title"]
    yield from ((path, on_pages["headings"].get(head, head)) for head in sorted(heads))


def _sources() -> Iterator[tuple[str, bytes]]:
    """Yield (path, Python source) of all files that may contain messages."""
    from django.utils.translation.template import templatize

    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            source = file.read_bytes()
            if b"gettext" in source:
                yield file.relative_to(ROOT).as_posix(), source
    for file in sorted(
        [*(ROOT / "templates").rglob("*.html"), *(ROOT / "contrib").glob("*/templates/**/*.html")]
    ):
        path = file.relative_to(ROOT).as_posix()
        code = templatize(file.read_text(encoding="utf-8"), origin=path)
        # without the indentation of the template, which would be syntax in Python
        yield path, re.sub(r"^\s+", "", code, flags=re.MULTILINE).encode()


def _catalogue_path(language: str, *, staff: bool) -> Path:
    return ROOT / "locale" / (STAFF if staff else "") / language / "LC_MESSAGES" / "django.po"


def stored_catalog(language: str, *, staff: bool = False) -> Catalog:
    """Return the catalogue of a language, or an empty one if there is none yet."""
    path = _catalogue_path(language, staff=staff)
    if path.exists():
        with path.open("rb") as file:
            return read_po(file, locale=language)
    return Catalog(
        locale=language,
        project="Quorum",
        version="1",
        charset="utf-8",
        header_comment=HEADER.format(readers="staff" if staff else "worker", language=language),
        msgid_bugs_address="",
        last_translator="Quorum",
        language_team=language,
        creation_date=CREATION_DATE,
        revision_date=CREATION_DATE,
        fuzzy=False,
    )


def _compile_catalog(catalog: Catalog) -> bytes:
    buffer = io.BytesIO()
    write_mo(buffer, catalog)
    return buffer.getvalue()


def _messages_of_compiled(mo: bytes) -> list[tuple[Any, ...]]:
    """Return the messages of a compiled catalogue without the header, which contains the version of Babel."""
    return [
        (message.id, message.context, message.string) for message in read_mo(io.BytesIO(mo)) if message.id
    ]


def update(language: str, *, staff: bool = False) -> None:
    """Update a catalogue: add new messages without translation, and remove unused ones."""
    catalog = stored_catalog(language, staff=staff)
    catalog.update(collect_messages(staff=staff), no_fuzzy_matching=True, update_creation_date=False)
    path = _catalogue_path(language, staff=staff)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalog, width=110, sort_output=True, include_lineno=False, ignore_obsolete=True)
    path.with_suffix(".mo").write_bytes(_compile_catalog(stored_catalog(language, staff=staff)))


def problems(language: str, *, staff: bool = False) -> list[str]:
    """Return sentences about missing, unused and inconsistent translations, and an outdated compiled catalogue."""
    catalog, messages = stored_catalog(language, staff=staff), collect_messages(staff=staff)
    stored_messages = [message for message in catalog if message.id]  # the header has no id
    sentences = [
        f"no translation of {message.id!r} ({message.locations[0][0]})"
        for message in messages
        if message.id and not _is_translated(catalog.get(message.id, context=message.context))
    ]
    sentences += [
        f"{message.id!r} is translated and not used any more"
        for message in stored_messages
        if messages.get(message.id, context=message.context) is None
    ]
    for message in stored_messages:
        sentences += [
            f"{message.id!r}: {problem}"
            for problem in placeholder_problems(message, c2py(catalog.plural_expr))
        ]
    compiled_path = _catalogue_path(language, staff=staff).with_suffix(".mo")
    newly_compiled = _messages_of_compiled(_compile_catalog(catalog))
    if not compiled_path.exists() or _messages_of_compiled(compiled_path.read_bytes()) != newly_compiled:
        sentences.append(f"{compiled_path.relative_to(ROOT)} is not made of its catalogue; run the update")
    return [f"{language}: {sentence}" for sentence in sentences]


def _is_translated(message: Message | None) -> bool:
    """Return whether a stored message has a translation for each of its forms."""
    if message is None or message.fuzzy:
        return False
    forms = message.string if isinstance(message.string, (list, tuple)) else [message.string]
    return all(forms)


def _placeholders_in(text: str) -> set[str]:
    """Return the placeholders and tags in a text, which translations must keep."""
    return set(re.findall(r"%\(\w+\)\w|%%|\{\w+\}|<[^>]+>", text))


def placeholder_problems(message: Message, form_of: Callable[[int], int]) -> Iterator[str]:
    """Yield sentences about changed placeholders and tags. ``form_of`` returns the index of a number's plural form.

    A plural form for zero, one or two may write the number as a word. All other forms must have all placeholders.
    """
    if not message.id:
        return
    if not message.pluralizable:
        if _placeholders_in(str(message.id)) != _placeholders_in(str(message.string)):
            yield f"other placeholders or tags in {message.string!r}"
        return
    singular, plural = list(message.id)
    strings = message.string if isinstance(message.string, (tuple, list)) else ()
    forms_with_number = {form_of(n) for n in range(3, 200)}
    for form, text in enumerate(strings):
        if not _placeholders_in(text) <= _placeholders_in(singular) | _placeholders_in(plural):
            yield f"unknown placeholders or tags in {text!r}"
        if form in forms_with_number and not _placeholders_in(plural) <= _placeholders_in(text):
            yield f"placeholders or tags are missing in {text!r}"


def _set_up() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()


def main(arguments: list[str]) -> int:
    if arguments not in (["update"], ["check"]):
        sys.stderr.write("usage: python scripts/messages.py update|check\n")
        return 2
    _set_up()
    catalogues = [*((name, False) for name in LANGUAGES), *((name, True) for name in STAFF_LANGUAGES)]
    if arguments == ["update"]:
        for language, staff in catalogues:
            update(language, staff=staff)
    problem_list = [problem for language, staff in catalogues for problem in problems(language, staff=staff)]
    sys.stdout.write("".join(f"{problem}\n" for problem in problem_list))
    return 1 if problem_list and arguments == ["check"] else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # if started as a file, Python finds only modules in its folder
    sys.exit(main(sys.argv[1:]))

"""Update the message catalogues of pages: ``python scripts/messages.py update``.

New messages of templates, code and data are added without translation to the catalogues. ``check`` lists missing
translations. The compiled catalogues are committed, so that an installation needs no tool for them.

Messages that one feature alone has are in its folder, ``contrib/<feature>/locale``; all others are in ``locale``. A
message that moves from one to another keeps its translation.

Pages for workers are in six languages, pages for staff in English and German. Messages that no worker sees are only in
the staff's catalogue, or in the German one of a feature.
"""

from __future__ import annotations

import functools
import inspect
import io
import os
import pkgutil
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from gettext import c2py
from importlib import import_module
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
CONTRIB = "contrib"
PACKAGES = ("annotation", "common", "config", "contrib", "evaluation", "judgments")
# This file lists code and templates with texts for workers. All others have texts for staff.
WORKERS_FILE = "locale/workers.txt"
# Gettext functions: Babel's defaults, and functions that Django adds.
KEYWORDS = DEFAULT_KEYWORDS | {
    f"{name}_lazy": DEFAULT_KEYWORDS[name] for name in ("gettext", "ngettext", "pgettext", "npgettext")
} | {"gettext_noop": None}  # fmt: skip
# What all catalogues say about themselves. The date is fixed, so that equal texts give equal files.
CATALOGUE: dict[str, Any] = {
    "project": "Quorum", "version": "1", "charset": "utf-8", "msgid_bugs_address": "", "last_translator": "Quorum",
    **dict.fromkeys(("creation_date", "revision_date"), datetime(2026, 11, 20, tzinfo=UTC)), "fuzzy": False,
}  # fmt: skip
Key = tuple[str, str | None]  # of a message: its text, or its singular, and its context
Place = tuple[str, str]  # of a catalogue: its folder and its language


@functools.cache
def collect_messages(*, staff: bool = False) -> Catalog:
    """Return the messages of workers' pages, or those that only staff pages show."""
    catalog = Catalog(project="Quorum", charset="utf-8")
    workers = collect_messages() if staff else Catalog()
    for path, text, comments, context, is_for_staff in _found_messages():
        if is_for_staff == staff and workers.get(text, context) is None:
            catalog.add(text, locations=[(path, 0)], auto_comments=comments, context=context)
    return catalog


@functools.cache
def catalogues() -> dict[Place, Catalog]:
    """Return the messages of each catalogue. A German one of a feature has its texts for workers and for staff."""
    features = _features_by_message()
    found: dict[Place, Catalog] = {}
    for staff, languages in ((False, LANGUAGES), (True, STAFF_LANGUAGES)):
        for message in (message for message in collect_messages(staff=staff) if message.id):
            feature = features.get(key_of(message))
            folder = f"{CONTRIB}/{feature}/locale" if feature else f"locale/{STAFF}" if staff else "locale"
            for language in languages:
                catalog = found.setdefault((folder, language), Catalog(project="Quorum", charset="utf-8"))
                catalog[message.id] = message.clone()
    return found


def _features_by_message() -> dict[Key, str]:
    """Return the feature of each message that is in the files of one feature alone."""
    features: dict[Key, set[str]] = {}
    for path, text, _comments, context, _is_for_staff in _found_messages():
        features.setdefault(key_of(Message(text, context=context)), set()).add(_feature_of(path))
    names = {key: names.pop() for key, names in features.items() if len(names) == 1}
    hidden = _messages_of_packages()
    return {key: name for key, name in names.items() if name and key not in hidden}


def key_of(message: Message) -> Key:
    return (message.id if isinstance(message.id, str) else message.id[0]), message.context


def _feature_of(path: str) -> str:
    """Return the name of the feature that has a file, or "" for files of the platform."""
    return path.split("/")[1] if path.startswith(f"{CONTRIB}/") else ""


def _messages_of_packages() -> set[Key]:
    """Return the messages that apps of other packages translate. Django prefers these to a feature's."""
    from django.apps import apps

    folders = [app.path for app in apps.get_app_configs() if app.name.partition(".")[0] not in PACKAGES]
    paths = [
        Path(folder, "locale", name, "LC_MESSAGES/django.mo") for folder in folders for name in LANGUAGES
    ]
    files = [io.BytesIO(path.read_bytes()) for path in paths if path.exists()]
    return {key_of(message) for file in files for message in read_mo(file)}


@functools.cache
def workers_sources() -> tuple[str, ...]:
    """Return the paths of the platform's and the features' code and templates with texts for workers."""
    files = [ROOT / WORKERS_FILE, *sorted((ROOT / CONTRIB).glob(f"*/{WORKERS_FILE}"))]
    return tuple(_relative(file.parents[1] / line) for file in files for line in _lines_of(file))


def _lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _path_of(declared: Any) -> str:
    """Return the path of the module that declares a class or a function, or the class of an object."""
    name = inspect.unwrap(declared).__module__ if callable(declared) else type(declared).__module__
    return _relative(Path(sys.modules[name].__file__ or "")) if name.partition(".")[0] in PACKAGES else name


@functools.cache
def _found_messages() -> list[tuple[str, Any, list[str], str | None, bool]]:
    """Return (path, message, comments, context, is for staff) for all messages, equal ones repeatedly.

    A message is a text, or a singular with a plural.
    """
    found: list[tuple[str, Any, list[str], str | None, bool]] = []
    for path, source in _sources():
        for _, text, comments, context in extract("python", source, KEYWORDS, ("Translators:",)):
            is_for_staff = context == STAFF or not path.startswith(workers_sources())
            found.append((path, text, comments, context, is_for_staff))
    found += [(path, text.strip(), [], None, False) for path, text in _data_texts()]
    found += [(path, text.strip(), [], None, True) for path, text in (*_staff_texts(), *_constant_texts())]
    return found


def _data_texts() -> Iterator[tuple[str, str]]:
    """Yield (path, text) for texts in data files, which are translated when they are shown."""
    from judgments.design.countries import COUNTRIES
    from judgments.design.quiz import QUIZ_PRESETS
    from judgments.design.reading.presets import PRESETS, preset_files
    from judgments.kinds import KINDS
    from judgments.kinds.caption_rules import RULES

    for kind in KINDS.values():
        path = _path_of(kind)
        yield from ((path, choice.label) for choice in kind.choices)
        yield from _design_texts(path, kind.defaults)
    yield from _wording_texts()
    yield from (("judgments/kinds/caption_rules/rules.toml", str(rule.message)) for rule in RULES)
    for file in sorted((ROOT / CONTRIB).glob("*/**/mqm.toml")):
        categories = tomllib.loads(file.read_text(encoding="utf-8"))["category"]
        yield from ((_relative(file), category["label"]) for category in categories)
    files = preset_files()
    for name, preset in PRESETS.items():
        yield from _design_texts(_relative(Path(str(files[name]))), preset.values)
    for quiz in QUIZ_PRESETS.values():
        for question in quiz.questions:
            yield from ((_path_of(quiz), text) for text in (question.text, question.explanation))
    yield from _error_titles()
    yield from (("judgments/design/countries.csv", name) for name in COUNTRIES.values())


def _wording_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts of kinds for each type of judged text, such as summaries and translations."""
    from judgments.design.wordings import read_wordings

    paths = [ROOT / "judgments/design/wordings.toml", *sorted((ROOT / CONTRIB).glob("*/**/wordings.toml"))]
    for path in paths:
        for wording in (wording for kind in read_wordings(path).values() for wording in kind.values()):
            for value in (getattr(wording, field.name) for field in fields(wording) if field.name != "title"):
                texts = value if isinstance(value, tuple) else (value,)
                yield from ((_relative(path), str(text)) for text in texts if text)


def _error_titles() -> Iterator[tuple[str, str]]:
    """Yield the titles of the errors that workers can see."""
    from common.errors import QuorumError

    for path in ("common/errors.py", *(path for path in workers_sources() if path.endswith("/errors.py"))):
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
    from django.conf import settings

    from config.admin.names import declared_names, fields_with_choices
    from config.admin.site import site
    from judgments.access.dataset_roles import DATASET_ROLES
    from judgments.access.tokens import SCOPES
    from judgments.access.views import ROLES
    from judgments.admin.terms import terms
    from judgments.datasets.upload_parts import ENCODINGS
    from judgments.jobs.words import QUEUE_TITLES
    from judgments.studies.home_page import NEEDS

    # texts of the admin's theme that pages show, and that the theme has only in English
    yield from (("the admin's theme", text) for text in _lines_of(ROOT / "locale/theme.txt"))
    yield from _study_page_texts()
    yield from _design_page_texts()
    for named_object, _, text in declared_names():  # an app, the options of a model, a field or a column
        yield _path_of(getattr(named_object, "model", named_object)), text
    for field in fields_with_choices():
        yield from ((_path_of(field.model), str(label)) for _, label in field.flatchoices)
    for model_admin in site._registry.values():
        texts = (getattr(model_admin, "empty_list_text", ""), getattr(model_admin, "add_label", ""))
        yield from ((_path_of(model_admin), text) for text in texts if text)
    for term, explanation in terms().items():
        yield from (("docs/glossary.md", text) for text in (term, explanation))
    for need in NEEDS.values():
        yield from ((_path_of(need.rows), text) for text in (*need.labels, need.button))
    yield from (("judgments/jobs/words.py", text) for text in QUEUE_TITLES.values())
    for role, explanation in (*ROLES, *DATASET_ROLES):
        yield from (("judgments/access", text) for text in (role, explanation))
    scope_paths = {
        name: _path_of(app)
        for app in settings.FEATURES.values()
        for name in (*app.scopes, *app.participant_scopes)
    }
    yield from ((scope_paths.get(name, "judgments/access"), text) for name, text in SCOPES.items())
    yield from (("judgments/datasets/upload_parts.py", text) for text in ENCODINGS.values())


def _study_page_texts() -> Iterator[tuple[str, str]]:
    """Yield the labels and texts of a study's sections, pages and steps."""
    from judgments.studies.pages import StudySection
    from judgments.studies.study_page import PAGES, START_PAGES, STEPS

    path, paths = "judgments/studies/study_page.py", _paths_of_form_texts()
    yield from ((path, group.value) for group in StudySection)
    yield from ((_path_of(page.view), page.label) for page in PAGES.values() if page.label)
    for start in START_PAGES.values():
        yield from ((_path_of(start.view), text) for text in (start.label, start.text) if text)
    for step in STEPS.values():
        location = _path_of(step.operation.do or step.operation.prepare if step.operation else step.run)
        yield from ((location, text) for text in (step.label, step.message) if text)
        if step.form is None:
            continue
        parameter_fields = step.form.parameters().fields
        for field in map(parameter_fields.__getitem__, step.form.fields):
            for text in filter(None, (field.label, field.help_text)):
                yield paths.get(str(text), location), str(text)
            # The declared (value, label) pairs, or else those of a ChoiceField.
            choices = field.style.get("choices", ()) or getattr(field, "choices", {}).items()
            if not callable(choices):  # choices that depend on the study are names, not texts
                yield from ((location, str(label)) for value, label in choices if str(label) != value)


def _paths_of_form_texts() -> dict[str, str]:
    """Return the paths of texts that the platform's forms take from detectors, quizzes and parts of reports."""
    from annotation.quality.detectors import RULES
    from evaluation.reports.parts import optional_parts
    from judgments.design.quiz import QUIZ_PRESETS

    paths = {each.title: _path_of(each) for each in (*RULES.values(), *QUIZ_PRESETS.values())}
    parts = optional_parts().values()
    return paths | {text: _path_of(part) for part in parts for text in (part.label, part.help_text)}


def _design_page_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts of the form for designs, for every kind."""
    from django.conf import settings

    from judgments.design.editing.form.design_form import DesignForm
    from judgments.design.editing.form.sections import DESIGN_STEPS
    from judgments.design.editing.form.values import starting_values
    from judgments.design.editing.rows import RowsField
    from judgments.design.reading.presets import PRESETS, preset_files
    from judgments.kinds import KINDS

    path, files, paths = "judgments/design", preset_files(), _paths_of_form_texts()
    django_texts = set(dict(settings.LANGUAGES).values())  # Django translates the names of languages
    for name, explanation in DESIGN_STEPS.items():
        yield from ((path, text) for text in (name, explanation))
    for name, preset in PRESETS.items():
        file = _relative(Path(str(files[name])))
        yield from ((file, text) for text in (preset.title, preset.choose, preset.source) if text)
    for kind in KINDS.values():
        yield _path_of(kind), kind.title
        form = DesignForm(base=starting_values(protocol=kind.name), datasets=[])
        for section in form.sections:
            yield from ((path, text) for text in (section.title, section.text) if text)
        for name, field in form.fields.items():
            choices = getattr(field, "choices", ()) if name != "dataset" else ()
            for text in filter(None, (field.label, field.help_text, *(label for _, label in choices))):
                yield paths.get(str(text), path), str(text)
            # The field of translations has several parts.
            for part in getattr(field, "parts", {"": field}).values():
                for column in part.columns if isinstance(part, RowsField) else ():
                    labels = (label for _, label in column.choices if label not in django_texts)
                    yield from ((path, text) for text in (column.label, column.help, *labels) if text)


def _constant_texts() -> Iterator[tuple[str, str]]:
    """Yield (path, text) for texts in constants that staff pages translate, such as reasons and formats."""
    from django.apps import apps

    from annotation.crowds import BACKENDS
    from common.features import of_apps
    from evaluation.data.export.formats import FORMATS
    from judgments.design.quiz import QUIZ_PRESETS
    from judgments.importers.notes import QUIRK_NOTES
    from judgments.kinds import KINDS

    yield from _reasons()
    yield from _table_texts()
    format_paths = {
        name: _path_of(apps.app_configs[label]) for name, (label, _) in of_apps("formats").items()
    }
    for name, export_format in FORMATS.items():
        yield format_paths.get(name, "evaluation/data/export/formats"), export_format.description
    yield from ((_path_of(backend), backend.title) for backend in BACKENDS)
    yield from (("judgments/importers", sentence) for sentence in QUIRK_NOTES.values())
    for kind in KINDS.values():
        sentences = (kind.comparison.refusal, kind.aggregation.no_alpha)
        yield from ((_path_of(kind), text) for text in sentences if text)
    yield from ((_path_of(preset), preset.unstated_settings) for preset in QUIZ_PRESETS.values())


def _reasons() -> Iterator[tuple[str, str]]:
    """Yield the constants with sentences about why a figure is undefined, but no sentences with placeholders."""
    from evaluation.results import agreement, worker_models
    from evaluation.results.rankings import measures
    from quorum import statistics

    packages = pkgutil.walk_packages(statistics.__path__, f"{statistics.__name__}.")
    for module in (agreement, measures, worker_models, *(import_module(each.name) for each in packages)):
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


def _sources() -> Iterator[tuple[str, io.BytesIO]]:
    """Yield (path, Python source) of all files that may contain messages."""
    from django.utils.translation.template import templatize

    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            source = file.read_bytes()
            if b"gettext" in source:
                yield _relative(file), io.BytesIO(source)
    for file in sorted([*ROOT.glob("templates/**/*.html"), *ROOT.glob("contrib/*/templates/**/*.html")]):
        path = _relative(file)
        code = templatize(file.read_text(encoding="utf-8"), origin=path)
        # without the indentation of the template, which would be syntax in Python
        yield path, io.BytesIO(re.sub(r"^\s+", "", code, flags=re.MULTILINE).encode())


def _path_of_catalogue(place: Place) -> Path:
    return Path(ROOT, *place, "LC_MESSAGES", "django.po")


def stored_places() -> list[Place]:
    """Return the places of all catalogues that there are."""
    files = [*ROOT.glob("locale/**/django.po"), *ROOT.glob("contrib/*/locale/**/django.po")]
    return [(_relative(file.parents[2]), file.parents[1].name) for file in sorted(files)]


def stored_catalog(place: Place) -> Catalog:
    """Return a catalogue, or an empty one if there is none yet."""
    path, (folder, language) = _path_of_catalogue(place), place
    if path.exists():
        with path.open("rb") as file:
            return read_po(file, locale=language)
    feature = _feature_of(folder)
    pages = f"feature {feature}" if feature else "staff pages" if folder.endswith(STAFF) else "worker pages"
    header = f"# The texts of Quorum's {pages} ({language})."
    catalog = Catalog(locale=language, header_comment=header, language_team=language, **CATALOGUE)
    if feature:  # the plural forms of its language, which Babel has changed since
        catalog.mime_headers = stored_catalog(("locale", language)).mime_headers
    return catalog


@functools.cache
def stored_messages(language: str) -> dict[Key, Message]:
    """Return the translated messages of all catalogues of a language."""
    catalogs = (stored_catalog(place) for place in stored_places() if place[1] == language)
    return {key_of(message): message for catalog in catalogs for message in catalog if message.id}


def _compile_catalog(catalog: Catalog) -> bytes:
    buffer = io.BytesIO()
    write_mo(buffer, catalog)
    return buffer.getvalue()


def _messages_of_compiled(mo: bytes) -> list[tuple[Any, ...]]:
    """Return the messages of a compiled catalogue without the header, which contains the version of Babel."""
    messages = read_mo(io.BytesIO(mo))
    return [(message.id, message.context, message.string) for message in messages if message.id]


def update() -> None:
    """Update all catalogues: add new messages without translation, and remove unused ones.

    A message that was in another catalogue of the language keeps its translation.
    """
    stored = {language: stored_messages(language) for language in LANGUAGES}
    for path in map(_path_of_catalogue, set(stored_places()) - set(catalogues())):
        path.unlink()
        path.with_suffix(".mo").unlink()
    for place, messages in catalogues().items():
        path, catalog = _path_of_catalogue(place), stored_catalog(place)
        for message in messages:
            former = stored[place[1]].get(key_of(message))
            if former is not None and former.id == message.id:
                catalog[message.id] = former
        catalog.update(messages, no_fuzzy_matching=True, update_creation_date=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_po(file, catalog, width=110, sort_output=True, include_lineno=False, ignore_obsolete=True)
        path.with_suffix(".mo").write_bytes(_compile_catalog(stored_catalog(place)))


def problems(language: str) -> list[str]:
    """Return sentences about missing, unused and inconsistent translations, and outdated compiled catalogues."""
    places = {place for place in (*catalogues(), *stored_places()) if place[1] == language}
    return [f"{language}: {sentence}" for place in sorted(places) for sentence in _problems_of(place)]


def _problems_of(place: Place) -> Iterator[str]:
    catalog, messages = stored_catalog(place), catalogues().get(place, Catalog())
    stored = [message for message in catalog if message.id]  # the header has no id
    for message in messages:
        if message.id and not _is_translated(catalog.get(message.id, context=message.context)):
            yield f"no translation of {message.id!r} ({message.locations[0][0]})"
    for message in stored:
        if messages.get(message.id, context=message.context) is None:
            yield f"{message.id!r} is translated and not used any more in {place[0]}"
        for problem in placeholder_problems(message, c2py(catalog.plural_expr)):
            yield f"{message.id!r}: {problem}"
    compiled_path = _path_of_catalogue(place).with_suffix(".mo")
    newly_compiled = _messages_of_compiled(_compile_catalog(catalog))
    if not compiled_path.exists() or _messages_of_compiled(compiled_path.read_bytes()) != newly_compiled:
        yield f"{compiled_path.relative_to(ROOT)} is not made of its catalogue; run the update"


def _is_translated(message: Message | None) -> bool:
    """Return whether a stored message has a translation for each of its forms."""
    if message is None or message.fuzzy:
        return False
    return all(message.string if isinstance(message.string, (list, tuple)) else [message.string])


def _placeholders_in(text: str) -> set[str]:
    """Return the placeholders and tags in a text, which translations must keep."""
    return set(re.findall(r"%\(\w+\)\w|%%|\{\w+\}|<[^>]+>", text))


def placeholder_problems(message: Message, form_of: Callable[[int], int]) -> Iterator[str]:
    """Yield sentences about changed placeholders and tags. ``form_of`` returns the index of a number's plural form.

    A plural form for zero, one or two may write the number as a word. All other forms must have all placeholders.
    """
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


def main(arguments: list[str]) -> int:
    if arguments not in (["update"], ["check"]):
        sys.stderr.write("usage: python scripts/messages.py update|check\n")
        return 2
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if arguments == ["update"]:
        update()
    problem_list = [problem for language in LANGUAGES for problem in problems(language)]
    sys.stdout.write("".join(f"{problem}\n" for problem in problem_list))
    return 1 if problem_list and arguments == ["check"] else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # if started as a file, Python finds only modules in its folder
    sys.exit(main(sys.argv[1:]))

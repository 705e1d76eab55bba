"""Ids in a panel's links, completion codes, and the signed form that carries ids between pages. Pure but for the
installation's key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.core import signing
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds.people import installation_mark, session_pseudonym
from common.errors import NotThere, QuorumError
from judgments.design.panels import Panel, project_parameter, session_parameter, way_back, worker_parameter
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.studies import design_of

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without letters that look alike
CODE_LENGTH = 10
LONGEST_ID = 100
A_DAY = 24 * 3600
SALT = "quorum.panel"
# starts with a letter or digit, so that no spreadsheet takes it for a formula
AN_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._@+:~-]{{0,{LONGEST_ID - 1}}}")


class LinkProblem(QuorumError):
    """A panel's link lacks valid ids; nothing is recorded."""

    title = gettext_noop("This link is not complete")


@dataclass(frozen=True, slots=True)
class PanelIds:
    """The panel's ids of the person, the submission ('' if it has none), and the study."""

    worker: str
    session: str = ""
    project: str = ""


def ids_of_link(panel: Panel, query: Mapping[str, str]) -> PanelIds:
    """Return the ids in a link's parameters; raise LinkProblem if one is missing or malformed."""
    return PanelIds(
        worker=_id(query, worker_parameter(panel)),
        session=_id(query, session_parameter(panel)),
        project=_id(query, project_parameter(panel), needed=False),
    )


def _id(query: Mapping[str, str], name: str, *, needed: bool = True) -> str:
    found = query.get(name, "").strip() if name else ""
    if name and not found and needed:
        raise LinkProblem(
            _(
                "Nothing was recorded: the link that brought you here lacks %(name)s. Please go back to where you "
                "found the study and open it from there."
            )
            % {"name": name}
        )
    if found and not AN_ID.fullmatch(found):
        if not needed:
            return ""
        raise LinkProblem(
            _(
                "Nothing was recorded: %(name)s in the link that brought you here is no id. Please go back to where "
                "you found the study and open it from there."
            )
            % {"name": name}
        )
    return found


def session_name(study: Study, ids: PanelIds) -> str:
    """Return our name of the submission.

    A panel without submission ids sends a person to a study once. A panel without an API may give a person the
    same id in every study, so the study's id is added.
    """
    if ids.session and design_of(study).panel.api:
        return session_pseudonym(study.place, ids.session)
    return session_pseudonym(study.place, f"{study.pk} {ids.session or ids.worker}")


def code_for(study: Study, design: StudyDesign, outcome: str) -> str:
    """Return the design's code of an outcome, or one that only this installation can make."""
    own = design.panel.code_of(outcome)
    if own:
        return own
    drawn = int(installation_mark("code", str(study.pk), study.slug, outcome), 16)
    letters = []
    for _place in range(CODE_LENGTH):
        drawn, letter = divmod(drawn, len(CODE_LETTERS))
        letters.append(CODE_LETTERS[letter])
    return "".join(letters)


def address_back(design: StudyDesign, outcome: str, *, code: str, ids: PanelIds) -> str:
    """Return the address to go back to; '' if the code is shown instead."""
    return way_back(design.panel, outcome, code=code, worker=ids.worker, session=ids.session)


def sealed(study: Study, ids: PanelIds) -> str:
    """Sign the ids for the first page's form, which sets no cookie."""
    return signing.dumps([study.pk, ids.worker, ids.session, ids.project], salt=SALT)


def opened(study: Study, seal: str) -> PanelIds:
    """Return the ids of a signed form; raise LinkProblem if it is forged or older than a day."""
    try:
        pk, worker, session, project = signing.loads(seal, salt=SALT, max_age=A_DAY)
        if pk != study.pk:
            raise NotThere("another study's form")
    except (signing.BadSignature, ValueError, TypeError, NotThere):
        raise LinkProblem(
            _(
                "Nothing was recorded: this page is too old. Please go back to where you found the study and open it "
                "from there."
            )
        ) from None
    return PanelIds(worker=worker, session=session, project=project)

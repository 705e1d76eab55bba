"""The HTML of the workers' site: plain, no scripts, everything escaped but a HIT's own page."""

from collections.abc import Sequence
from html import escape

from tests.fakes.mturk.ledger import dollars
from tests.fakes.mturk.questions import Field
from tests.fakes.mturk.site import Frame
from tests.fakes.mturk.state import HIT, Assignment, QualificationType

USUAL_HEIGHT = 800  # pixels, where a HIT asks for the whole window (FrameHeight 0)


def layout(title: str, *parts: str) -> str:
    """A page of the site."""
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
        f"<body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>"
    )


def message(title: str, text: str) -> str:
    """A page that says one thing."""
    return layout(title, f"<p>{escape(text)}</p>")


def sign_in(following: str) -> str:
    """Who are you? The emulator believes everybody."""
    return layout(
        "Sign in",
        '<form method="post" action="/worker/sign-in">'
        f'<input type="hidden" name="next" value="{escape(following)}">'
        '<label>Worker ID <input name="workerId" pattern="A[A-Z0-9]+" required></label> '
        "<button>Sign in</button></form>",
    )


def listing(
    worker_id: str, hits: Sequence[HIT], held: Sequence[Assignment], kinds: Sequence[QualificationType]
) -> str:
    """Everything a worker can do now."""
    queue = "".join(
        f'<li><a href="/worker/assignments/{turn.assignment_id}">{escape(turn.hit.type.title)}</a></li>'
        for turn in held
    )
    found = "".join(
        f'<li><a href="/worker/hits/{hit.hit_id}">{escape(hit.type.title)}</a> '
        f"(${dollars(hit.type.reward_cents)}): {escape(hit.type.description)}</li>"
        for hit in hits
    )
    offered = "".join(
        f"<li>{escape(kind.name)}: {escape(kind.description)} "
        f'<form method="post" action="/worker/qualifications/{kind.qualification_type_id}">'
        "<button>Request</button></form></li>"
        for kind in kinds
    )
    return layout(
        f"HITs for {worker_id}",
        f"<h2>Your queue</h2><ul>{queue}</ul><h2>Available</h2><ul>{found}</ul>",
        f"<h2>Qualifications</h2><ul>{offered}</ul>",
    )


def preview(hit: HIT, frame: Frame) -> str:
    """A HIT that was not accepted yet."""
    accept = (
        f'<form method="post" action="/worker/hits/{hit.hit_id}/accept"><button>Accept HIT</button></form>'
    )
    return layout(hit.type.title, _facts(hit), accept, _iframe(frame))


def assigned(hit: HIT, frame: Frame) -> str:
    """A HIT that was accepted."""
    give_back = (
        f'<form method="post" action="/worker/assignments/{frame.assignment_id}/return">'
        "<button>Return HIT</button></form>"
    )
    return layout(hit.type.title, _facts(hit), give_back, _iframe(frame))


def _facts(hit: HIT) -> str:
    minutes = hit.type.duration // 60
    return (
        f"<p>{escape(hit.type.description)}</p>"
        f"<p>Reward ${dollars(hit.type.reward_cents)}, time allotted {minutes} min</p>"
    )


def _iframe(frame: Frame) -> str:
    height = frame.height or USUAL_HEIGHT
    return (
        f'<iframe name="hit" title="HIT" width="100%" height="{height}" src="{escape(frame.url)}"></iframe>'
    )


def question_form(
    fields: Sequence[Field], action: str, hidden: dict[str, str], *, closed: bool = False
) -> str:
    """A QuestionForm laid out as a plain form; a preview has no button."""
    rows = "".join(_row(field) for field in fields)
    extra = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in hidden.items()
    )
    button = "" if closed else "<button>Submit</button>"
    return layout("Questions", f'<form method="post" action="{escape(action)}">{extra}{rows}{button}</form>')


def _row(field: Field) -> str:
    name = escape(field.identifier)
    texts = "".join(f"<p>{escape(text)}</p>" for text in field.texts)
    if not field.options:
        return f'<fieldset>{texts}<textarea name="{name}" aria-label="{name}"></textarea></fieldset>'
    kind = "checkbox" if field.several else "radio"
    options = "".join(
        f'<label><input type="{kind}" name="{name}" value="{escape(value)}"> {escape(text)}</label>'
        for value, text in field.options
    )
    return f"<fieldset>{texts}{options}</fieldset>"

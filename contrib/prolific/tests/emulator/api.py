"""The API's endpoints. Each checks a request, changes the rows, and returns the status and the body of the response.

The docstring of an endpoint names its method and path. ROUTES lists all endpoints.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from contrib.prolific.tests.emulator.traits import FILTERS
from contrib.prolific.tests.emulator.world import BulkBonus, Group, Refusal, Study, Submission, World

Query = Mapping[str, str]
Body = Mapping[str, Any]
Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]
Endpoint = Callable[[World, tuple[str, ...], Query, Body], Answer]

# R: "Create a draft study": the required fields, and those of the others that Quorum might use
REQUIRED = {
    "name": str,
    "description": str,
    "external_study_url": str,
    "prolific_id_option": str,
    "completion_codes": list,
    "total_available_places": int,
    "estimated_completion_time": int,
    "reward": int,
}
OPTIONAL = {
    "internal_name": str,
    "maximum_allowed_time": int,
    "device_compatibility": list,
    "peripheral_requirements": list,
    "filters": list,
    "project": str,
    "submissions_config": dict,
    "metadata": str,
}
# the actions of completion codes, with the members that they need
ACTIONS = {
    "AUTOMATICALLY_APPROVE": set(),
    "MANUALLY_REVIEW": set(),
    "REQUEST_RETURN": {"return_reason"},
    "FIXED_SCREEN_OUT_PAYMENT": {"fixed_screen_out_reward", "slots"},
}
# the new state of a study, by its state and the action
TRANSITIONS = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE",
    ("PAUSED", "STOP"): "COMPLETED",
}
# of rejections
CATEGORIES = {
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT",
    "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
}  # fmt: skip
MIN_REASON_LENGTH = 100
# £6.00 or $8.00 an hour (researcher-help.prolific.com, "Prolific's payment principles")
MIN_HOURLY_CENTS = 600
CHANGEABLE = {
    "internal_name",
    "total_available_places",
    "submissions_config",
    "completion_codes",
}  # R: of a published study
MAX_BONUSES = 200  # number of bonuses in one set-up


def create_study(world: World, _: tuple[str, ...], __: Query, body: Body) -> Answer:
    """POST /studies/"""
    _check_fields(body, REQUIRED | OPTIONAL, required=set(REQUIRED))
    _check_codes(body["completion_codes"])
    if body["total_available_places"] < 1 or body["reward"] < 1:
        raise Refusal({"reward": ["Places and reward must be positive."]})
    hourly = body["reward"] * 60 / body["estimated_completion_time"]
    if hourly < MIN_HOURLY_CENTS:
        raise Refusal(
            {"reward": [f"The reward per hour is {hourly:.0f}; it must be at least {MIN_HOURLY_CENTS}."]}
        )
    for entry in body.get("filters") or []:
        _check_filter(world, entry)
    if unknown := set(body.get("device_compatibility") or []) - {"desktop", "tablet", "mobile"}:
        raise Refusal({"device_compatibility": [f"Not valid choices: {sorted(unknown)}."]})
    study = Study(world.new_id(), dict(body), world.now())
    world.studies[study.id] = study
    return 201, _study(world, study)


def list_filters(world: World, _: tuple[str, ...], __: Query, ___: Body) -> Answer:
    """GET /filters/: all on one page, since the reference mentions no pages."""
    rows = [{"filter_id": name, "title": name, **about} for name, about in FILTERS.items()]
    return 200, {"results": rows, "meta": {"count": len(rows)}}


def _check_filter(world: World, entry: Mapping[str, Any]) -> None:
    """Raise Refusal if a filter is not valid (R: "SelectFilter", "RangeFilter"). To refuse unknown ids is a guess."""
    name = entry.get("filter_id")
    about = FILTERS.get(str(name))
    if about is None:
        raise Refusal({"filters": [f"There is no filter {name!r}."]})
    if about["type"] == "select":
        rows = {"ParticipantGroupID": set(world.groups), "StudyID": set(world.studies)}
        known = rows.get(about["data_type"], set(about["choices"]))
        if missing := [one for one in entry["selected_values"] if one not in known]:
            raise Refusal({"filters": [f"Unknown to the filter {name}: {missing}."]})
        if extra := set(entry.get("weightings", {})) - set(entry["selected_values"]):
            raise Refusal({"filters": [f"Weightings of what is not selected: {sorted(extra)}."]})
        return
    ranges = [
        entry["selected_range"],
        *(one["selected_range"] for one in entry.get("weightings", {}).values()),
    ]
    for one in ranges:
        lower, upper = one.get("lower", about["min"]), one.get("upper", about["max"])
        if not about["min"] <= lower <= upper <= about["max"]:
            raise Refusal({"filters": [f"{lower} to {upper} is no range of the filter {name}."]})


def list_studies(world: World, _: tuple[str, ...], __: Query, ___: Body) -> Answer:
    """GET /studies/: all on one page, since the reference mentions no pages."""
    return 200, {"results": [_study(world, one) for one in world.studies.values()]}


def list_project_studies(world: World, path: tuple[str, ...], query: Query, _: Body) -> Answer:
    """GET /projects/{id}/studies/: pages by number, without links (R has only ``page`` and ``page_size``)."""
    mine = [one for one in world.studies.values() if one.fields.get("project") == path[0]]
    rows, _more = _page(mine, query, size=20)
    return 200, {"results": [_study(world, one) for one in rows]}


def get_study(world: World, path: tuple[str, ...], _: Query, __: Body) -> Answer:
    """GET /studies/{id}/"""
    return 200, _study(world, _find(world.studies, path[0], "study"))


def update_study(world: World, path: tuple[str, ...], _: Query, body: Body) -> Answer:
    """PATCH /studies/{id}/"""
    study = _find(world.studies, path[0], "study")
    _check_fields(body, REQUIRED | OPTIONAL, required=set())
    if study.status != "UNPUBLISHED":
        if frozen := sorted(set(body) - CHANGEABLE):
            raise Refusal({name: ["Can't be changed once the study is published."] for name in frozen})
        if "completion_codes" in body:
            _raise_slots(world, study, body["completion_codes"])
            body = {name: value for name, value in body.items() if name != "completion_codes"}
        more = int(body.get("total_available_places", study.places)) - study.places
        if more < 0:
            raise Refusal(
                {"total_available_places": ["You can only increase the places of a published study."]}
            )
        opens = bool(more) and study.status in {"COMPLETED", "AWAITING REVIEW"}
        world.afford((more + (world.empty(study) if opens else 0)) * world.price(study.reward))
        if opens:
            study.status = "ACTIVE"
    study.fields.update(body)
    return 200, _study(world, study)


def _raise_slots(world: World, study: Study, codes: list[dict[str, Any]]) -> None:
    """Raise the number of paid screen-outs of a published study. Only slots can be changed (R: "FixedScreenOut")."""
    paying = {code["code"]: action for code, action in world.screen_outs(study)}
    for entry in codes:
        [changed] = entry["actions"]
        if entry["code"] not in paying or set(changed) != {"action", "slots"}:
            raise Refusal({"completion_codes": ["Only slots can be changed once the study is published."]})
        action = paying[entry["code"]]
        more = changed["slots"] - action["slots"]
        if more < 0:
            raise Refusal({"completion_codes": ["You can only increase slots."]})
        world.afford(more * world.price(action["fixed_screen_out_reward"]))
        action["slots"] = changed["slots"]


def transition_study(world: World, path: tuple[str, ...], _: Query, body: Body) -> Answer:
    """POST /studies/{id}/transition/"""
    study = _find(world.studies, path[0], "study")
    _check_fields(body, {"action": str}, required={"action"})
    following = TRANSITIONS.get((study.status, body["action"]))
    if following is None:
        raise Refusal(f"You can't {body['action']} a study that is {study.status}.", code=140003)
    if body["action"] == "PUBLISH":
        world.afford(study.places * world.price(study.reward) + world.screen_outs_cents(study))
    study.status = following
    return 200, _study(world, study)


def list_submissions(world: World, _: tuple[str, ...], query: Query, __: Body) -> Answer:
    """GET /submissions/?study=…: pages by number with links (R: by default 20 rows on a page)."""
    if "study" not in query:
        raise Refusal({"study": ["This query parameter is required."]}, bare=True)
    mine = sorted(world.of(query["study"]), key=lambda one: (one.started, one.id))
    rows, more = _page(mine, query, size=20)
    following = None
    if more:
        asked = {**query, "page": int(query.get("page", 1)) + 1}
        following = f"https://elsewhere.example/api/v1/submissions/?{urlencode(asked)}"
    answer = {
        "results": [_listed(world, one) for one in rows],
        "_links": {"next": {"href": following, "title": "Next"}},
        "meta": {"count": len(mine)},
    }
    return 200, answer


def get_submission(world: World, path: tuple[str, ...], _: Query, __: Body) -> Answer:
    """GET /submissions/{id}/"""
    return 200, _detailed(_find(world.submissions, path[0], "submission"))


def transition_submission(world: World, path: tuple[str, ...], _: Query, body: Body) -> Answer:
    """POST /submissions/{id}/transition/"""
    one = _find(world.submissions, path[0], "submission")
    fields = {"action": str, "message": str, "rejection_category": str}
    _check_fields(body, fields, required={"action"})
    if body["action"] == "APPROVE":
        world.approve(one)
    elif body["action"] == "REJECT":
        message, category = body.get("message", ""), body.get("rejection_category", "")
        if len(message) < MIN_REASON_LENGTH:
            raise Refusal({"message": [f"Ensure this has at least {MIN_REASON_LENGTH} characters."]})
        if category not in CATEGORIES:
            raise Refusal({"rejection_category": [f"{category!r} is not a valid choice."]})
        world.reject(one, category, message)
    else:
        raise Refusal(f"The emulator knows APPROVE and REJECT alone, not {body['action']}.")
    return 200, _detailed(one)


def set_up_bonuses(world: World, _: tuple[str, ...], __: Query, body: Body) -> Answer:
    """POST /submissions/bonus-payments/: amounts in the main unit, for submissions or participants of the study."""
    _check_fields(body, {"study_id": str, "csv_bonuses": str}, required={"study_id", "csv_bonuses"})
    study = _find(world.studies, body["study_id"], "study")
    people = {one.participant: one.id for one in world.of(study.id)}
    rows, wrong = [], []
    for line in body["csv_bonuses"].strip().split("\n"):
        whom, _comma, amount = line.partition(",")
        submission = people.get(whom, whom)
        known = submission in world.submissions and world.submissions[submission].study == study.id
        if not known or not re.fullmatch(r"\d+(\.\d{1,2})?", amount):
            wrong.append(line)
            continue
        main, _dot, rest = amount.partition(".")
        rows.append((submission, int(main) * 100 + int(f"{rest:0<2}")))
    if wrong or not 0 < len(rows) <= MAX_BONUSES:
        raise Refusal({"csv_bonuses": [f"These could not be read or took no part: {wrong}"]})
    bonus = BulkBonus(world.new_id(), study.id, rows, sum(world.price(cents) for _whom, cents in rows))
    world.bulk_bonuses[bonus.id] = bonus
    amount = sum(cents for _whom, cents in rows)
    answer = {"id": bonus.id, "study": study.id, "amount": float(amount), "total_amount": float(bonus.total)}
    fees = [world.fees(cents) for _whom, cents in rows]
    return 201, answer | {
        "fees": float(sum(fee for fee, _ in fees)),
        "vat": float(sum(vat for _, vat in fees)),
    }


def pay_bonuses(world: World, path: tuple[str, ...], _: Query, __: Body) -> Answer:
    """POST /bulk-bonus-payments/{id}/pay/: *not* idempotent; the bonuses are shown later (R)."""
    bonus = _find(world.bulk_bonuses, path[0], "bulk bonus payment")
    world.afford(bonus.total)
    bonus.paid += 1
    for submission, cents in bonus.rows:
        world.pay_bonus(submission, cents)
    return 202, "Bonuses are being paid."


def list_groups(world: World, _: tuple[str, ...], query: Query, __: Body) -> Answer:
    """GET /participant-groups/?workspace_id=…"""
    if "workspace_id" not in query:
        raise Refusal("Either workspace_id or project_id is required.")
    mine = [one for one in world.groups.values() if one.workspace == query["workspace_id"]]
    return 200, {"results": [_group(one) for one in mine]}


def create_group(world: World, _: tuple[str, ...], __: Query, body: Body) -> Answer:
    """POST /participant-groups/"""
    fields = {"name": str, "workspace_id": str, "description": str, "participant_ids": list}
    _check_fields(body, fields, required={"name", "workspace_id"})
    group = Group(world.new_id(), body["name"], body["workspace_id"])
    group.members = {one: world.now() for one in body.get("participant_ids", [])}
    world.groups[group.id] = group
    return 201, _group(group)


def add_members(world: World, path: tuple[str, ...], _: Query, body: Body) -> Answer:
    """POST /participant-groups/{id}/participants/: people who are members are ignored (R)."""
    group = _find(world.groups, path[0], "participant group")
    _check_fields(body, {"participant_ids": list}, required={"participant_ids"})
    for one in body["participant_ids"]:
        group.members.setdefault(one, world.now())
    return 200, _members(group)


def remove_members(world: World, path: tuple[str, ...], _: Query, body: Body) -> Answer:
    """DELETE /participant-groups/{id}/participants/: people who are no members are ignored (R)."""
    group = _find(world.groups, path[0], "participant group")
    _check_fields(body, {"participant_ids": list}, required={"participant_ids"})
    for one in body["participant_ids"]:
        group.members.pop(one, None)
    return 200, _members(group)


def send_message(world: World, _: tuple[str, ...], __: Query, body: Body) -> Answer:
    """POST /messages/"""
    fields = {"recipient_id": str, "study_id": str, "body": str}
    _check_fields(body, fields, required=set(fields), bare=True)
    world.messages.append({name: body[name] for name in fields})
    return 204, None


def calculate_cost(world: World, _: tuple[str, ...], __: Query, body: Body) -> Answer:
    """POST /study-cost-calculator/"""
    fields = {"reward": int, "total_available_places": int}
    _check_fields(body, fields, required=set(fields), bare=True)
    return 200, {"total_cost": float(world.price(body["reward"]) * body["total_available_places"])}


def get_balance(world: World, _: tuple[str, ...], __: Query, ___: Body) -> Answer:
    """GET /workspaces/{id}/balance/"""
    total = world.deposit_cents - world.spent_cents
    return 200, {"currency_code": "GBP", "total_balance": total, "available_balance": world.available_cents()}


def export_demographics(world: World, path: tuple[str, ...], _: Query, __: Body) -> Answer:
    """POST /studies/{id}/demographic-export/: a CSV file (O: Prolific's client; columns of published exports)."""
    study = _find(world.studies, path[0], "study")
    names = {"Age": "age", "Sex": "sex", "Country of residence": "current-country-of-residence"}
    lines = [["Submission id", "Participant id", "Status", *names]]
    for one in world.of(study.id):
        traits = world.people.get(one.participant, {})
        answers = [str(traits.get(name, "DATA_EXPIRED")) for name in names.values()]
        lines.append([one.id, one.participant, one.status, *answers])
    return 200, "\r\n".join(",".join(line) for line in lines), {"Content-Type": "text/csv"}


def list_secrets(world: World, _: tuple[str, ...], query: Query, __: Body) -> Answer:
    """GET /hooks/secrets/?workspace_id=…"""
    value = world.hook_secrets.get(query["workspace_id"])
    rows = [{"id": "s1", "value": value, "workspace_id": query["workspace_id"]}] if value else []
    return 200, {"results": rows}


def create_secret(world: World, _: tuple[str, ...], __: Query, body: Body) -> Answer:
    """POST /hooks/secrets/: it replaces the workspace's secret (R)."""
    _check_fields(body, {"workspace_id": str}, required={"workspace_id"})
    world.hook_secrets[body["workspace_id"]] = value = f"secret-{world.new_id()}"
    return 201, {"id": "s1", "value": value, "workspace_id": body["workspace_id"]}


def list_hooks(world: World, _: tuple[str, ...], query: Query, __: Body) -> Answer:
    """GET /hooks/subscriptions/"""
    enabled = [one for one in world.hooks.values() if one["is_enabled"]]
    return 200, {"results": [one for one in enabled if one["workspace_id"] == query["workspace_id"]]}


def create_hook(world: World, _: tuple[str, ...], __: Query, body: Body) -> Answer:
    """POST /hooks/subscriptions/: it is enabled once it is confirmed with the secret in the header (R)."""
    fields = {"workspace_id": str, "event_type": str, "target_url": str}
    _check_fields(body, fields, required=set(fields))
    if body["workspace_id"] not in world.hook_secrets:
        raise Refusal("Create a secret for the workspace first.")
    if not body["target_url"].startswith("https://"):
        raise Refusal({"target_url": ["Must be https."]})
    hook = {"id": world.new_id(), "is_enabled": False, **body}
    world.hooks[hook["id"]] = hook
    return 201, hook, {"X-Hook-Secret": f"confirm-{hook['id']}"}


def confirm_hook(world: World, path: tuple[str, ...], _: Query, body: Body) -> Answer:
    """POST /hooks/subscriptions/{id}/"""
    hook = _find(world.hooks, path[0], "subscription")
    if body.get("secret") != f"confirm-{hook['id']}":
        raise Refusal({"secret": ["Not the secret of this subscription."]})
    hook["is_enabled"] = True
    return 200, hook


ROUTES: list[tuple[str, str, str, Endpoint]] = [
    ("POST", r"studies/", "create study", create_study),
    ("GET", r"studies/", "list studies", list_studies),
    ("GET", r"filters/", "list filters", list_filters),
    ("POST", r"studies/(\w+)/demographic-export/", "export demographics", export_demographics),
    ("GET", r"hooks/secrets/", "list secrets", list_secrets),
    ("POST", r"hooks/secrets/", "create secret", create_secret),
    ("GET", r"hooks/subscriptions/", "list hooks", list_hooks),
    ("POST", r"hooks/subscriptions/", "create hook", create_hook),
    ("POST", r"hooks/subscriptions/(\w+)/", "confirm hook", confirm_hook),
    ("GET", r"projects/(\w+)/studies/", "list studies", list_project_studies),
    ("GET", r"studies/(\w+)/", "get study", get_study),
    ("PATCH", r"studies/(\w+)/", "update study", update_study),
    ("POST", r"studies/(\w+)/transition/", "transition study", transition_study),
    ("GET", r"submissions/", "list submissions", list_submissions),
    ("GET", r"submissions/(\w+)/", "get submission", get_submission),
    ("POST", r"submissions/(\w+)/transition/", "transition submission", transition_submission),
    ("POST", r"submissions/bonus-payments/", "set up bonuses", set_up_bonuses),
    ("POST", r"bulk-bonus-payments/(\w+)/pay/", "pay bonuses", pay_bonuses),
    ("GET", r"participant-groups/", "list groups", list_groups),
    ("POST", r"participant-groups/", "create group", create_group),
    ("POST", r"participant-groups/(\w+)/participants/", "add members", add_members),
    ("DELETE", r"participant-groups/(\w+)/participants/", "remove members", remove_members),
    ("POST", r"messages/", "send message", send_message),
    ("POST", r"study-cost-calculator/", "calculate cost", calculate_cost),
    ("GET", r"workspaces/(\w+)/balance/", "get balance", get_balance),
]


def _find(rows: Mapping[str, Any], key: str, what: str) -> Any:
    if key not in rows:
        raise Refusal(f"Could not find {what} with id {key}", status=404, code=140001)
    return rows[key]


def _check_fields(body: Body, known: Mapping[str, type], *, required: set[str], bare: bool = False) -> None:
    """Raise Refusal if a field is missing, unknown, or of another type.

    The service may ignore unknown fields (?). Here they are refused, so that a misspelt one is noticed.
    """
    wrong: dict[str, list[str]] = {name: ["This field is required."] for name in required - set(body)}
    for name, value in body.items():
        if name not in known:
            wrong[name] = ["Unknown field."]
        elif not isinstance(value, known[name]) or (known[name] is int and isinstance(value, bool)):
            wrong[name] = [f"{value!r} is no {known[name].__name__}."]
    if wrong:
        raise Refusal(wrong, bare=bare)


def _check_codes(codes: list[Any]) -> None:
    texts = [entry.get("code") for entry in codes]
    if not codes or len(set(texts)) != len(texts):
        raise Refusal(
            {"completion_codes": ["Specify at least one code; each must be unique within the study."]}
        )
    for entry in codes:
        kinds = [action.get("action") for action in entry.get("actions", [])]
        complete = all(
            action.get("action") in ACTIONS and ACTIONS[action["action"]] <= set(action)
            for action in entry.get("actions", [])
        )
        if (
            not entry.get("code_type")
            or not complete
            or {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= set(kinds)
        ):
            raise Refusal({"completion_codes": [f"The actions of {entry.get('code')} are not valid."]})


def _page(rows: list[Any], query: Query, *, size: int) -> tuple[list[Any], bool]:
    number, size = int(query.get("page", 1)), int(query.get("page_size", size))
    if number > max(1, math.ceil(len(rows) / size)):
        raise Refusal("Invalid page.", status=404)
    return rows[(number - 1) * size : number * size], number * size < len(rows)


def _study(world: World, study: Study) -> dict[str, Any]:
    return study.fields | {
        "id": study.id,
        "status": study.status,
        "places_taken": world.taken(study),
        "date_created": study.created.isoformat(),
    }


def _listed(world: World, one: Submission) -> dict[str, Any]:
    return {
        "id": one.id,
        "participant_id": one.participant,
        "status": one.status,
        "started_at": _time(one.started),
        "completed_at": _time(one.completed),
        "has_siblings": False,
        "study_code": one.code,
        "return_requested": _time(one.return_requested),
    }


def _detailed(one: Submission) -> dict[str, Any]:
    return {
        "id": one.id,
        "participant": one.participant,
        "status": one.status,
        "started_at": _time(one.started),
        "completed_at": _time(one.completed),
        "entered_code": one.code,
        "study_id": one.study,
        "bonus_payments": [float(cents) for cents in one.bonuses],
        "return_requested": _time(one.return_requested),
    }


def _group(group: Group) -> dict[str, Any]:
    told = {"id": group.id, "name": group.name, "workspace_id": group.workspace}
    return told | {"participant_count": len(group.members)}


def _members(group: Group) -> dict[str, Any]:
    return {
        "results": [
            {"participant_id": one, "datetime_created": _time(at)} for one, at in group.members.items()
        ]
    }


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None

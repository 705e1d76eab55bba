"""The words of ``quorum``: for each, the command of ``manage.py`` and a description."""

BEGIN, DATASETS, STUDIES, RESULTS, CROWDS, FILES, SERVER = (
    "To begin", "Datasets", "Studies", "Results", "Crowds and money", "Files, without a database", "The installation",
)  # fmt: skip

# What quorum does itself.
OWN = {
    "run": "web server and background worker, with a demo; Ctrl-C stops them",
    "completion": "what a shell needs to complete these words",
}

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    DATASETS: {
        "dataset import": ("import_dataset", "images (or texts) and reference captions"),
        "dataset candidates": ("import_candidates", "one system's captions"),
        "dataset rankings": ("import_rankings", "systems' ranked lists"),
        "dataset bounds": ("leave_one_out", "what people and unrelated texts reach by each metric"),
        "dataset rank": ("rank_captions", "baseline systems rank captions for pictures"),
        "dataset access": ("dataset_access", "who may read it"),
    },
    STUDIES: {
        "study plan": ("plan_power", "how many pairs, references and votes are needed"),
        "study new": ("create_study", "a draft from a study file"),
        "study choose": ("select_items", "the items that tell systems apart, within a budget"),
        "study template": ("import_template", "a HIT template with its inputs"),
        "study import": ("import_judgments", "judgments collected elsewhere"),
        "study export": ("export_study", "the study file of a study"),
        "study diff": ("diff_designs", "how two designs differ"),
        "study register": ("register", "fix hypotheses and rules before it opens"),
        "study generate": ("generate_hits", "units, control items, HITs; the design is frozen"),
        "study discard": ("discard_hits", "pages of work go, and the design is a draft again"),
        "study rehearse": ("rehearse", "a simulated crowd answers"),
        "study open": ("open_study", "let people in"),
        "study pause": ("pause_study", "offer no work for a while"),
        "study resume": ("resume_study", "offer work again"),
        "study extend": ("extend_study", "more workers, or more time"),
        "study reopen": ("reopen_units", "more votes for some units"),
        "study close": ("close_study", "offer no more work"),
        "study detect": ("replay_rules", "whom detectors would have flagged"),
        "study ethics": ("ethics", "a checklist for an ethics board, filled from the design"),
        "study consent": ("change_consent", "another consent text; people are asked again"),
        "study adopt": ("adopt_captions", "captions that people wrote become references or a system's"),
    },
    RESULTS: {
        "aggregate": ("aggregate", "consensus, agreement, workers"),
        "evaluate": ("evaluate", "which metric agrees with the consensus"),
        "strengths": ("strengths", "systems by people's choices, with ties and rank bands"),
        "weigh": ("weigh_back", "what chosen items say of all, and what choosing saves"),
        "errors": ("error_spans", "scores of systems by marked errors"),
        "disagreement": ("soft_labels", "soft labels, what predicts them, groups of raters"),
        "predictions import": ("import_predictions", "a model's own distributions of people's answers"),
        "metrics import": ("import_scores", "scores of metrics that were computed elsewhere"),
        "metrics compare": ("compare_metrics", "by how much one agrees with people better than another"),
        "judge import": ("import_judge", "a model's or another crowd's answers"),
        "judge ask": ("ask_judge", "a language model answers, within a budget"),
        "judge remove": ("remove_judge", "a judge and its answers are deleted"),
        "judge compare": ("compare_judges", "may a judge replace a person, and what would people say?"),
        "report": ("report", "figures, tables and text of a study"),
        "export": ("export_judgments", "judgments as a file"),
        "release": ("release", "a frozen bundle that others can verify"),
        "publish": ("publish_release", "a release goes to Zenodo or Hugging Face"),
        "prove": ("prove_release", "a release was made from rows that existed, whoever was erased since"),
        "verify": ("verify", "compute a bundle, a study or a signature again"),
    },
    CROWDS: {
        "crowd sync": ("sync_crowd", "compare a study with its crowd"),
        "crowd panel": ("reconcile_panel", "a panel's list beside the study's own"),
        "crowd limits": ("set_limits", "what an account may spend"),
        "crowd demographics": ("fetch_demographics", "what Prolific knows about a study's people"),
        "crowd forget": ("forget_ids", "delete the crowd's ids of a closed study's people"),
        "crowd erase": ("erase_person", "remove who somebody is, on request; releases stay provable"),
        "crowd subscribe": ("subscribe_prolific", "let Prolific call this server"),
    },
    FILES: {
        "score": ("score", "metrics of candidate files against reference files"),
        "agreement": ("agreement", "agreement of a judgments file, or of two"),
        "compare": ("compare_releases", "what changed between two bundles"),
        "replicate": ("replicate", "a paper's experiment again, with a verdict for each number"),
    },
    SERVER: {
        "server prepare": ("prepare", "set up or update database and files"),
        "server admin": ("ensure_admin", "the first account, or a new password for one"),
        "server demo": ("load_demo", "load the demo"),
        "server token": ("create_token", "a token for the HTTP interface"),
        "server second-factor": ("reset_second_factor", "let in who lost phone and codes"),
        "server jobs": ("run_jobs", "do now what the background worker does"),
        "job cancel": ("cancel_job", "end a job that waits or runs"),
        "job retry": ("retry_job", "do a job again that failed or was cancelled"),
        "server webhooks": ("send_webhooks", "send now what waits"),
        "server check": ("check_integrity", "look for every broken invariant"),
    },
}  # fmt: skip

WORDS = {words: command for section in SECTIONS.values() for words, (command, _) in section.items()}
GROUPS = {words.split()[0]: title for title, section in SECTIONS.items() for words in section if " " in words}
# Commands that work in a folder without an installation
WITHOUT_DATA = {command for command, _ in SECTIONS[FILES].values()} | {"plan_power", "verify"}


def page(group: str = "") -> str:
    lines = []
    if not group:
        lines = [
            "Collect judgments from people, and find out which metrics agree with them.",
            "",
            "usage: quorum [-h] [--version] WORDS ...        `quorum WORDS --help` has an example",
            "",
            BEGIN,
            *(f"  {words:<22} {what}" for words, what in OWN.items()),
        ]
    for title, section in SECTIONS.items():
        shown = {
            words: what for words, (_, what) in section.items() if not group or words.startswith(f"{group} ")
        }
        if shown:
            lines += ["", title] if lines else [title]
            lines += [f"  {words:<22} {what}" for words, what in shown.items()]
    if not group:
        lines += ["", "Every name of `manage.py` works too: `quorum create_study`, `quorum migrate`."]
    return "\n".join(lines) + "\n"

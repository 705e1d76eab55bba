"""Declare what the feature “arena” adds to the platform."""

from config.features import Feature


class ArenaConfig(Feature):
    name = "contrib.arena"
    questions = ("which system is better", "compare systems", "leaderboard", "Elo")
    arena_drawings = ("contrib.arena.drawing.draw_missing_units",)
    integrity_checks = (
        "contrib.arena.integrity.arena_units_have_drawing_probabilities",
        "contrib.arena.integrity.arena_pairs_count_their_answers",
    )

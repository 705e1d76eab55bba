"""Declare what the feature “ranking_systems” adds to the platform."""

from config.features import Feature


class RankingSystemsConfig(Feature):
    name = "contrib.ranking_systems"
    questions = ("search engines", "retrieval", "TREC runs")
    commands = {
        "Datasets": {
            "dataset rank": (
                "rank_captions",
                "baseline systems rank captions for pictures",
                "contrib.ranking_systems.management.RankCaptions",
            )
        }
    }
    kernels = ("contrib.ranking_systems.compiling.compile_text_kernels",)
    text_systems = ("contrib.ranking_systems.text_systems.affinities_of_texts",)

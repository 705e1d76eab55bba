"""Error spans with severity and category, and a score: ESA (Kocmi et al. 2024) and MQM (Freitag et al. 2021)."""

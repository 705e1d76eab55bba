"""How results are shown: tables, wording, markup and plots."""

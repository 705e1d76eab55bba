"""HIT templates of Mechanical Turk and Turkle: the researcher's own page as a kind of HIT."""

"""HIT templates of Mechanical Turk and Turkle: a researcher's own page as a kind of HIT."""

"""HIT templates of Mechanical Turk and Turkle: a researcher's own page becomes a kind of HIT."""

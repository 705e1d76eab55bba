"""Compute binomial probabilities, and say a probability in words."""

from __future__ import annotations

import scipy
from django.utils.translation import gettext as _

from common.amounts import thousands


def describe_chance(p: float) -> str:
    """Return a probability in words, such as "about 1 in 1,200". The number has two significant digits."""
    if p >= 0.1:
        return _("about %(n)s in 100") % {"n": round(100 * p)}
    if p < 1e-6:
        return _("less than 1 in a million")
    odds = round(1 / p)
    precision = 10 ** max(0, len(str(odds)) - 2)  # 1234 has four digits, and is cut to hundreds
    return _("about 1 in %(n)s") % {"n": thousands(odds // precision * precision)}


def binomial_at_most(count: int, n: int, chance: float) -> float:
    """Return P(X <= count) for X ~ binomial(n, chance). ``chance`` is clipped to [0, 1]."""
    return 1.0 if count >= n else float(scipy.special.bdtr(count, n, min(max(chance, 0.0), 1.0)))


def binomial_at_least(count: int, n: int, chance: float) -> float:
    """Return P(X >= count) for X ~ binomial(n, chance). ``chance`` is clipped to [0, 1]."""
    if count <= 0:
        return 1.0
    return float(scipy.special.bdtrc(count - 1, n, min(max(chance, 0.0), 1.0)))  # P(X > count - 1)

"""Bradley-Terry: strengths of items from how often they beat each other, with Wald intervals.

Item i beats j with probability s_i / (s_i + s_j) (Bradley, Terry 1952). A tie counts as half a win for each, or ties
have a parameter nu (Davidson 1970, eq. 2.4). An order effect multiplies the strength of the item shown first (after
Davidson, Beaver 1977). With log-strengths theta and d = (theta_i - theta_j + order) / 2, the chances that the first
wins, that the second wins, and that they tie are exp(d), exp(-d) and nu, divided by their sum. The likelihood is
concave in theta, log(nu) and order.
"""

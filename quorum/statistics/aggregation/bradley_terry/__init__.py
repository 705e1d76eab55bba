"""Bradley-Terry: strengths of items from how often they beat each other, with Wald intervals.

Bradley, Terry 1952: i beats j with probability s_i / (s_i + s_j). Ties are half a win each way, or have a
parameter nu (Davidson 1970, eq. 2.4); an advantage of the item shown first multiplies its strength (after Davidson,
Beaver 1977). With log-strengths theta and d = (theta_i - theta_j + order) / 2 the chances that the first wins, the
second wins, or they tie are exp(d), exp(-d) and nu over their sum. The likelihood is concave in theta, log(nu), order.
"""

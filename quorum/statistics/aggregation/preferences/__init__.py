"""Ordinal Bradley-Terry models: strengths from comparisons with ties, degrees of preference, covariates and weights.

A comparison has a first item i and a second item j. The preference c is a whole number, such as 2 if i is much better,
1 if i is slightly better, 0 for no difference, and -1 or -2 if j is better. Let theta be the log-strengths of the
items, x the covariates of the comparison, beta their coefficients, and d = theta_i - theta_j + x'beta. There are two
models (Agresti 1992, *Analysis of Ordinal Paired Comparison Data*), both symmetric in first and second:

adjacent: P(c) is proportional to exp(c d / 2 + a_|c|). For preferences -1, 0, 1 it is Davidson's (1970) model, with
nu = exp(a_0).
cumulative: P(preference <= c) = F(t_c - d) with the logistic F. For -1, 0, 1 it is Rao and Kupper's (1967) model.

Covariates correct for influences such as the length of a text; weights correct for adaptive sampling of pairs.
"""

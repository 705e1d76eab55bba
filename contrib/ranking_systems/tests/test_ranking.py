"""KCCA against closed forms, and rankings of planted neighbours."""

import numpy as np

from contrib.ranking_systems.kcca import fit_kcca
from contrib.ranking_systems.ranking import KernelValues, join_rankings, rank_by_kcca, rank_by_neighbours


def test_kcca_of_equal_kernels_has_the_correlations_of_its_eigenvalues() -> None:
    values = np.array([4.0, 2.0, 1.0, 0.5])
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    kernel = (basis * values) @ basis.T
    fitted = fit_kcca(kernel, kernel, 0.5, centred=False)
    np.testing.assert_allclose(fitted.correlations, values / (values + 0.5))


def test_kcca_of_linear_kernels_is_canonical_correlation_and_solves_the_regularised_problem() -> None:
    generator = np.random.default_rng(2)
    shared = generator.normal(size=(40, 2))
    x = np.hstack([shared + 0.5 * generator.normal(size=(40, 2)), generator.normal(size=(40, 1))])
    y = np.hstack([shared @ [[1.0, 0.3], [0.2, 1.0]] + 0.5 * generator.normal(size=(40, 2))])
    q_x, q_y = (np.linalg.qr(side - side.mean(axis=0))[0] for side in (x, y))
    classical = np.linalg.svd(q_x.T @ q_y, compute_uv=False)
    fitted = fit_kcca(x @ x.T, y @ y.T, 0.0)
    np.testing.assert_allclose(fitted.correlations, classical, atol=1e-9)
    new = generator.normal(size=(5, 3))
    moved = fitted.project_first(new @ x.T)
    weights = (
        x - x.mean(axis=0)
    ).T @ fitted.first  # of a linear kernel the projection is that of the features
    np.testing.assert_allclose(moved, (new - x.mean(axis=0)) @ weights, atol=1e-9)

    k, first, second = 0.7, x @ x.T + np.eye(40), y @ y.T + np.eye(40)
    found = fit_kcca(first, second, k, centred=False)
    left = np.linalg.solve(first + k * np.eye(40), second)
    problem = left @ np.linalg.solve(second + k * np.eye(40), first)
    np.testing.assert_allclose(problem @ found.first, found.first * found.correlations**2, atol=1e-9)


def test_systems_find_planted_neighbours_and_borda_joins_them() -> None:
    near = np.array([[0.9, 0.1, 0.2], [0.1, 0.2, 0.8], [0.0, 0.7, 0.1]])
    order = rank_by_neighbours(near, near, "annotation")
    assert order[:, 0].tolist() == [0, 1, 2]
    assert rank_by_neighbours(near, near, "search")[:, 0].tolist() == [0, 1, 2]
    tie = join_rankings([np.array([[0, 1, 2]]), np.array([[0, 2, 1]]), np.array([[1, 0, 2]])])
    assert tie.tolist() == [[0, 1, 2]]
    generator = np.random.default_rng(4)
    topics = generator.normal(size=(60, 4))
    sides = [topics @ generator.normal(size=(4, 6)) + 0.05 * generator.normal(size=(60, 6)) for _ in range(2)]
    images, captions = (
        KernelValues(*(part @ side[:30].T for part in np.split(side, [30, 45]))) for side in sides
    )
    ranking, settings = rank_by_kcca(images, captions, "annotation")
    assert (ranking[:, 0] == np.arange(15)).mean() > 0.8
    assert sorted(setting.regularisation for setting in settings) == [0.1, 0.5, 1.0, 5.0]  # one model each
    assert settings[0].recalls[0] == max(setting.recalls[0] for setting in settings)

"""Tell strange inputs from familiar ones."""

from __future__ import annotations

import torch


def fit(
    features: torch.Tensor, labels: torch.Tensor, ridge: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the means [classes, dims] and the lower Cholesky factor of cov + ridge * identity.

    `features` are [rows, dims]; `labels` are 0, 1, ..., and no class is empty. A unit that never
    fires has variance 0, and needs the ridge.
    """
    classes = int(labels.max()) + 1
    means = torch.stack([features[labels == c].mean(0) for c in range(classes)])
    left = features - means[labels]
    cov = left.t() @ left / len(left)
    return means, torch.linalg.cholesky(cov + ridge * torch.eye(len(cov)))


def distances(x: torch.Tensor, means: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Return the distance of each row of x [rows, dims] to the nearest class."""
    away = (x[:, None] - means).flatten(0, 1)
    solved = torch.linalg.solve_triangular(factor, away.t(), upper=False)
    each: torch.Tensor = torch.linalg.vector_norm(solved, dim=0).view(len(x), len(means))
    return each.amin(1)


def threshold(familiar: torch.Tensor, rate: float) -> float:
    """Return a distance exceeded by at most a share `rate` of the `familiar` distances.

    It is the smallest `familiar` distance for which this holds: at a rate of 0.29, 29 of 100 may
    exceed it.
    """
    allowed: list[float] = [d for d in familiar.tolist() if (familiar > d).double().mean() <= rate]
    return min(allowed)

"""Tell strange inputs from familiar ones.

A classifier has to choose, and far from all data it often chooses with confidence 1.00: nothing in
its training taught it to be less sure there. Ask the features how far away they are. Not with a
ruler that is the same in all directions, but with one that knows how the data is spread:

    distance(x) = min over classes c of  sqrt( (x - mean[c])' inverse(cov) (x - mean[c]) )

That is the Mahalanobis distance. `cov` is one matrix for all classes: subtract from each row the
mean of its class; `cov` is the mean outer product of these residuals.

1. `fit`: means, and the Cholesky factor of `cov`.
2. `distances`: one triangular solve for all rows and classes.
3. `threshold`: what to call strange. About 15 lines in all; do not invert a matrix.

Begin on paper: if cov = L L', which vector's length is the distance?
Afterwards read ``_batch_mahalanobis`` in ``torch/distributions/multivariate_normal.py``, in
site-packages. Real life differs: features come from some layer, and the choice of layer matters a
lot.
"""

from __future__ import annotations

import torch


def fit(
    features: torch.Tensor, labels: torch.Tensor, ridge: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the means [classes, dims] and the lower Cholesky factor of cov + ridge * identity.

    `features` are [rows, dims]; `labels` are 0, 1, ..., and no class is empty. A unit that never
    fires has variance 0, and needs the ridge.
    """
    # TODO
    raise NotImplementedError("fit")


def distances(x: torch.Tensor, means: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Return the distance of each row of x [rows, dims] to the nearest class."""
    # TODO: torch.linalg.solve_triangular takes columns.
    raise NotImplementedError("distances")


def threshold(familiar: torch.Tensor, rate: float) -> float:
    """Return a distance exceeded by at most a share `rate` of the `familiar` distances.

    It is the smallest `familiar` distance for which this holds: at a rate of 0.29, 29 of 100 may
    exceed it.
    """
    # TODO
    raise NotImplementedError("threshold")

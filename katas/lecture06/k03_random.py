"""Random numbers in workers: who gets which? Six pipelines, on paper.

For years two workers of a DataLoader drew the same numbers from NumPy, and each epoch repeated
the last one's; thousands of projects had this bug. Is it still there? This one is:

    self.own = numpy.random.default_rng(0)      # made in the dataset's __init__

A dataset is copied into each worker, and each epoch starts new workers. For each pipeline say what
differs. The tests call torch; your rows cannot.

Begin with `own`: what is copied, and when?
Afterwards find ``base_seed`` in ``torch/utils/data/_utils/worker.py``, in site-packages.
"""

from __future__ import annotations


# Given: do not change. Two forked workers, batches of one, four samples, two epochs. Each row gives
# the code of a sample, the loader's options, and whether one loader serves both epochs ("once") or
# each epoch gets a new one ("anew"). ``seeded`` is a new torch.Generator with seed 0.
PIPELINES: dict[str, tuple[str, str, str]] = {
    "numpy": ("numpy.random.rand()", "", "once"),
    "own": ("self.own.random()", "", "once"),
    "own_kept": ("self.own.random()", "persistent_workers=True", "once"),
    "by_number": ("torch.rand(1).item()", "worker_init_fn=torch.manual_seed", "once"),
    "generator": ("random.random()", "generator=seeded", "once"),
    "generator_anew": ("random.random()", "generator=seeded", "anew"),
}


def predictions() -> dict[str, tuple[bool, bool]]:
    """For each pipeline, return whether numbers differ between workers and between epochs.

    A worker seeds ``random``, NumPy and torch when it starts. Its seed is a number drawn from the
    loader's generator when the epoch begins (without one, from the global generator), plus the
    worker's own number (NumPy: a hash of both). Only then is ``worker_init_fn`` called with the
    worker's number.
    """
    # TODO: return {"numpy": (..., ...), ...}
    raise NotImplementedError("predictions")

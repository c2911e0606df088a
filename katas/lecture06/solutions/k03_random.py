"""Random numbers in workers: who gets which? Six pipelines, on paper."""

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
    """For each pipeline, return whether numbers differ between workers and between epochs."""
    return {
        "numpy": (True, True),
        # Nobody seeds it: each worker has a copy of what the trainer holds.
        "own": (False, False),
        # The workers of the second epoch are those of the first, and have drawn already.
        "own_kept": (False, True),
        "by_number": (True, False),
        "generator": (True, True),
        "generator_anew": (True, False),
    }

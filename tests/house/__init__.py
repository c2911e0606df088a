"""Tests of what belongs to no wing: imports, wings, README, workflows, benchmarks, examples."""

from __future__ import annotations

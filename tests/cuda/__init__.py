"""Tests of plugins/cuda/, one module for each of its modules."""

from __future__ import annotations

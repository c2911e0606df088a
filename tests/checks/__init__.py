"""Tests of plugins/checks/, one module for each of its modules."""

from __future__ import annotations

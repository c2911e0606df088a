"""Lecture 17: interpretability and debugging: what a model reads, and what went wrong in it."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

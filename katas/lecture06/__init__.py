"""Lecture 06: data pipelines, from samples to batches, within memory, from large sources."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

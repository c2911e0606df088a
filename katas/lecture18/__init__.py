"""Lecture 18: TorchX pipelines: what runs, in which order, how often, and what is kept."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

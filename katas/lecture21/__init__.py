"""Lecture 21: computer vision: sampling, and what learns from it."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

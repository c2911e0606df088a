"""Lecture 20: computer vision: operators of a detector."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

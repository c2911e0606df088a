"""Lecture 26: reinforcement learning: returns, policies, environments."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

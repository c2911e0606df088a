"""Lecture 01: the philosophy of PyTorch, and the big picture."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

"""Lecture 25: recommenders: tables larger than one machine."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

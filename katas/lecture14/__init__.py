"""Lecture 14: sharding at scale: FSDP, pipelines and large runs, on a few ranks of this machine."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

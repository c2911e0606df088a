"""Lecture 13: parallel and distributed training, on ranks of this machine or of a job."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)

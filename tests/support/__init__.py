"""Helpers that several test modules share; no tests."""

from __future__ import annotations

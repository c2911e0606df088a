"""Says that the installed release lacks a private name."""

from __future__ import annotations


class MissingNameError(Exception):
    """A private name that the installed release no longer has."""

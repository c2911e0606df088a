"""Zero-one: which batches a file answers correctly."""

from __future__ import annotations


RIGHT, WRONG, REFUSED = "right", "wrong", "refused"


def answers() -> dict[str, tuple[str, str, str]]:
    """For each row, return what ONNX Runtime does with batches of 1, 2 and 5 rows.

    RIGHT if it returns what ``forward`` does, WRONG if it does not, REFUSED if it raises.
    """
    return {
        "static": (REFUSED, RIGHT, REFUSED),
        "named": (RIGHT, RIGHT, RIGHT),
        "one": (RIGHT, RIGHT, RIGHT),
        "size": (RIGHT, RIGHT, RIGHT),
        "integer": (REFUSED, RIGHT, REFUSED),
        "branch": (WRONG, RIGHT, RIGHT),
    }

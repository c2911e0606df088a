"""A bot that mentions a label's subscribers, and does not answer itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


# Patterns: a row of the list; a user or team (without the @); the line that the bot writes.
ROW = re.compile(r"\* +([^@]+?) +@")
USER = re.compile(r"@([\w/-]+)")
CC = re.compile(r"^cc(?: +@[\w/-]+)+", re.MULTILINE)


def subscriptions(text: str) -> dict[str, list[str]]:
    r"""Return the users of each label, in order.

    Ignore lines that are not rows. Lines end in ``\n``, or in ``\r\n`` as GitHub's editor writes
    them.
    """
    rows = [(ROW.match(line), USER.findall(line)) for line in text.splitlines()]
    return {row[1]: users for row, users in rows if row}


def react(event: Mapping[str, Any], wanted: Mapping[str, Sequence[str]]) -> dict[str, str] | None:
    r"""Return ``{"body": the new text}``, or None if there is nothing to do.

    Answer only an event with the action "labeled". Its "issue" or "pull_request" was just fetched
    and contains ``{"body": "a", "user": {"login": "b"}, "labels": [{"name": "c"}]}`` and more.
    `wanted` is the result of `subscriptions`.

    If there is a line that matches `CC`, append the new users to it; otherwise add such a line at
    the end, after a blank line if there is text before it. Name no user twice in it, and do not add
    the author. Ignore names outside that line. Leave the rest of the text unchanged.
    """
    if event["action"] != "labeled":
        return None
    subject = event.get("issue") or event["pull_request"]
    body = subject["body"] or ""
    line = CC.search(body)
    users = USER.findall(line[0]) if line else []
    known = {*users, subject["user"]["login"]}
    found = [user for label in subject["labels"] for user in wanted.get(label["name"], [])]
    new = [user for user in dict.fromkeys(found) if user not in known]
    if not new:
        return None
    cc = "cc " + " ".join(f"@{user}" for user in [*users, *new])
    if line:
        return {"body": body[: line.start()] + cc + body[line.end() :]}
    return {"body": f"{body}\n\n{cc}" if body else cc}

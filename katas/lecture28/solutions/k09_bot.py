"""A bot that names whom a label concerns, and does not answer itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


# A row of the list; a person or a team, without the @; the line that the bot writes.
ROW = re.compile(r"\* +([^@]+?) +@")
USER = re.compile(r"@([\w/-]+)")
CC = re.compile(r"^cc(?: +@[\w/-]+)+", re.MULTILINE)


def subscriptions(text: str) -> dict[str, list[str]]:
    r"""Return the users of each label, in their order.

    What is no row is left out. The lines end in ``\n`` or in ``\r\n``, as GitHub's editor writes.
    """
    rows = [(ROW.match(line), USER.findall(line)) for line in text.splitlines()]
    return {row[1]: users for row, users in rows if row}


def react(event: Mapping[str, Any], wanted: Mapping[str, Sequence[str]]) -> dict[str, str] | None:
    r"""Return ``{"body": the new text}``, or None if there is nothing to do.

    Only an event with the action "labeled" is answered. Its "issue", or "pull_request", is as it
    was fetched just now, ``{"body": "a", "user": {"login": "b"}, "labels": [{"name": "c"}]}`` and
    more. `wanted` is what `subscriptions` returns.

    If there is a line as `CC` describes it, the new users are added behind those it has; else a
    new line stands at the end, after a blank one if there is a text before. No user is named twice
    in it, and the author is not added. Only names in that line count. The rest of the text stays
    as it is.
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

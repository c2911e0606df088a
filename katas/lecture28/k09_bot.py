"""A bot that mentions a label's subscribers, and does not answer itself.

You label an issue "module: nn", and a minute later it mentions the people who look after nn. A bot
has read a list in the text of another issue, and edited yours.

    * module: nn @ada @grace              the list
    * module: docs @boole

    relu is slow      ->      relu is slow

                              cc @ada @grace

GitHub may send an event twice, two events in the wrong order, or one after its label is gone; and
each edit by the bot is another event. So fetch the issue and decide by its current state, with a
pure function that finds nothing left to do the second time.

1. `subscriptions`: read the list.
2. `react`: handle one event.

Begin with `event` in the tests: what is the body of an issue without text?

Real life differs: GitHub ignores case in names; here Ada is not ada. PyTorch's list is the issue
that ``tracking_issue`` in ``.github/pytorch-probot.yml`` names, and its bot lives in the repository
pytorch/test-infra.
Afterwards read its ``torchci/lib/bot/autoCcBot.ts``: which of the tests does it fail?
"""

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
    # TODO: ROW for the label, USER for the users.
    raise NotImplementedError("subscriptions")


def react(event: Mapping[str, Any], wanted: Mapping[str, Sequence[str]]) -> dict[str, str] | None:
    r"""Return ``{"body": the new text}``, or None if there is nothing to do.

    Answer only an event with the action "labeled". Its "issue" or "pull_request" was just fetched
    and contains ``{"body": "a", "user": {"login": "b"}, "labels": [{"name": "c"}]}`` and more.
    `wanted` is the result of `subscriptions`.

    If there is a line that matches `CC`, append the new users to it; otherwise add such a line at
    the end, after a blank line if there is text before it. Name no user twice in it, and do not add
    the author. Ignore names outside that line. Leave the rest of the text unchanged.
    """
    # TODO: which users are named, which should be, which are new?
    raise NotImplementedError("react")

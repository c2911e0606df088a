"""A bot that names whom a label concerns, and does not answer itself.

You label an issue "module: nn", and a minute later the people who look after nn are named in it.
A bot has read a list, kept as the text of another issue, and edited yours.

    * module: nn @ada @grace              the list
    * module: docs @boole

    relu is slow      ->      relu is slow

                              cc @ada @grace

GitHub may send an event twice, two in the wrong order, or one after its label has gone; and each
edit of the bot is an event too. So fetch the issue, and decide by what it is like now: a pure
function from that to an edit, for which the second time there is nothing left to do.

1. `subscriptions`: read the list.
2. `react`: one event.

Begin with `event` in the tests: what is the body of an issue without a text?

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


# A row of the list; a person or a team, without the @; the line that the bot writes.
ROW = re.compile(r"\* +([^@]+?) +@")
USER = re.compile(r"@([\w/-]+)")
CC = re.compile(r"^cc(?: +@[\w/-]+)+", re.MULTILINE)


def subscriptions(text: str) -> dict[str, list[str]]:
    r"""Return the users of each label, in their order.

    What is no row is left out. The lines end in ``\n`` or in ``\r\n``, as GitHub's editor writes.
    """
    # TODO: ROW for the label, USER for the users.
    raise NotImplementedError("subscriptions")


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
    # TODO: who is named already, who is to be, who is new?
    raise NotImplementedError("react")

"""Tests of k09_bot: events with the fields of GitHub's webhooks, and rules for a bot."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture28.k09_bot import CC
from katas.lecture28.k09_bot import USER
from katas.lecture28.k09_bot import react
from katas.lecture28.k09_bot import subscriptions


WANTED = {
    "module: nn": ["ada", "grace"],
    "module: docs": ["boole"],
    "oncall: export": ["grace", "pytorch/export-team"],
}


def event(
    *labels: str, body: str | None = "relu is slow", author: str = "you", **fields: object
) -> dict[str, Any]:
    """Return the event of the last label, with the issue as fetched now."""
    named = [{"id": number, "name": name, "default": False} for number, name in enumerate(labels)]
    return {
        "action": "labeled",
        "issue": {
            "number": 7,
            "title": "relu",
            "body": body,
            "user": {"login": author, "type": "User"},
            "labels": named,
            "state": "open",
        },
        "label": named[-1] if named else None,
        "sender": {"login": author},
        **fields,
    }


def answered(given: dict[str, Any], wanted: dict[str, list[str]] = WANTED) -> str | None:
    """Return the body that your bot writes; check that the event and the list do not change."""
    __tracebackhide__ = True
    before = copy.deepcopy((given, wanted))
    edit = react(given, wanted)
    assert (given, wanted) == before, "your code changes the event or the list, expected no change"
    again = react(given, wanted)
    assert again == edit, f"the same event again: yours {again}, expected {edit}"
    if edit is None:
        return None
    assert set(edit) == {"body"}, f"your code edits {sorted(edit)}, expected only the body"
    return edit["body"]


def compare(given: dict[str, Any], expected: str | None, why: str) -> None:
    """Compare the written body."""
    __tracebackhide__ = True
    yours = answered(given)
    assert yours == expected, f"\nyours    {yours!r}\nexpected {expected!r}\n{why}"


def test_the_list() -> None:
    """The label is the text before the first @; it may contain blanks and a colon."""
    text = "# Who wants what\n\n* module: nn @ada @grace\n* docs @boole\n"
    yours = subscriptions(text)
    expected = {"module: nn": ["ada", "grace"], "docs": ["boole"]}
    assert yours == expected, f"{text!r}: yours {yours}, expected {expected}"


def test_what_is_no_row() -> None:
    """Other text, or a label without users, is not a row; lines may end in CR LF."""
    text = "Ask @ada first.\r\n* module: nn @ada\r\n* module: old\r\n*  a  @b-c/d-e  @f\r\nx * y @z"
    text += "\r\n  * b @ada\r\n*c @ada\r\n* d@ada"
    yours = subscriptions(text)
    expected = {"module: nn": ["ada"], "a": ["b-c/d-e", "f"]}
    assert yours == expected, f"{text!r}: yours {yours}, expected {expected}"
    assert subscriptions("") == {}, "an empty list: expected {}"


def test_a_label() -> None:
    """A label's users are named at the end, after a blank line."""
    compare(event("module: docs"), "relu is slow\n\ncc @boole", "boole looks after docs")
    compare(event("bug"), None, "this label is in no row: there is nothing to do")


def test_an_issue_without_a_text() -> None:
    """The body of an empty issue is null in JSON, which is None."""
    compare(event("module: docs", body=None), "cc @boole", "GitHub sends null for no text")
    compare(event("module: docs", body=""), "cc @boole", "no text, so no blank line")


def test_all_labels_count() -> None:
    """If two events cross, each names the users of both labels, each user once."""
    text = "relu is slow\n\ncc @ada @grace @pytorch/export-team"
    compare(event("module: nn", "oncall: export"), text, "grace stands under both labels")
    gone = event("module: nn", label={"id": 9, "name": "module: docs"})
    compare(gone, "relu is slow\n\ncc @ada @grace", "this label has been taken off again")


def test_the_author() -> None:
    """The author knows about the issue and is not named."""
    compare(event("module: nn", author="grace"), "relu is slow\n\ncc @ada", "grace wrote it")
    compare(event("module: docs", author="boole"), None, "only boole would be named")
    sender = event("module: nn", sender={"login": "grace"})
    text = "relu is slow\n\ncc @ada @grace"
    compare(sender, text, "grace has set the label, which is not to write the issue")


def test_a_line_that_is_there() -> None:
    """An existing line is extended in place, with its users in front."""
    body = "cc @noether @ada\n\nrelu is slow"
    text = "cc @noether @ada @grace\n\nrelu is slow"
    compare(event("module: nn", body=body), text, "ada is there, grace is new")
    compare(event("module: nn", body=text), None, "all are named")
    prose = "gcc @grace does not compile it, and @ada knows"
    compare(event("module: nn", body=prose), f"{prose}\n\ncc @ada @grace", "this is no such line")
    own = event("module: nn", body="cc @grace", author="grace")
    compare(own, "cc @grace @ada", "the line had grace, and keeps her, who wrote the text")


def test_names_that_are_alike() -> None:
    """Names are compared as a whole, and Ada is not ada."""
    alike = event("module: nn", body="cc @adam @Grace")
    compare(alike, "cc @adam @Grace @ada @grace", "adam is not ada, and Grace is not grace")


def test_the_text_stays() -> None:
    """The text keeps its blanks, its line endings, and a lookalike inside another line."""
    for body in ("  relu\r\nis slow", "relu is slow  "):
        compare(event("module: docs", body=body), f"{body}\n\ncc @boole", "the text stays as it is")
    around = "  relu\r\n\r\n{}\r\nis slow: see cc @ada, and say\ncc @noether\n"
    edit = answered(event("module: docs", body=around.format("cc @ada")))
    either = [around.format("cc @ada @boole"), around.format("cc @ada")[:-1] + " @boole\n"]
    assert edit in either, (
        f"\nyours    {edit!r}\nexpected {either[0]!r}\none cc line becomes longer"
    )
    wide = answered(event("module: nn", body="cc  @ada")) or ""
    named = USER.findall(wide) if re.fullmatch(r"cc(?: +@[\w/-]+)+", wide) else []
    assert named == ["ada", "grace"], f"'cc  @ada', two blanks: yours {wide!r}, expected ada, grace"


def test_other_events() -> None:
    """The bot ignores an edit, and reads a pull request from its own field."""
    for action in ("edited", "unlabeled", "opened"):
        compare(event("module: nn", action=action), None, f"the action is {action}")
    pull = event("module: docs")
    pull["pull_request"] = pull.pop("issue")
    compare(pull, "relu is slow\n\ncc @boole", "it is a pull request")


USERS = st.lists(st.sampled_from(["ada", "grace", "boole", "you", "a/b-c"]), max_size=3)
LISTS = st.dictionaries(st.sampled_from(["nn", "docs", "jit"]), USERS)
BODIES = st.sampled_from(
    [None, "", "text", "text\n", "cc @ada", "a\r\n\r\ncc @x @you\r\nb", "see @ada", "c\n  cc @ada"]
)


@example({"nn": ["ada", "ada"]}, ["nn"], "text")
@given(LISTS, st.lists(st.sampled_from(["nn", "docs", "jit", "bug"]), unique=True), BODIES)
def test_the_laws(wanted: dict[str, list[str]], labels: list[str], body: str | None) -> None:
    """Every user is named, the text is unchanged, and a second call has nothing to do."""
    given_event = event(*labels, body=body)
    after = answered(given_event, wanted)
    users = {user for label in labels for user in wanted.get(label, [])} - {"you"}
    old = CC.search(body or "")
    new = CC.search(after if after is not None else body or "")
    named = USER.findall(new[0]) if new else []
    about = f"list {wanted}, labels {labels}, body {body!r}: yours {after!r}"
    assert users <= set(named), f"{about}; expected {sorted(users)} in the cc line"
    extra = set(named) - users - set(USER.findall(old[0]) if old else [])
    assert not extra, f"{about} names {sorted(extra)}, expected only subscribers"
    assert len(named) == len(set(named)), f"{about} names a user twice, expected each once"
    if after is None:
        return
    assert after != body, f"{about}: the body is unchanged, expected None"
    second = answered(event(*labels, body=after), wanted)
    assert second is None, (
        f"{about}, and after its own edit your bot writes {second!r}, expected None"
    )
    rest, kept = (CC.sub("", text, count=1) for text in (after, body or ""))
    assert rest.rstrip() == kept.rstrip(), f"{about}: expected the rest to be unchanged"


def test_the_loop_ends() -> None:
    """GitHub sends the bot its own edit and the label again, but the bot edits only once."""
    body: str | None = None
    edits = 0
    for label in ("module: nn", "module: nn", "oncall: export", "module: nn"):
        edit = answered(event("module: nn", "oncall: export", body=body, label={"name": label}))
        edits += edit is not None
        body = edit or body
    assert edits == 1, (
        f"four events for the same two labels: your code edits {edits} times, expected 1"
    )
    assert re.fullmatch(r"cc( @\S+)+", body or ""), f"yours {body!r}, expected one cc line"


@pytest.mark.parametrize("kind", ["issue", "pull_request"])
def test_the_list_and_an_event(kind: str) -> None:
    """Both functions work together."""
    wanted = subscriptions("* module: nn @ada @grace\r\n* module: docs @boole\r\n")
    given_event = event("module: nn", "module: docs")
    given_event[kind] = given_event.pop("issue")
    yours = answered(given_event, wanted)
    expected = "relu is slow\n\ncc @ada @grace @boole"
    assert yours == expected, f"yours {yours!r}, expected {expected!r}"

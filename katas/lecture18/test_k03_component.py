"""Tests of k03_component: functions become command lines, as in TorchX."""

# TorchX reads the annotations of a component as types, so here they must not become strings.
# ruff: noqa: I002

from typing import Any

import pytest

from katas.lecture18 import k03_component as kata
from katas.lecture18.k03_component import Option


def fit(  # noqa: D417 - a learner's docstring may be incomplete
    script: str, *args: str, num_replicas: int = 2, lr: float = 0.1
) -> dict[str, Any]:
    """Train a model.

    Args:
        script: the program
        num_replicas: how many of them
    """
    return {"script": script, "args": args, "num_replicas": num_replicas, "lr": lr}


def many(fast: bool, slow: bool = True, sizes: list[int] = (), names: list[str] = ("z",)) -> Any:  # noqa: FBT001, FBT002
    """Return the arguments."""
    return fast, slow, sizes, names


def short(j: str, h: int = 0, *, n: int = 1, word: str = "") -> Any:
    """Return the arguments."""
    return j, h, n, word


def said(component: Any, line: str) -> Any:
    """Return the result of your `call`; fail on a SystemExit."""
    __tracebackhide__ = True
    try:
        return kata.call(component, line.split())
    except SystemExit as end:
        message = f"{component.__name__} {line}: yours ends the program with {end.code}"
        raise AssertionError(message) from None


def test_no_parameters() -> None:
    """A component may need nothing."""

    def alone() -> str:
        return "called"

    yours = kata.options(alone)
    assert yours == [], f"options: yours {yours}, expected none"


def test_options() -> None:
    """Options are in the signature's order; one with a default is optional; args is no option."""
    yours = kata.options(fit)
    right = [
        Option("script", str, required=True, default=None, help="the program"),
        Option("num_replicas", int, required=False, default=2, help="how many of them"),
        Option("lr", float, required=False, default=0.1, help=""),
    ]
    assert right == yours, f"yours\n{yours}\nexpected\n{right}"


def test_a_default_may_be_nothing() -> None:
    """None, 0 and "" are defaults like any other."""

    def nothing(a: str = None, b: int = 0, c: str = "", d: str = "x") -> Any:  # noqa: RUF013
        return a, b, c, d

    yours = [(option.required, option.default) for option in kata.options(nothing)]
    right = [(False, None), (False, 0), (False, ""), (False, "x")]
    assert right == yours, f"(required, default): yours {yours}, expected {right}"
    result = said(nothing, "--d y")
    assert result == (None, 0, "", "y"), (
        f"your code calls it with {result}, expected (None, 0, '', 'y')"
    )


def test_a_missing_annotation() -> None:
    """The error names the parameter whose annotation is missing."""

    def first(wrong, a: str) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001

    def rest(a: str, *wrong) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN002

    def last(a: str, *, wrong=1) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001

    for component in (first, rest, last):
        with pytest.raises(TypeError, match="wrong"):
            kata.options(component)


def test_words_become_types() -> None:
    """Words become an int, a float and a text; an omitted option has its default."""
    yours = said(fit, "--script fit.py --num_replicas 4 --lr 1e-3")
    right = {"script": "fit.py", "args": (), "num_replicas": 4, "lr": 0.001}
    assert right == yours, f"your code calls fit with {yours}, expected {right}"
    kinds = type(yours["num_replicas"]), type(yours["lr"])
    assert kinds == (int, float), f"types: yours {kinds}, expected int and float"
    yours = said(fit, "--script 7")
    right = {"script": "7", "args": (), "num_replicas": 2, "lr": 0.1}
    assert right == yours, f"defaults: your code calls fit with {yours}, expected {right}"


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("--fast True", (True, True)),
        ("--fast true --slow FALSE", (True, False)),
        ("--fast False --slow false", (False, False)),
        ("--fast 1", (False, True)),
    ],
)
def test_a_bool_is_read(line: str, right: tuple[bool, bool]) -> None:
    """In Python every text except "" is true; here only "true" is."""
    yours = said(many, line)[:2]
    assert right == yours, f"many {line}: your fast and slow are {yours}, expected {right}"
    assert {bool} == {*map(type, yours)}, f"many {line}: yours {yours}, expected bools"


def test_a_list_is_read() -> None:
    """The list's elements have the type in brackets, and no spaces around them."""
    words = ["--fast", "true", "--sizes", "3, 4,5", "--names", "a b, 7"]
    yours = kata.call(many, words)[2:]
    right = ([3, 4, 5], ["a b", "7"])
    assert right == yours, f"sizes and names: yours {yours}, expected {right}"
    one = said(many, "--fast true --sizes 6 --names x")[2:]
    assert one == ([6], ["x"]), f"lists of one: yours {one}, expected ([6], ['x'])"
    default = said(many, "--fast true")[2:]
    assert default == ((), ("z",)), f"a default must be passed as it is: yours {default}"


def test_one_letter() -> None:
    """A one-letter option takes one dash or two; `h` is a letter like any other."""
    yours = said(short, "-j a -n 3 -h 5")
    assert yours == ("a", 5, 3, ""), f"yours {yours}, expected ('a', 5, 3, '')"
    yours = said(short, "--j a --n 3 --h 5 --word b")
    assert yours == ("a", 5, 3, "b"), f"yours {yours}, expected ('a', 5, 3, 'b')"


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` prints the docstring's descriptions, and calls nothing."""
    with pytest.raises(SystemExit) as end:
        kata.call(fit, ["--help"])
    text = capsys.readouterr().out
    assert not end.value.code, f"--help: your code ends with {end.value.code}, expected 0"
    for part in ("--num_replicas", "how many of them", "the program"):
        assert part in text, f"--help: expected {part!r} in yours:\n{text}"


def test_help_with_a_percent_sign(capsys: pytest.CaptureFixture[str]) -> None:
    """In help texts, argparse replaces ``%(default)s``, and fails on other percent signs."""

    def part(share: float = 0.5) -> float:
        """Return a part.

        Args:
            share: 50% of it, or %(prog)s
        """
        return share

    yours = said(part, "--share 0.1")
    assert yours == 0.1, f"your code returns {yours}, expected 0.1"
    try:
        kata.call(part, ["--help"])
    except SystemExit:
        text = " ".join(capsys.readouterr().out.split())
    except (KeyError, TypeError, ValueError) as error:
        raise AssertionError(
            f"--help with the description '50% of it': your code raises {error!r}; write %%"
        ) from None
    else:
        raise AssertionError("--help: your code calls the component")
    assert "50% of it, or %(prog)s" in text, (
        f"--help: expected the text '50% of it, or %(prog)s' as it is, yours: {text}"
    )


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("--script a -- --lr x", ("--lr", "x")),
        ("--script a -- b -- c --help", ("b", "--", "c", "--help")),
        ("--script a --lr 0.2 --", ()),
        ("--script a -- --", ("--",)),
        ("--script a -- a", ("a",)),
    ],
)
def test_the_rest_is_for_args(line: str, right: tuple[str, ...]) -> None:
    """After the first ``--`` no word is an option; script is still the first parameter."""
    words = line.split()
    yours = said(fit, line)
    assert yours["args"] == right, f"fit {line}: args are {yours['args']}, expected {right}"
    assert yours["script"] == "a", f"fit {line}: script is {yours['script']!r}, expected 'a'"
    kata.call(fit, words)
    assert words == line.split(), "your code modified the list of words"


def test_an_empty_word_is_a_word() -> None:
    """A shell passes ``""`` as an empty word, and ``" "`` as a space."""
    yours = kata.call(fit, ["--script", "a", "--", "", "x", " "])["args"]
    assert yours == ("", "x", " "), f"args: yours {yours}, expected ('', 'x', ' ')"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--script",
        "--script a --num_replicas two",
        "--script a --num_replicas 1.5",
        "--script a --lr fast",
        "--script a --other 1",
        "--script a stray",
        "--script a -lr 0.2",
        "--script a --num-replicas 4",
        "--script a -- b",
    ],
)
def test_what_is_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Invalid words end with code 2, a message and no call; only one-letter names take one dash."""
    called = []

    def fit(script: str, *, num_replicas: int = 2, lr: float = 0.1) -> None:
        called.append(script)

    try:
        with pytest.raises(SystemExit) as end:
            kata.call(fit, line.split())
    except TypeError as error:
        message = f"fit {line}: yours raises {error!r}, expected argparse's error, SystemExit"
        raise AssertionError(message) from None
    assert end.value.code == 2, f"fit {line}: your code ends with {end.value.code}, expected 2"
    assert not called, f"fit {line}: your code calls the component"
    text = capsys.readouterr().err
    assert "fit" in text, f"fit {line}: expected the component's name in the message, yours: {text}"


LINES: list[tuple[Any, str]] = [
    (fit, "--script a"),
    (fit, "--script a --num_replicas 4 --lr 1e-3 -- --lr x -- y"),
    (fit, "--lr 2 --script=b --num_replicas=3 -- c"),
    (many, "--fast TRUE --slow no --sizes 1,2 --names a,b"),
    (many, "--fast False"),
    (short, "-j a -n 3 -h 5"),
    (short, "--word b --j c"),
]


@pytest.mark.backend("torchx")
@pytest.mark.parametrize(("component", "line"), LINES)
def test_torchx_calls_it_the_same(component: Any, line: str) -> None:
    """TorchX's own function gives the same result for the same words."""
    from torchx.specs.builders import materialize_appdef  # noqa: PLC0415 - may be missing

    yours, right = said(component, line), materialize_appdef(component, line.split())
    assert right == yours, f"{line}: yours {yours}, TorchX {right}"

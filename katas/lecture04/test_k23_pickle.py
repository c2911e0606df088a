"""Tests of k23_pickle: which parts of a C++ object survive pickling."""

from __future__ import annotations

import io
import pickle
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch


if TYPE_CHECKING:
    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")


def family(extension: Extension, *names: str) -> list[Any]:
    """Return nodes with these names, each the child of the one before."""
    node = extension.cls("Node")
    nodes = [node(name) for name in names]
    for parent, child in pairwise(nodes):
        parent.add(child)
    return nodes


def names(nodes: list[Any]) -> list[str]:
    """Return the names of these nodes."""
    return [node.name() for node in nodes]


def there_and_back(node: Any) -> Any:
    """Pickle, unpickle, and return the result."""
    return pickle.loads(pickle.dumps(node))  # noqa: S301 - our own bytes


@pytest.mark.given
def test_a_tree_knows_owners_and_parents(extension: Extension) -> None:
    """The class is the Node of the previous kata."""
    live = extension.op("live")
    before = live()
    root, branch, leaf = family(extension, "root", "branch", "leaf")

    assert leaf.parent().same(branch)
    assert names(root.children()) == ["branch"]
    del root, branch, leaf
    assert before == live()


def test_a_single_node_arrives(extension: Extension) -> None:
    """The result has the name of the original, and is a new node."""
    node = extension.cls("Node")("root")
    yours = there_and_back(node)

    assert yours.name() == "root", f"the name, yours {yours.name()!r}, expected 'root'"
    assert not yours.same(node), "yours is the original node, expected a new one"
    found = yours.children(), yours.kept(), yours.parent()
    assert found == ([], None, None), f"children, tensor and parent, yours {found}, expected none"


def test_children_arrive_in_their_order(extension: Extension) -> None:
    """Children of children arrive too; the original tree is unchanged."""
    root, branch, _ = family(extension, "root", "branch", "leaf")
    for name in ("twig", "apple", "apple"):
        root.add(extension.cls("Node")(name))
    yours = there_and_back(root)

    before = ["branch", "twig", "apple", "apple"]
    found = names(yours.children())
    assert found == before, f"yours {found}, expected {before}"
    found = names(yours.children()[0].children())
    assert found == ["leaf"], f"the children of branch, yours {found}, expected ['leaf']"
    assert not yours.children()[0].same(branch), "the child of the result is the original child"
    found = names(root.children())
    assert found == before, f"pickling root changed its children to {found}"


def test_a_tensor_arrives_as_it_was(extension: Extension) -> None:
    """Strides, requires_grad and values are kept, in its own memory."""
    node = extension.cls("Node")("root")
    x = torch.arange(4.0).view(2, 2).t().requires_grad_()
    node.keep(x)
    yours = there_and_back(node).kept()

    assert yours is not None, "the tensor is missing: it belongs in the state"
    assert yours.tolist() == x.tolist(), f"yours {yours}, expected {x}"
    assert yours.requires_grad, "the new tensor requires no grad: did your code detach it?"
    assert x.data_ptr() != yours.data_ptr(), "both tensors share memory, expected a copy"
    assert node.kept() is x, "pickling a node has changed its tensor"
    node.keep(torch.empty(0, 3))
    empty = there_and_back(node).kept()
    assert empty is not None, "the empty tensor is missing: it is a tensor too"


def test_one_tensor_arrives_once(extension: Extension) -> None:
    """Two nodes keep one tensor: pickle recognises it by its Python object."""
    root, child = family(extension, "root", "child")
    x = torch.ones(3)
    root.keep(x)
    child.keep(x)
    yours = there_and_back(root)

    one, two = yours.kept(), yours.children()[0].kept()
    assert one is two, (
        "two nodes kept one tensor, but the result has two: do not copy or detach it on either side"
    )


def test_children_know_their_new_parents(extension: Extension) -> None:
    """Parents are the new nodes, not the originals; a child pickled alone has none."""
    root, branch, leaf = family(extension, "root", "branch", "leaf")
    yours = there_and_back(root)
    new_branch = yours.children()[0]
    new_leaf = new_branch.children()[0]

    assert new_leaf.parent() is not None, "the new leaf has no parent: add() joins two nodes"
    assert new_leaf.parent().same(new_branch), "the parent of leaf is not the new branch"
    assert new_branch.parent().same(yours), "the parent of branch is not the new root"
    assert leaf.parent().same(branch), "the original node has lost its parent"
    assert there_and_back(branch).parent() is None, "a child that is pickled alone has no parent"


def test_a_saved_tree_is_loaded_and_freed(extension: Extension) -> None:
    """torch.save saves it, and a loaded tree dies with its last owner."""
    live = extension.op("live")
    before = live()
    root = family(extension, "root", "child")[0]
    root.keep(torch.ones(2))
    file = io.BytesIO()
    torch.save({"tree": root}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)["tree"]

    assert names(loaded.children()) == ["child"], f"yours {names(loaded.children())}"
    assert loaded.kept().tolist() == [1.0, 1.0], f"yours {loaded.kept()}, expected two ones"
    assert before + 4 == live(), f"{live() - before} nodes live, expected 2 of each tree"
    del root, loaded
    assert before == live(), (
        f"{live() - before} nodes of two trees are left, though no tree has an owner"
    )


def test_a_node_travels_through_an_operator(extension: Extension) -> None:
    """A schema can name a class; the dispatcher passes the object, not a copy."""
    path = extension.op("path")
    root, branch, leaf = family(extension, "root", "branch", "leaf")

    found = [path(node) for node in (root, branch, leaf)]
    expected = ["root", "root/branch", "root/branch/leaf"]
    assert expected == found, f"yours {found}, expected {expected}"
    del root
    found = path(leaf)
    assert found == "branch/leaf", f"after the root died: yours {found}, expected branch/leaf"


def test_the_size_of_a_tree(extension: Extension) -> None:
    """The size counts the node itself and all nodes below; a copy is as large as the original."""
    size = extension.op("size")
    root, branch, leaf = family(extension, "root", "branch", "leaf")
    root.add(extension.cls("Node")("twig"))

    found = [size(node) for node in (root, branch, leaf)]
    assert found == [4, 2, 1], f"yours {found}, expected [4, 2, 1]: the node itself counts too"
    assert size(there_and_back(root)) == 4, "the copy of 4 nodes has fewer or more"


def test_the_schema_names_the_class(extension: Extension) -> None:
    """The schema names it, so that only a Node is accepted."""
    name = extension.namespace
    for op, result in (("path", "str"), ("size", "int")):
        yours = str(extension.op(op).default._schema)  # noqa: SLF001 - it has no other name
        expected = f"{name}::{op}(__torch__.torch.classes.{name}.Node node) -> {result}"

        assert expected == yours, f"yours      {yours}\nexpected   {expected}"

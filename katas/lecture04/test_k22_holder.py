"""Tests of k22_holder: who owns a C++ object, told by counts and weak references."""

from __future__ import annotations

import gc
import io
import pickle
import weakref
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch


if TYPE_CHECKING:
    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")


def family(extension: Extension, *names: str) -> list[Any]:
    """Return nodes of these names, each the child of the one before."""
    node = extension.cls("Node")
    nodes = [node(name) for name in names]
    for parent, child in pairwise(nodes):
        parent.add(child)
    return nodes


def names(nodes: list[Any]) -> list[str]:
    """Return the names of these nodes."""
    return [node.name() for node in nodes]


def test_a_node_is_made_from_python(extension: Extension) -> None:
    """It has the name it was given, no children, no parent and no tensor."""
    node = extension.cls("Node")("root")

    assert "root" == node.name()
    assert [] == node.children()
    assert node.parent() is None
    assert node.kept() is None


def test_a_node_dies_with_its_last_owner(extension: Extension) -> None:
    """An alias in Python is no further C++ owner, but keeps the one that there is."""
    node = extension.cls("Node")
    live = extension.op("live")
    before = live()
    root = node("root")
    alias = root
    assert before + 1 == live()
    del root
    assert before + 1 == live()
    del alias

    assert before == live()


def test_children_come_back_in_order(extension: Extension) -> None:
    """All of them, as they were added and not by name."""
    root, first, second = (extension.cls("Node")(name) for name in ("root", "b", "a"))
    root.add(first)
    root.add(second)

    assert ["b", "a"] == names(root.children())
    assert [] == first.children()


def test_children_are_the_nodes_that_were_added(extension: Extension) -> None:
    """Not copies: another Python object, the same C++ object."""
    root, child = family(extension, "root", "child")

    assert root.children()[0].same(child)
    assert child.same(root.children()[0])
    assert not root.same(child)
    namesake = extension.cls("Node")("root")
    assert not root.same(namesake), "a name does not make it the same"
    child.add(namesake)
    assert child.children()[0].same(namesake), "a node may be named like one above it"


def test_a_parent_owns_its_children(extension: Extension) -> None:
    """Python may let go of them."""
    live = extension.op("live")
    before = live()
    root, child = family(extension, "root", "child")
    del child

    assert before + 2 == live()
    assert ["child"] == names(root.children())


def test_a_child_knows_its_parent(extension: Extension) -> None:
    """As long as somebody owns it."""
    root, branch, leaf = family(extension, "root", "branch", "leaf")

    assert leaf.parent().same(branch)
    assert branch.parent().same(root)
    assert root.parent() is None


def test_a_child_does_not_own_its_parent(extension: Extension) -> None:
    """Python holds the child only: the parent is gone, whatever the child remembers."""
    root, child = family(extension, "root", "child")
    del root

    assert child.parent() is None, "something still owns the parent: a strong pointer upwards?"
    assert "child" == child.name()


def test_dropping_the_root_frees_the_tree(extension: Extension) -> None:
    """Children hold weak pointers to their parent, and these hold back its destructor."""
    live = extension.op("live")
    before = live()
    root = family(extension, "root", "branch", "leaf")[0]
    root.add(extension.cls("Node")("twig"))
    assert before + 4 == live()
    del root

    assert before == live(), (
        f"{live() - before} nodes are left: a destructor that waits for weak pointers lets go of "
        "nothing, release_resources() does"
    )


def test_uses_counts_owners(extension: Extension) -> None:
    """A parent is one more, and so is each Python object that C++ has made around it."""
    node = extension.cls("Node")
    root, child = node("root"), node("child")
    alone = child.uses()
    alias = child
    assert alone == alias.uses(), "another Python name owns the Python object, not the node"
    root.add(child)
    assert alone + 1 == child.uses(), "its parent owns it now"
    assert alone == root.uses(), "a child does not own its parent"
    handle = root.children()[0]
    assert alone + 2 == child.uses(), "a second Python object around it is a second owner"
    del handle

    assert alone + 1 == child.uses()


def test_a_parent_without_owners_keeps_nothing_alive(extension: Extension) -> None:
    """A child in Python's hands has a weak pointer to it: it must not hold a big tensor back."""
    root, child = family(extension, "root", "child")
    sibling = extension.cls("Node")("sibling")
    root.add(sibling)
    x = torch.ones(3)
    root.keep(x)
    watch = weakref.ref(x)
    alone = extension.cls("Node")("alone").uses()
    del root, x

    assert watch() is None, "release_resources() has to let go of the tensor as well"
    assert alone == child.uses()
    assert alone == sibling.uses()


def test_an_orphan_can_be_added_again(extension: Extension) -> None:
    """Its parent has died, so it has none."""
    root, child = family(extension, "root", "child")
    del root
    other = extension.cls("Node")("other")
    other.add(child)

    assert child.parent().same(other)


def test_a_child_has_one_parent(extension: Extension) -> None:
    """Also if it is the same parent twice; the refusal changes nothing."""
    root, child = family(extension, "root", "child")
    other = extension.cls("Node")("other")
    for node in (other, root):
        with pytest.raises(ValueError, match=r"^add: 'child' has a parent already$"):
            node.add(child)

    assert [] == other.children()
    assert ["child"] == names(root.children())
    assert child.parent().same(root)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_node_owns_itself(extension: Extension, depth: int) -> None:
    """Not directly and not through others: nobody else could ever free such a cycle."""
    live = extension.op("live")
    before = live()
    nodes = family(extension, *"abc"[:depth])
    with pytest.raises(ValueError, match=r"^add: 'a' would own itself$"):
        nodes[-1].add(nodes[0])
    assert [] == nodes[-1].children()
    assert nodes[0].parent() is None
    nodes.clear()

    assert before == live()


def test_a_kept_tensor_is_the_same_object(extension: Extension) -> None:
    """While Python holds it too, and None when there is none."""
    node = extension.cls("Node")("root")
    x = torch.arange(6.0).view(2, 3).t()
    node.keep(x)

    assert node.kept() is x
    node.keep(None)
    assert node.kept() is None


def test_a_kept_tensor_keeps_its_attributes(extension: Extension) -> None:
    """C++ is its only owner for a while; its Python object must not die in that time."""
    node = extension.cls("Node")("root")
    x = torch.nn.Parameter(torch.empty(0, 3))
    x.note = ["anything"]
    address, note = id(x), x.note
    node.keep(x)
    del x
    gc.collect()
    kept = node.kept()

    assert address == id(kept)
    assert kept.note is note, "another Python object has been made around the tensor"
    assert isinstance(kept, torch.nn.Parameter)


def test_a_tensor_kept_before_is_let_go(extension: Extension) -> None:
    """By the next one, by None and by the death of the node."""
    node = extension.cls("Node")("root")
    for replacement in (torch.ones(2), None):
        x = torch.ones(3)
        node.keep(x)
        watch = weakref.ref(x)
        del x
        assert watch() is not None
        node.keep(replacement)
        assert watch() is None
    x = torch.ones(3)
    node.keep(x)
    watch = weakref.ref(x)
    del x, node

    assert watch() is None


def test_the_collector_does_not_look_into_cpp(extension: Extension) -> None:
    """A tensor that points back to the node which keeps it: somebody has to cut that by hand."""
    live = extension.op("live")
    before = live()
    node = extension.cls("Node")("root")
    x = torch.ones(1)
    x.node = node
    node.keep(x)
    watch = weakref.ref(x)
    del node, x
    gc.collect()
    assert before + 1 == live(), "Python's collector sees the attribute, but not what C++ owns"
    watch().node.keep(None)

    assert before == live()
    assert watch() is None


def test_a_node_travels_through_an_operator(extension: Extension) -> None:
    """A schema can name a class; the dispatcher passes the object, not a copy."""
    path = extension.op("path")
    root, branch, leaf = family(extension, "root", "branch", "leaf")

    assert "root" == path(root)
    assert "root/branch" == path(branch)
    assert "root/branch/leaf" == path(leaf)
    del root
    assert "branch/leaf" == path(leaf), "the root has died"


def test_a_tree_is_pickled(extension: Extension) -> None:
    """Names, shape and tensors come back; nothing is shared with the original."""
    root, branch, leaf = family(extension, "root", "branch", "leaf")
    root.add(extension.cls("Node")("twig"))
    leaf.keep(torch.arange(4.0).view(2, 2).t().requires_grad_())
    copy = pickle.loads(pickle.dumps(root))  # noqa: S301 - our own bytes

    assert "root" == copy.name()
    assert ["branch", "twig"] == names(copy.children())
    assert ["leaf"] == names(copy.children()[0].children())
    assert copy.kept() is None
    kept = copy.children()[0].children()[0].kept()
    assert [[0.0, 2.0], [1.0, 3.0]] == kept.tolist()
    assert kept.requires_grad, "the tensor comes back as it was, not detached"
    assert ["branch", "twig"] == names(root.children()), "pickling changed the original"
    assert leaf.kept().data_ptr() != kept.data_ptr()
    assert not copy.same(root)
    assert not copy.children()[0].same(branch)


def test_a_pickled_tree_knows_its_parents(extension: Extension) -> None:
    """The new nodes', not those of the original; a child that comes alone has none."""
    root, branch, leaf = family(extension, "root", "branch", "leaf")
    copy = pickle.loads(pickle.dumps(root))  # noqa: S301

    copied_leaf = copy.children()[0].children()[0]
    assert "root/branch/leaf" == extension.op("path")(copied_leaf)
    assert copied_leaf.parent().same(copy.children()[0])
    assert leaf.parent().same(branch)
    assert pickle.loads(pickle.dumps(branch)).parent() is None  # noqa: S301


def test_a_saved_tree_is_loaded_and_freed(extension: Extension) -> None:
    """``torch.save`` takes it along, and the loaded nodes leak no more than others."""
    live = extension.op("live")
    before = live()
    root = family(extension, "root", "child")[0]
    root.keep(torch.ones(2))
    file = io.BytesIO()
    torch.save({"tree": root}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)["tree"]

    assert ["child"] == names(loaded.children())
    assert [1.0, 1.0] == loaded.kept().tolist()
    assert before + 4 == live()
    del root, loaded
    assert before == live()

// tier: small
#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <atomic>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using at::Tensor;

// ---- given: do not change ----------------------------------------------------------------

// How many nodes exist: created and not yet destroyed. The tests use it to find leaks.
std::atomic<int64_t> alive{0};

struct Counted : torch::CustomClassHolder {
  explicit Counted(std::string name) : name(std::move(name)) {
    ++alive;
  }
  ~Counted() override {
    --alive;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  const std::string name;
};

int64_t live() {
  return alive;
}

// PyTorch finds a class by its C++ name, and the previous kata has a Node.
namespace travelling {

struct Node : Counted {
  using Counted::Counted;

  std::vector<c10::intrusive_ptr<Node>> children;
  c10::weak_intrusive_ptr<Counted> parent{c10::intrusive_ptr<Counted>()};
  std::optional<Tensor> kept;

  void release_resources() override {
    children.clear();
    kept.reset();
  }
};

} // namespace travelling

using travelling::Node;

using NodePtr = c10::intrusive_ptr<Node>;

std::optional<NodePtr> parent(const NodePtr& self) {
  auto found = c10::static_intrusive_pointer_cast<Node>(self->parent.lock());
  return found ? std::make_optional(found) : std::nullopt;
}

void add(const NodePtr& self, const NodePtr& child) {
  TORCH_CHECK_VALUE(!parent(child), "add: '", child->name, "' has a parent already");
  child->parent = c10::weak_intrusive_ptr<Node>(self);
  self->children.push_back(child);
}

// ---- the exercise ------------------------------------------------------------------------

// The name, the kept tensor, the children.
using State = std::tuple<std::string, std::optional<Tensor>, std::vector<NodePtr>>;

// Returns the state of a node, without changing the node.
State state_of(const NodePtr& self) {
  return {self->name, self->kept, self->children};
}

// Returns a new node with this state, the parent of its children. Copies no tensor.
NodePtr node_of(const State& state) {
  const auto& [name, kept, children] = state;
  auto self = c10::make_intrusive<Node>(name);
  self->kept = kept;
  for (const auto& child : children) {
    // They were built before this node, and have no parent yet.
    add(self, child);
  }
  return self;
}

// The names from the root to a node: "root/branch/leaf".
std::string path(const NodePtr& node) {
  const auto above = parent(node);
  if (above) {
    return path(*above) + "/" + node->name;
  }
  return node->name;
}

// The number of nodes in a tree, including the one at its top.
int64_t size(const NodePtr& node) {
  int64_t found = 1;
  for (const auto& child : node->children) {
    found += size(child);
  }
  return found;
}

TORCH_LIBRARY(lecture04_k23, m) {
  m.def("live() -> int", &live);
  m.class_<Node>("Node")
      .def(torch::init<std::string>())
      .def("name", [](const NodePtr& self) { return self->name; })
      .def("same", [](const NodePtr& self, const NodePtr& other) { return self == other; })
      .def("add", &add)
      .def("children", [](const NodePtr& self) { return self->children; })
      .def("parent", &parent)
      .def("keep", [](const NodePtr& self, std::optional<Tensor> x) { self->kept = std::move(x); })
      .def("kept", [](const NodePtr& self) { return self->kept; })
      .def_pickle(
          [](const NodePtr& self) { return state_of(self); },
          [](State state) { return node_of(state); });
  m.def("path(__torch__.torch.classes.lecture04_k23.Node node) -> str", &path);
  m.def("size(__torch__.torch.classes.lecture04_k23.Node node) -> int", &size);
}

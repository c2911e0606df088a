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

// How many nodes have been made and not been destroyed: the tests look for leaks with it.
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

// ---- the exercise ------------------------------------------------------------------------

struct Node : Counted {
  using Counted::Counted;

  // Owners point down, so that a tree is no cycle. A weak pointer to Node itself cannot stand
  // here, where Node is not complete yet; one to its base can.
  std::vector<c10::intrusive_ptr<Node>> children;
  c10::weak_intrusive_ptr<Counted> parent{c10::intrusive_ptr<Counted>()};
  std::optional<Tensor> kept;

  // The last owner is gone. If there are weak pointers the destructor waits for them, and the
  // children's weak pointers would wait for the children, for ever.
  void release_resources() override {
    children.clear();
    kept.reset();
  }
};

using NodePtr = c10::intrusive_ptr<Node>;
using State = std::tuple<std::string, std::optional<Tensor>, std::vector<NodePtr>>;

NodePtr parent_of(const NodePtr& node) {
  return c10::static_intrusive_pointer_cast<Node>(node->parent.lock());
}

void add(const NodePtr& self, const NodePtr& child) {
  TORCH_CHECK_VALUE(!parent_of(child), "add: '", child->name, "' has a parent already");
  for (auto ancestor = self; ancestor; ancestor = parent_of(ancestor)) {
    TORCH_CHECK_VALUE(ancestor != child, "add: '", child->name, "' would own itself");
  }
  child->parent = c10::weak_intrusive_ptr<Node>(self);
  self->children.push_back(child);
}

std::optional<NodePtr> parent(const NodePtr& self) {
  auto found = parent_of(self);
  return found ? std::make_optional(found) : std::nullopt;
}

std::string path(const NodePtr& node) {
  const auto above = parent_of(node);
  return above ? path(above) + "/" + node->name : node->name;
}

TORCH_LIBRARY(lecture04_k22, m) {
  m.def("live() -> int", &live);
  m.class_<Node>("Node")
      .def(torch::init<std::string>())
      .def("name", [](const NodePtr& self) { return self->name; })
      .def("uses", [](const NodePtr& self) { return static_cast<int64_t>(self.use_count()); })
      .def("same", [](const NodePtr& self, const NodePtr& other) { return self == other; })
      .def("add", &add)
      .def("children", [](const NodePtr& self) { return self->children; })
      .def("parent", &parent)
      .def("keep", [](const NodePtr& self, std::optional<Tensor> x) { self->kept = std::move(x); })
      .def("kept", [](const NodePtr& self) { return self->kept; })
      // Pickle comes to the children by itself: they are values of the state.
      .def_pickle(
          [](const NodePtr& self) -> State {
            return {self->name, self->kept, self->children};
          },
          [](State state) {
            const auto& [name, kept, children] = state;
            auto self = c10::make_intrusive<Node>(name);
            self->kept = kept;
            for (const auto& child : children) {
              add(self, child);
            }
            return self;
          });
  m.def("path(__torch__.torch.classes.lecture04_k22.Node node) -> str", &path);
}

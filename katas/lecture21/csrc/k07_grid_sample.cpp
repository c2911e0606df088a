// tier: full
//
// `grid_sample` in C++, with the gradients of the image and of the positions.
//
// A spatial transformer learns where to look. Its loss reaches the positions through the weights of
// four pixels, which change as a position moves:
//
//   left = 2    x = 2.3    right = 3          value  = 0.7 * p[2] + 0.3 * p[3]
//   ----o--------*--------------o----         slope  = p[3] - p[2], times dx / d(coordinate)
//
// Beyond the image there are three rules: pixels of 0, the border pixel, or the image reflected.
//
// 1. locate: from a coordinate to a position, and its derivative.
// 2. corners, grid_sample_cpu: four pixels with weights.
// 3. grid_sample_backward_cpu: the weights go to the image, the slopes to the grid.
// 4. GridSample: below autograd each direction is one operator. But a kernel has no derivative:
//    where backward is itself recorded, call recorded_backward (given).
//
// About 55 lines. The layout is align_corners=False, all in float64: images [n, c, h, w], grids
// [n, i, j, 2] with x before y, results [n, c, i, j].
//
// Begin on paper: size 4, coordinate 1. Where is it, and where if the image is reflected?
// Afterwards read grid_sampler_compute_source_index_set_grad in
// aten/src/ATen/native/GridSampler.h, in PyTorch's repository. Real life differs: ATen works on
// vectors of positions, and on CUDA its backward adds with atomics.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <array>
#include <cmath>
#include <tuple>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// ---- given: do not change ----------------------------------------------------------------

enum Padding : int64_t { kZeros, kBorder, kReflection };

// A position in pixels: the centre of pixel k is k; and its derivative by the coordinate.
struct Place {
  double at;
  double slope;
};

// One of the four pixels around a position, which may be outside; its weight, and the derivatives of
// the weight by the coordinates y and x.
struct Corner {
  double row;
  double column;
  double weight;
  double by_y;
  double by_x;
};

Place locate(double coordinate, int64_t size, int64_t padding);
std::array<Corner, 4> corners(const Place& y, const Place& x);

bool inside(const Tensor& input, const Corner& corner) {
  return corner.row >= 0 && corner.row < input.size(2) && corner.column >= 0 &&
      corner.column < input.size(3);
}

// The pixel of a corner, which is 0 outside.
double pixel(const Tensor& input, int64_t n, int64_t c, const Corner& corner) {
  return inside(input, corner)
      ? input.accessor<const double, 4>()[n][c][int64_t(corner.row)][int64_t(corner.column)]
      : 0;
}

// Calls visit(n, i, j, corner) four times for each position of the grid.
template <typename Visit>
void each_corner(const Tensor& input, const Tensor& grid, int64_t padding, Visit visit) {
  const auto coordinates = grid.accessor<const double, 4>();
  for (int64_t n = 0; n < grid.size(0); ++n) {
    for (int64_t i = 0; i < grid.size(1); ++i) {
      for (int64_t j = 0; j < grid.size(2); ++j) {
        const auto y = locate(coordinates[n][i][j][1], input.size(2), padding);
        const auto x = locate(coordinates[n][i][j][0], input.size(3), padding);
        for (const auto& corner : corners(y, x)) {
          visit(n, i, j, corner);
        }
      }
    }
  }
}

// The operators, through the dispatcher.
Tensor grid_sample(const Tensor& input, const Tensor& grid, int64_t padding) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("lecture21_k07::grid_sample", "")
                             .typed<Tensor(const Tensor&, const Tensor&, int64_t)>();
  return op.call(input, grid, padding);
}

std::tuple<Tensor, Tensor> grid_sample_backward(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& grid,
    int64_t padding) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("lecture21_k07::grid_sample_backward", "")
          .typed<std::tuple<Tensor, Tensor>(
              const Tensor&, const Tensor&, const Tensor&, int64_t)>();
  return op.call(grad, input, grid, padding);
}

// Both gradients again, by operators that have derivatives. Defined below.
variable_list recorded_backward(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& grid,
    int64_t padding);

Tensor grid_sample_meta(const Tensor& input, const Tensor& grid, int64_t padding) {
  TORCH_CHECK_TYPE(
      input.scalar_type() == at::kDouble && grid.scalar_type() == at::kDouble,
      "grid_sample: expected two tensors of float64");
  TORCH_CHECK_VALUE(
      input.dim() == 4 && grid.dim() == 4 && grid.sym_size(3) == 2 &&
          grid.sym_size(0) == input.sym_size(0) && input.sym_size(2) > 0 && input.sym_size(3) > 0,
      "grid_sample: expected an image [n, c, h, w] and a grid [n, i, j, 2]");
  TORCH_CHECK_VALUE(
      padding >= kZeros && padding <= kReflection, "grid_sample: expected padding 0, 1 or 2");
  return at::zeros_symint(
      {input.sym_size(0), input.sym_size(1), grid.sym_size(1), grid.sym_size(2)},
      input.options());
}

std::tuple<Tensor, Tensor> grid_sample_backward_meta(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& grid,
    int64_t padding) {
  return {
      at::zeros_symint(input.sym_sizes(), input.options()),
      at::zeros_symint(grid.sym_sizes(), grid.options())};
}

// Step 1, for all elements of a tensor.
std::tuple<Tensor, Tensor> locate_cpu(const Tensor& coordinates, int64_t size, int64_t padding) {
  const auto from = coordinates.contiguous();
  auto at = at::empty_like(from), slope = at::empty_like(from);
  for (int64_t k = 0; k < from.numel(); ++k) {
    const auto place = locate(from.const_data_ptr<double>()[k], size, padding);
    at.mutable_data_ptr<double>()[k] = place.at;
    slope.mutable_data_ptr<double>()[k] = place.slope;
  }
  return {at, slope};
}

// ---- the exercise ------------------------------------------------------------------------

// Coordinates -1 and 1 are the outer edges of the image: the centre of its first pixel is half a
// pixel from the edge. kZeros changes nothing more. kBorder moves a position to the nearest centre;
// at the first and the last centre and beyond, the slope is 0. kReflection mirrors at the outer
// edges, as often as necessary; each reflection flips the slope's sign. Then it does what kBorder
// does. Under these two a NaN goes to pixel 0 with slope 0. Under kZeros it stays NaN, its slope is
// that of any other coordinate, and so the sampled value is NaN.
Place locate(double coordinate, int64_t size, int64_t padding) {
  // TODO: the position, the mirrors, the border.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: locate");
}

// Top left, top right, bottom left, bottom right. The derivatives of a weight are by the coordinates
// (so times the slope).
std::array<Corner, 4> corners(const Place& y, const Place& x) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: corners");
}

// Inputs may have any strides; a tensor's own accessor handles them.
Tensor grid_sample_cpu(const Tensor& input, const Tensor& grid, int64_t padding) {
  const auto output = grid_sample_meta(input, grid, padding);
  auto to = output.accessor<double, 4>();
  // TODO: add up what each corner contributes, in each channel.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: grid_sample_cpu");
}

std::tuple<Tensor, Tensor> grid_sample_backward_cpu(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& grid,
    int64_t padding) {
  const auto results = grid_sample_backward_meta(grad, input, grid, padding);
  const auto from = grad.accessor<const double, 4>();
  auto for_input = std::get<0>(results).accessor<double, 4>();
  auto for_grid = std::get<1>(results).accessor<double, 4>();
  // TODO: what forward read, backward writes to; in a grid, x comes before y.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: grid_sample_backward_cpu");
}

// Save input and grid with save_for_backward, and padding as ctx->saved_data["padding"]. The engine
// turns grad mode on for a backward that is recorded: if at::GradMode::is_enabled(), then call
// recorded_backward.
struct GridSample : torch::autograd::Function<GridSample> {
  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& input,
      const Tensor& grid,
      int64_t padding) {
    // TODO: with at::AutoDispatchBelowADInplaceOrView, the operator again.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: GridSample::forward");
  }

  // One gradient comes in; one for each argument of forward goes out, Tensor() for padding.
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    // TODO: two ways to compute the same two gradients: when is each of them needed?
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: GridSample::backward");
  }
};

Tensor grid_sample_autograd(const Tensor& input, const Tensor& grid, int64_t padding) {
  return GridSample::apply(input, grid, padding);
}

// ---- given: do not change ----------------------------------------------------------------

variable_list recorded_backward(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& grid,
    int64_t padding) {
  const auto n = input.size(0), c = input.size(1), h = input.size(2), w = input.size(3);
  // Locally, a position is linear in its coordinate.
  const auto place = [&](int64_t dim, int64_t size) {
    const auto coordinate = grid.select(3, dim).reshape({n, 1, -1});
    const auto found = locate_cpu(coordinate.detach(), size, padding);
    const auto at = std::get<0>(found) + std::get<1>(found) * (coordinate - coordinate.detach());
    return std::make_tuple(at, std::get<1>(found), std::get<0>(found).floor());
  };
  const auto [y, slope_y, top] = place(1, h);
  const auto [x, slope_x, left] = place(0, w);
  const auto g = grad.reshape({n, c, -1});
  auto for_input = at::zeros({n, c, h * w}, input.options());
  auto for_y = at::zeros_like(y), for_x = at::zeros_like(x);
  for (int k = 0; k < 4; ++k) {
    const int down = k / 2, right = k % 2;
    const auto in_y = down ? y - top : top + 1 - y;
    const auto in_x = right ? x - left : left + 1 - x;
    const auto row = top + down, column = left + right;
    const auto mask = row.ge(0) * row.lt(h) * column.ge(0) * column.lt(w);
    const auto index =
        at::where(mask, row * w + column, 0.0).to(at::kLong).expand({n, c, y.size(2)});
    const auto part = g * input.reshape({n, c, -1}).gather(2, index) * mask;
    for_input = for_input.scatter_add(2, index, g * in_y * in_x * mask);
    for_y = for_y + (part * in_x).sum(1, true) * slope_y * (down ? 1 : -1);
    for_x = for_x + (part * in_y).sum(1, true) * slope_x * (right ? 1 : -1);
  }
  const auto for_grid = at::stack({for_x, for_y}, -1).reshape(grid.sizes());
  return {for_input.reshape(input.sizes()), for_grid};
}

} // namespace

TORCH_LIBRARY(lecture21_k07, m) {
  m.def("locate(Tensor coordinates, int size, int padding) -> (Tensor at, Tensor slope)");
  m.def("grid_sample(Tensor input, Tensor grid, int padding) -> Tensor");
  m.def(
      "grid_sample_backward(Tensor grad, Tensor input, Tensor grid, int padding)"
      " -> (Tensor grad_input, Tensor grad_grid)");
}

TORCH_LIBRARY_IMPL(lecture21_k07, CPU, m) {
  m.impl("locate", &locate_cpu);
  m.impl("grid_sample", &grid_sample_cpu);
  m.impl("grid_sample_backward", &grid_sample_backward_cpu);
}

TORCH_LIBRARY_IMPL(lecture21_k07, Meta, m) {
  m.impl("grid_sample", &grid_sample_meta);
  m.impl("grid_sample_backward", &grid_sample_backward_meta);
}

TORCH_LIBRARY_IMPL(lecture21_k07, Autograd, m) {
  m.impl("grid_sample", &grid_sample_autograd);
}

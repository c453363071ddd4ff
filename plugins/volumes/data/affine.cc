#include "data/affine.h"

#include <algorithm>
#include <cmath>

namespace medley_volumes {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;  // rows

Vector Cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double Dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// The rotation (perhaps with a mirror) nearest to the matrix, by Newton's iteration of the polar
// decomposition: X <- (X + X^-T) / 2. None for a matrix that has no inverse.
std::optional<Matrix> NearestRotation(Matrix x) {
  constexpr double kFlat = 1e-12;  // of columns of length 1
  constexpr int kMostSteps = 64;   // a step halves what is far, and squares what is near
  for (int step = 0; step < kMostSteps; ++step) {
    const Matrix cofactors = {Cross(x[1], x[2]), Cross(x[2], x[0]), Cross(x[0], x[1])};
    const double determinant = Dot(x[0], cofactors[0]);
    if (!(std::abs(determinant) > kFlat)) return std::nullopt;
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 3; ++column)
        x[row][column] = (x[row][column] + cofactors[row][column] / determinant) / 2;
    }
  }
  return x;
}

}  // namespace

Vector VoxelSizes(const Affine& affine) {
  Vector sizes{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    sizes[axis] = std::hypot(affine[0][axis], affine[1][axis], affine[2][axis]);
  return sizes;
}

std::optional<NearestAxes> NearestAxesOf(const Affine& affine) {
  const Vector sizes = VoxelSizes(affine);
  Matrix directions{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t axis = 0; axis < 3; ++axis) directions[row][axis] = affine[row][axis] / sizes[axis];
  }
  const std::optional<Matrix> rotation = NearestRotation(directions);
  if (!rotation) return std::nullopt;
  // The clearest chooses first, so that no two are nearest to one.
  const auto clearness = [&](std::size_t axis) {
    return std::max(
        {std::abs((*rotation)[0][axis]), std::abs((*rotation)[1][axis]), std::abs((*rotation)[2][axis])});
  };
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return clearness(a) > clearness(b); });
  NearestAxes axes;
  std::array<bool, 3> is_taken{};
  for (const std::size_t axis : order) {
    std::size_t best = 3;
    for (std::size_t row = 0; row < 3; ++row) {
      if (!is_taken[row] &&
          (best == 3 || std::abs((*rotation)[row][axis]) > std::abs((*rotation)[best][axis])))
        best = row;
    }
    is_taken[best] = true;
    axes.axis[axis] = static_cast<int>(best);
    axes.is_turned[axis] = (*rotation)[best][axis] < 0;
  }
  return axes;
}

std::string AxisCodes(const std::optional<NearestAxes>& axes) {
  if (!axes) return "???";
  constexpr std::array<const char*, 3> kCodes = {"RL", "AP", "SI"};
  std::string codes;
  for (std::size_t axis = 0; axis < 3; ++axis)
    codes += kCodes[static_cast<std::size_t>(axes->axis[axis])][axes->is_turned[axis] ? 1 : 0];
  return codes;
}

}  // namespace medley_volumes

#include "tasks/world/canvas.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace medley::world {
namespace {

std::int64_t FloorSqrt(std::int64_t n) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (root * root > n) --root;
  while ((root + 1) * (root + 1) <= n) ++root;
  return root;
}

// Half the width of the k-th row of a disc, counted outwards from its centre line, 1 <= k <= radius. With
// n(j) the integer nearest to sqrt(radius^2 - j^2) it is max(n(k), max{j >= 1: n(j) >= k}); n(j) >= k holds
// exactly when j^2 < radius^2 - (k - 1/2)^2, hence the closed form.
std::int64_t HalfWidth(std::int64_t radius, std::int64_t k) {
  const std::int64_t rest = radius * radius - k * k;
  const std::int64_t floor = FloorSqrt(rest);
  const std::int64_t nearest = rest > floor * floor + floor ? floor + 1 : floor;
  return std::max(nearest, FloorSqrt(rest + k - 1));
}

bool Covers(const Canvas::Bar& bar, std::int64_t i, std::int64_t j) {
  const double dx = static_cast<double>(i) + 0.5 - bar.x;
  const double dy = static_cast<double>(j) + 0.5 - bar.y;
  const double u = dx * bar.cos + dy * bar.sin;
  const double v = -dx * bar.sin + dy * bar.cos;
  return u >= 0 && u < bar.length && v >= bar.v0 && v < bar.v1;
}

struct Interval {
  double low;
  double high;
  // Keeps the y with low <= slope y + shift < high. A bar along an axis leaves y free.
  void Keep(double slope, double shift, double minimum, double maximum) {
    if (std::abs(slope) < 1e-9) return;
    const double a = (minimum - shift) / slope;
    const double b = (maximum - shift) / slope;
    low = std::max(low, std::min(a, b));
    high = std::min(high, std::max(a, b));
  }
};

}  // namespace

void Canvas::Clear() { std::memset(pixels_, 255, static_cast<std::size_t>(3 * size_ * size_)); }

void Canvas::Span(std::int64_t x, std::int64_t begin, std::int64_t end, Color color) {
  const std::int64_t row = x - x0_;
  if (row < 0 || row >= size_) return;
  begin = std::max<std::int64_t>(begin - y0_, 0);
  end = std::min(end - y0_, size_);
  if (begin >= end) return;
  std::uint8_t* first = pixels_ + row * size_ + begin;
  const auto length = static_cast<std::size_t>(end - begin);
  std::memset(first, color.r, length);
  std::memset(first + size_ * size_, color.g, length);
  std::memset(first + 2 * size_ * size_, color.b, length);
}

void Canvas::Rectangle(std::int64_t x, std::int64_t y, std::int64_t rows, std::int64_t columns, Color color) {
  const std::int64_t first = std::max(x, x0_);
  const std::int64_t last = std::min(x + rows, x0_ + size_);
  for (std::int64_t i = first; i < last; ++i) Span(i, y, y + columns, color);
}

void Canvas::Disc(std::int64_t x, std::int64_t y, std::int64_t radius, Color color) {
  for (std::int64_t k = 1; k <= radius; ++k) {
    const std::int64_t half = HalfWidth(radius, k);
    Span(x - k, y - half, y + half, color);
    Span(x + k - 1, y - half, y + half, color);
  }
}

void Canvas::OrientedBar(const Bar& bar, Color color) {
  const double ends[] = {0, bar.length * bar.cos};
  const double sides[] = {-bar.v0 * bar.sin, -bar.v1 * bar.sin};
  const auto low = std::min(ends[0], ends[1]) + std::min(sides[0], sides[1]);
  const auto high = std::max(ends[0], ends[1]) + std::max(sides[0], sides[1]);
  const auto first = std::max(static_cast<std::int64_t>(std::floor(bar.x + low)) - 1, x0_);
  const auto last = std::min(static_cast<std::int64_t>(std::ceil(bar.x + high)) + 1, x0_ + size_ - 1);
  for (std::int64_t i = first; i <= last; ++i) {
    const double dx = static_cast<double>(i) + 0.5 - bar.x;
    Interval y{static_cast<double>(y0_), static_cast<double>(y0_ + size_ - 1)};
    y.Keep(bar.sin, dx * bar.cos + (0.5 - bar.y) * bar.sin, 0, bar.length);
    y.Keep(bar.cos, -dx * bar.sin + (0.5 - bar.y) * bar.cos, bar.v0, bar.v1);
    if (y.low > y.high + 2) continue;
    // Solved to within rounding; the test itself decides about the ends, so that a window and the whole
    // agree.
    auto begin = static_cast<std::int64_t>(std::floor(y.low)) - 1;
    auto end = static_cast<std::int64_t>(std::ceil(y.high)) + 1;
    while (begin <= end && !Covers(bar, i, begin)) ++begin;
    while (begin <= end && !Covers(bar, i, end)) --end;
    Span(i, begin, end + 1, color);
  }
}

}  // namespace medley::world

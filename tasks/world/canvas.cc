#include "tasks/world/canvas.h"

#include <algorithm>
#include <array>
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

// Writes the first and the last bytes of a span that is at most two words long; they may overlap.
template <typename Word>
void FillEnds(std::uint8_t* first, std::size_t length, std::uint64_t bytes) {
  std::array<std::uint64_t, 2> words{bytes, bytes};
  std::memcpy(first, words.data(), sizeof(Word));
  std::memcpy(first + length - sizeof(Word), words.data(), sizeof(Word));
}

// memset, but a picture is made of a thousand spans of a few bytes, where the call costs more than the bytes.
void Fill(std::uint8_t* first, std::size_t length, std::uint8_t value) {
  const std::uint64_t bytes = 0x0101010101010101 * value;
  if (length > 32) {
    std::memset(first, value, length);
  } else if (length >= 16) {
    FillEnds<std::array<std::uint64_t, 2>>(first, length, bytes);
  } else if (length >= 8) {
    FillEnds<std::uint64_t>(first, length, bytes);
  } else if (length >= 4) {
    FillEnds<std::uint32_t>(first, length, bytes);
  } else if (length >= 2) {
    FillEnds<std::uint16_t>(first, length, bytes);
  } else {
    *first = value;
  }
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
  Fill(first, length, color.r);
  Fill(first + size_ * size_, length, color.g);
  Fill(first + 2 * size_ * size_, length, color.b);
}

void Canvas::Rectangle(std::int64_t x, std::int64_t y, std::int64_t rows, std::int64_t columns, Color color) {
  const auto clamp = [this](std::int64_t pixel) { return std::clamp<std::int64_t>(pixel, 0, size_); };
  const std::int64_t top = clamp(x - x0_), bottom = clamp(x - x0_ + rows);
  const std::int64_t left = clamp(y - y0_), right = clamp(y - y0_ + columns);
  if (top >= bottom || left >= right) return;
  const auto length = static_cast<std::size_t>(right - left);
  std::uint8_t* plane = pixels_;
  for (const std::uint8_t value : {color.r, color.g, color.b}) {
    std::uint8_t* first = plane + top * size_ + left;
    if (right - left == size_) {
      std::memset(first, value, static_cast<std::size_t>(bottom - top) * length);
    } else {
      for (std::int64_t row = top; row < bottom; ++row, first += size_) Fill(first, length, value);
    }
    plane += size_ * size_;
  }
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

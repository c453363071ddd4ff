#pragma once

#include <cstdint>

namespace medley::world {

struct Color {
  std::uint8_t r, g, b;
};

inline constexpr Color kWallColor{0, 0, 0};
inline constexpr Color kBodyColor{0, 255, 0};
inline constexpr Color kEyeColor{255, 0, 0};
inline constexpr Color kGoldColor{255, 200, 0};
inline constexpr Color kLineColor{0, 0, 213};

// A square window on a larger picture of which only the window exists. Coordinates are the large picture's
// pixels; what lies outside the window is cut off. Rows are contiguous, so that every shape is filled by
// spans of a row.
class Canvas {
 public:
  // `pixels`: [3, size, size] bytes. The window's first pixel is (x0, y0).
  Canvas(std::uint8_t* pixels, std::int64_t size, std::int64_t x0, std::int64_t y0)
      : pixels_(pixels), size_(size), x0_(x0), y0_(y0) {}

  void Clear();  // to white
  // Columns [begin, end) of row x.
  void Span(std::int64_t x, std::int64_t begin, std::int64_t end, Color color);
  // `rows` x `columns` pixels from (x, y).
  void Rectangle(std::int64_t x, std::int64_t y, std::int64_t rows, std::int64_t columns, Color color);
  // The disc of the midpoint algorithm, 2 radius pixels wide.
  void Disc(std::int64_t x, std::int64_t y, std::int64_t radius, Color color);
  // The pixels whose centre is at u along the angle and v across, counted from (x, y): 0 <= u < length, v0 <=
  // v < v1.
  struct Bar {
    double x, y, cos, sin, length, v0, v1;
  };
  void OrientedBar(const Bar& bar, Color color);

 private:
  std::uint8_t* pixels_;
  std::int64_t size_;
  std::int64_t x0_;
  std::int64_t y0_;
};

}  // namespace medley::world

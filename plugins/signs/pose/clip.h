#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pose/joints.h"

namespace medley_signs {

// A place in the picture: x to the right, y downwards. (0, 0), exactly, is a joint that was not found.
struct Point {
  double x = 0, y = 0;

  bool found() const { return x != 0 || y != 0; }
  bool operator==(const Point&) const = default;
};

inline Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
inline Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
inline Point operator*(Point a, double by) { return {a.x * by, a.y * by}; }
inline double Length(Point a) { return std::hypot(a.x, a.y); }
// By an angle in radians, from x towards y.
inline Point Turned(Point a, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {c * a.x - s * a.y, s * a.x + c * a.y};
}

using Frame = std::array<Point, kJoints>;

// What is known of a recording: in each frame where the joints are, in parts of the picture's sides, [0, 1]
// as a rule.
struct Clip {
  std::vector<Frame> frames{};
  std::int64_t label = 0;  // from 0
  std::int64_t signer = 0;
  double fps = 25;
  std::int64_t width = 256, height = 256;  // pixels

  bool operator==(const Clip&) const = default;
};

// Calls fn(Point&) for each joint of the frame that was found.
template <typename Fn>
void ForEachFound(Frame& frame, const Fn& fn) {
  for (Point& point : frame) {
    if (point.found()) fn(point);
  }
}

}  // namespace medley_signs

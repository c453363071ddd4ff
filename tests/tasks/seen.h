#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "tasks/world/solver.h"
#include "tasks/world/state.h"
#include "tests/tasks/world_testing.h"

namespace medley::tasks {

inline constexpr double kDegree = world::kPi / 180;

// What a picture shows, read from its pixels alone: an answer to a question that owes nothing to the code
// that drew it.
struct Seen {
  world::Point agent, eye, gold, line;  // means, in units of the arena
  int green = 0, red = 0, yellow = 0, blue = 0, black = 0;

  double direction() const { return std::atan2(eye.y - agent.y, eye.x - agent.x); }
  double bearing() const { return std::atan2(gold.y - agent.y, gold.x - agent.x); }
  double line_angle() const { return std::atan2(line.y - agent.y, line.x - agent.x); }
  double distance() const { return world::Distance(agent, gold); }
};

inline Seen See(const at::Tensor& picture) {
  const at::Tensor bytes = picture.contiguous();
  const std::int64_t size = bytes.size(1), plane = size * size;
  const auto* first = bytes.const_data_ptr<std::uint8_t>();
  Seen seen;
  world::Point body{};
  const auto add = [](world::Point& mean, int& count, double i, double j) {
    mean.x += i, mean.y += j, ++count;
  };
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      const auto* p = first + i * size + j;
      const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(size);
      const double y = (static_cast<double>(j) + 0.5) / static_cast<double>(size);
      switch ((std::uint32_t{p[0]} << 16) | (std::uint32_t{p[plane]} << 8) | p[2 * plane]) {
        case world::kGreen:
          add(body, seen.green, x, y);
          break;
        case world::kRed:
          add(seen.eye, seen.red, x, y);
          break;
        case world::kYellow:
          add(seen.gold, seen.yellow, x, y);
          break;
        case world::kBlue:
          add(seen.line, seen.blue, x, y);
          break;
        case world::kBlack:
          ++seen.black;
          break;
        default:
          break;
      }
    }
  }
  const int whole = seen.green + seen.red;
  seen.agent = {(body.x + seen.eye.x) / whole, (body.y + seen.eye.y) / whole};
  seen.eye = {seen.eye.x / seen.red, seen.eye.y / seen.red};
  seen.gold = {seen.gold.x / seen.yellow, seen.gold.y / seen.yellow};
  seen.line = {seen.line.x / seen.blue, seen.line.y / seen.blue};
  return seen;
}

// Signed difference of angles in (-pi, pi].
inline double Signed(double angle) { return std::remainder(angle, 2 * world::kPi); }

}  // namespace medley::tasks

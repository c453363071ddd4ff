#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "tasks/world/render.h"

// The picture of a scene as it is written down: every pixel asks every thing whether it lies on it. The
// renderer's oracle, and a baseline of its benchmark. It shares the scene's types with the renderer, no code.
namespace medley::world::per_pixel {

inline std::int64_t Whole(double value) { return static_cast<std::int64_t>(std::trunc(value)); }

// The integer disc: the k-th row outwards from the centre line is 2 half[k] wide.
class Disc {
 public:
  Disc(double x, double y, double radius)
      : x_(Whole(x)), y_(Whole(y)), half_(static_cast<std::size_t>(Whole(radius) + 1)) {
    const auto last = static_cast<std::int64_t>(half_.size()) - 1;
    const auto nearest = [last](std::int64_t j) {
      return std::llround(std::sqrt(static_cast<double>(last * last - j * j)));
    };
    for (std::int64_t k = 1; k <= last; ++k) {
      std::int64_t& half = half_[static_cast<std::size_t>(k)];
      half = nearest(k);
      for (std::int64_t j = 1; j <= last; ++j) {
        if (nearest(j) >= k && j > half) half = j;
      }
    }
  }
  bool Has(std::int64_t i, std::int64_t j) const {
    const std::int64_t k = i >= x_ ? i - x_ + 1 : x_ - i;
    if (k >= static_cast<std::int64_t>(half_.size())) return false;
    const std::int64_t half = half_[static_cast<std::size_t>(k)];
    return j >= y_ - half && j < y_ + half;
  }

 private:
  std::int64_t x_, y_;
  std::vector<std::int64_t> half_;
};

struct Rectangle {
  std::int64_t x, y, rows, columns;
  bool Has(std::int64_t i, std::int64_t j) const {
    return i >= x && i < x + rows && j >= y && j < y + columns;
  }
};

// The pixels whose centre is within [0, length) along the angle and [low, high) across it, from (x, y).
struct Bar {
  double x, y, cos, sin, length, low, high;
  bool Has(std::int64_t i, std::int64_t j) const {
    const double dx = static_cast<double>(i) + 0.5 - x;
    const double dy = static_cast<double>(j) + 0.5 - y;
    const double along = dx * cos + dy * sin;
    const double across = -dx * sin + dy * cos;
    return along >= 0 && along < length && across >= low && across < high;
  }
};

using Rgb = std::array<std::uint8_t, 3>;

class Picture {
 public:
  Picture(const Scene& scene, int size) {
    const auto& [state, options] = scene;
    double scale = size;
    if (options.zoom) {
      const double factor = options.zoom->factor;
      scale = std::trunc(factor * size);
      const auto start = [&](double centre) {
        const double middle = std::min(std::trunc(centre * factor * size), std::trunc(scale - size / 2.0));
        return std::max<std::int64_t>(Whole(middle - size / 2.0), 0);
      };
      x0_ = start(options.zoom->centre.x);
      y0_ = start(options.zoom->centre.y);
    }
    if (options.agent) AddAgent(state, scale);
    if (options.walls) {
      for (const Wall& wall : state.walls) AddWall(wall, scale);
    }
    if (options.gold) {
      for (const Point& gold : state.gold)
        gold_.emplace_back(scale * gold.x, scale * gold.y, scale * state.gold_radius);
    }
    if (options.line) AddLine(state, *options.line, scale);
  }

  Rgb At(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row + x0_, j = column + y0_;
    const auto has = [i, j](const auto& thing) { return thing.Has(i, j); };
    const auto any = [has](const auto& things) { return std::any_of(things.begin(), things.end(), has); };
    if (any(line_)) return {0, 0, 213};
    if (any(gold_)) return {255, 200, 0};
    if (any(walls_) || any(turned_walls_)) return {0, 0, 0};
    if (any(eye_)) return {255, 0, 0};
    if (any(body_)) return {0, 255, 0};
    return {255, 255, 255};
  }

 private:
  void AddAgent(const State& state, double scale) {
    const double r = state.agent_radius;
    const auto& [x, y] = state.agent;
    body_.emplace_back(scale * x, scale * y, scale * r);
    const double out = 0.6 * r;
    eye_.emplace_back(scale * (x + out * std::cos(state.direction)),
                      scale * (y + out * std::sin(state.direction)), scale * (0.4 * r));
  }

  void AddWall(const Wall& wall, double scale) {
    const auto px = [scale](double units) { return Whole(scale * units); };
    if (wall.angle == 0) {
      walls_.push_back({px(wall.x), px(wall.y), px(wall.w), px(wall.h)});
    } else if (wall.angle == kPi / 2) {
      walls_.push_back({px(wall.x - wall.h), px(wall.y), px(wall.h), px(wall.w)});
    } else {
      turned_walls_.push_back({scale * wall.x, scale * wall.y, std::cos(wall.angle), std::sin(wall.angle),
                               scale * wall.w, 0, scale * wall.h});
    }
  }

  void AddLine(const State& state, const Line& line, double scale) {
    const double c = std::cos(line.angle), s = std::sin(line.angle);
    const double diameter = 2 * state.agent_radius * scale;
    const double half = std::trunc(diameter * (26.0 / 122)) / 2;
    line_.push_back({scale * (state.agent.x + state.agent_radius * c),
                     scale * (state.agent.y + state.agent_radius * s), c, s,
                     std::trunc(diameter * line.extension), -half, half});
  }

  std::int64_t x0_ = 0, y0_ = 0;
  std::vector<Disc> body_, eye_, gold_;
  std::vector<Rectangle> walls_;
  std::vector<Bar> turned_walls_, line_;
};

// Draws into [3, size, size] bytes.
inline void Render(const Scene& scene, int size, std::span<std::uint8_t> pixels) {
  const Picture picture(scene, size);
  const auto side = static_cast<std::size_t>(size);
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      const Rgb rgb = picture.At(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      for (std::size_t channel = 0; channel < 3; ++channel)
        pixels[(channel * side + i) * side + j] = rgb[channel];
    }
  }
}

}  // namespace medley::world::per_pixel

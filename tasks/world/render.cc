#include "tasks/world/render.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <medley/base/error.h>

#include "tasks/world/canvas.h"
#include "tasks/world/solver.h"

namespace medley::world {
namespace {

constexpr double kEyeOffset = 0.6;  // of the agent's radius
constexpr double kEyeRadius = 0.4;
constexpr double kLineThickness = 26.0 / 122;  // of the agent's diameter

std::int64_t Truncate(double value) { return static_cast<std::int64_t>(value); }

// Draws a state at `scale` pixels per unit.
class Painter {
 public:
  Painter(Canvas& canvas, std::int64_t scale) : canvas_(canvas), scale_(static_cast<double>(scale)) {}

  void Agent(const State& state) {
    const double r = state.agent_radius;
    Disc(state.agent, r, kBodyColor);
    const double out = kEyeOffset * r;
    const Point eye{state.agent.x + out * std::cos(state.direction),
                    state.agent.y + out * std::sin(state.direction)};
    Disc(eye, kEyeRadius * r, kEyeColor);
  }

  void Wall(const world::Wall& wall) {
    if (wall.angle == 0) {
      canvas_.Rectangle(Px(wall.x), Px(wall.y), Px(wall.w), Px(wall.h), kWallColor);
    } else if (wall.angle == kPi / 2) {
      canvas_.Rectangle(Px(wall.x - wall.h), Px(wall.y), Px(wall.h), Px(wall.w), kWallColor);
    } else {
      const Point axis = UnitVector(wall.angle);
      canvas_.OrientedBar(
          {scale_ * wall.x, scale_ * wall.y, axis.x, axis.y, scale_ * wall.w, 0, scale_ * wall.h},
          kWallColor);
    }
  }

  void Disc(Point centre, double radius, Color color) {
    canvas_.Disc(Px(centre.x), Px(centre.y), Px(radius), color);
  }

  void Line(const State& state, const world::Line& line) {
    const double c = std::cos(line.angle);
    const double s = std::sin(line.angle);
    const double diameter = 2 * state.agent_radius * scale_;
    const auto length = static_cast<double>(Truncate(diameter * line.extension));
    const auto thickness = static_cast<double>(Truncate(diameter * kLineThickness));
    const double x = scale_ * (state.agent.x + state.agent_radius * c);
    const double y = scale_ * (state.agent.y + state.agent_radius * s);
    if (length > 0) canvas_.OrientedBar({x, y, c, s, length, -thickness / 2, thickness / 2}, kLineColor);
  }

 private:
  std::int64_t Px(double units) const { return Truncate(scale_ * units); }

  Canvas& canvas_;
  double scale_;
};

std::int64_t WindowStart(double centre, double factor, std::int64_t size, std::int64_t scale) {
  const double half = static_cast<double>(size) / 2;
  const std::int64_t middle = std::min(Truncate(centre * factor * static_cast<double>(size)),
                                       Truncate(static_cast<double>(scale) - half));
  return std::max<std::int64_t>(Truncate(static_cast<double>(middle) - half), 0);
}

void Draw(const State& state, const RenderOptions& options, Canvas& canvas, std::int64_t scale) {
  Painter painter(canvas, scale);
  canvas.Clear();
  if (options.agent) painter.Agent(state);
  if (options.walls) {
    for (const Wall& wall : state.walls) painter.Wall(wall);
  }
  if (options.gold) {
    for (const Point& gold : state.gold) painter.Disc(gold, state.gold_radius, kGoldColor);
  }
  if (options.line) painter.Line(state, *options.line);
}

}  // namespace

Line LineToGold(const State& state) {
  const double gap = GoldDistance(state) - (state.agent_radius + state.gold_radius);
  return {Bearing(state), std::max(gap, 0.0) / (2 * state.agent_radius)};
}

void Render(const Scene& scene, int size, std::span<std::uint8_t> pixels) {
  Render(std::span<const Scene>(&scene, 1), size, pixels);
}

void Render(std::span<const Scene> scenes, int size, std::span<std::uint8_t> pixels) {
  if (size < kSmallestImage) {
    throw InputError("an image of " + std::to_string(size) +
                     " pixels cannot show the game: its gold has no pixel below " +
                     std::to_string(kSmallestImage) + "; choose a larger image size in the model config");
  }
  const std::size_t bytes = 3 * static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  if (pixels.size() != scenes.size() * bytes)
    throw Error("Render: the buffer does not have [scenes, 3, size, size] bytes");
  for (std::size_t i = 0; i < scenes.size(); ++i) {
    const auto& [state, options] = scenes[i];
    std::int64_t scale = size, x0 = 0, y0 = 0;
    if (options.zoom) {
      const auto& [factor, centre] = *options.zoom;
      scale = Truncate(factor * size);
      x0 = WindowStart(centre.x, factor, size, scale);
      y0 = WindowStart(centre.y, factor, size, scale);
    }
    Canvas canvas(pixels.data() + i * bytes, size, x0, y0);
    Draw(state, options, canvas, scale);
  }
}

}  // namespace medley::world

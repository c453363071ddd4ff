#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tasks/world/state.h"

namespace medley::world {

inline constexpr int kSmallestImage = 128;  // below, the gold has no pixel

// A blue bar that starts at the agent's rim and points outwards.
struct Line {
  double angle = 0;
  double extension = 1;  // length in agent diameters
};

// The line from rim to rim.
Line LineToGold(const State& state);

// The scene is drawn `factor` times as large, every rounding at that size, and a window about `centre` is
// shown. The window never leaves the arena.
struct Zoom {
  double factor = 1;  // >= 1
  Point centre;
};

struct RenderOptions {
  bool agent = true;
  bool gold = true;
  bool walls = true;
  std::optional<Line> line = {};
  std::optional<Zoom> zoom = {};
};

struct Scene {
  State state;
  RenderOptions options = {};
};

// Draws into [3, size, size] bytes, red, green, blue; row = x, column = y. size >= kSmallestImage. No
// anti-aliasing: the pixels are those of the game that this world is taken from (its integer discs and
// rectangles).
void Render(const Scene& scene, int size, std::span<std::uint8_t> pixels);

// Draws into [scenes, 3, size, size] bytes, each scene as above. Allocates nothing, and keeps nothing: any
// number of threads may draw at once, also parts of one batch.
void Render(std::span<const Scene> scenes, int size, std::span<std::uint8_t> pixels);

}  // namespace medley::world

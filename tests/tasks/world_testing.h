#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/random.h>

#include "tasks/world/random_states.h"
#include "tasks/world/render.h"

namespace medley::world {

inline RowRandom RandomOf(std::uint64_t seed) { return RowRandom(CombineSeeds(2024, seed)); }

inline State BareStateOf(std::uint64_t seed) {
  RowRandom random = RandomOf(seed);
  return BareState(random);
}

inline State FullStateOf(std::uint64_t seed) {
  RowRandom random = RandomOf(seed);
  return FullState(random);
}

// A count whose rate should be `rate`, within `sigmas` binomial deviations and an allowance for the rounding
// of the published figure.
inline void ExpectRate(std::int64_t hits, std::int64_t trials, double rate, double allowance = 0,
                       double sigmas = 4) {
  const double n = static_cast<double>(trials);
  const double deviation = std::sqrt(rate * (1 - rate) / n);
  EXPECT_NEAR(static_cast<double>(hits) / n, rate, sigmas * deviation + allowance);
}

inline std::vector<std::uint8_t> Draw(const Scene& scene, int size) {
  std::vector<std::uint8_t> pixels(3 * static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  Render(scene, size, pixels);
  return pixels;
}

inline std::uint32_t PixelOf(const std::vector<std::uint8_t>& pixels, int size, int row, int column) {
  const auto plane = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  const auto i =
      static_cast<std::size_t>(row) * static_cast<std::size_t>(size) + static_cast<std::size_t>(column);
  return (std::uint32_t{pixels[i]} << 16) | (std::uint32_t{pixels[plane + i]} << 8) | pixels[2 * plane + i];
}

// The zoom as it is defined: draw everything large, then cut a window out.
inline std::vector<std::uint8_t> CropOfFull(const Scene& scene, int size) {
  const double factor = scene.options.zoom->factor;
  const Point centre = scene.options.zoom->centre;
  const int large = static_cast<int>(factor * size);
  Scene whole = scene;
  whole.options.zoom.reset();
  const auto pixels = Draw(whole, large);
  const auto start = [&](double c) {
    const int middle = std::min(static_cast<int>(c * factor * size), static_cast<int>(large - size / 2.0));
    return std::max(static_cast<int>(middle - size / 2.0), 0);
  };
  const int x0 = start(centre.x), y0 = start(centre.y);
  std::vector<std::uint8_t> window;
  for (int plane = 0; plane < 3; ++plane) {
    for (int i = 0; i < size; ++i) {
      const auto row = pixels.begin() + (static_cast<std::ptrdiff_t>(plane) * large + x0 + i) * large + y0;
      window.insert(window.end(), row, row + size);
    }
  }
  return window;
}

inline constexpr std::uint32_t kWhite = 0xffffff, kBlack = 0, kGreen = 0x00ff00, kRed = 0xff0000,
                               kYellow = 0xffc800, kBlue = 0x0000d5;

inline int CountPixels(const std::vector<std::uint8_t>& pixels, int size, std::uint32_t color) {
  int count = 0;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) count += PixelOf(pixels, size, i, j) == color;
  }
  return count;
}

}  // namespace medley::world

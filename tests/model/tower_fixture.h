#pragma once

#include <medley/model/agent/agent.h>

#include "tests/model/agent_fixture.h"

namespace medley::test {

inline constexpr std::int64_t kPictureToken = 134;  // of the letters' tokens one that no text here has

// A small agent's config with a tower whose patches leave a pixel at two sides.
inline AgentConfig TowerAgentConfig(TowerKind kind = TowerKind::kClip, bool pre_norm = true) {
  AgentConfig config = SmallConfig(pre_norm);
  const bool is_clip = kind == TowerKind::kClip;
  config.image.size = 9;
  config.tower = {.kind = kind,
                  .size = 9,
                  .patch = 4,
                  .width = 12,
                  .layers = 2,
                  .heads = 2,
                  .ffn = 20,
                  .epsilon = is_clip ? 1e-5 : 1e-6,
                  .activation = is_clip ? Activation::kQuickGelu : Activation::kTanhGelu,
                  .mean = {0.4, 0.5, 0.6},
                  .deviation = {0.2, 0.3, 0.25},
                  .rule = {.resizes = true},
                  .projector = Activation::kGelu,
                  .image_token = kPictureToken};
  return config;
}

// Pictures of 9 pixels; the rows of `among` have their tokens among the words, the others none.
inline Example TowerExample(std::int64_t rows, std::int64_t images, std::int64_t width, std::uint64_t seed,
                            const std::vector<std::int64_t>& among, at::ScalarType dtype = at::kDouble) {
  Example example = RandomExample(rows, images, width, seed, dtype);
  at::Generator generator = at::detail::createCPUGenerator(seed + 1);
  for (at::Tensor& image : example.images) image = at::rand({rows, 3, 9, 9}, generator, at::dtype(dtype));
  for (const std::int64_t row : among) {
    for (std::int64_t i = 0; i < images; ++i)
      example.tokens[row][(2 * i + row) % (width / 2)] = kPictureToken;
  }
  return example;
}

}  // namespace medley::test

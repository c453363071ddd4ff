#pragma once

#include <cstdint>
#include <set>

#include <medley/model/model.h>

namespace medley {

// A ForwardShape in the agent's words.
struct AgentShape {
  std::int64_t rows = 1;
  std::int64_t images = 0;
  std::int64_t shared_images = 0;  // the first so many, whose keys and values are shared beside the layers
  std::int64_t text_width = 0;
  std::int64_t supervised = 0;  // items of "logits" or "losses"
  bool logits = true, losses = false;
  bool decodes_image = false;  // the output "image"
  bool decodes_drawing = false;
  bool with_graph = true;
  bool on_gpu = false;
  std::int64_t cached = 0;  // positions of text whose keys and values, with those of the images, are kept
  std::set<std::int64_t> carried{};  // images with a gradient, counted from 0

  static AgentShape Of(const ForwardShape& forward) {
    return {.rows = forward.rows,
            .images = forward.Size("images"),
            .shared_images = forward.shared,
            .text_width = forward.Size("text_width"),
            .supervised = forward.Size("supervised"),
            .logits = forward.outputs.count("logits") > 0 || forward.outputs.count("losses") == 0,
            .losses = forward.outputs.count("losses") > 0,
            .decodes_image = forward.outputs.count("image") > 0,
            .decodes_drawing = forward.outputs.count("drawing") > 0,
            .with_graph = forward.with_graph,
            .on_gpu = forward.on_gpu,
            .cached = forward.cached,
            .carried = forward.carried};
  }
  bool draws() const { return decodes_image || decodes_drawing; }
};

}  // namespace medley

#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/model/agent/agent_config.h>
#include <medley/model/model.h>

namespace medley {

// The inputs of one forward of the agent, checked:
//   images           [rows, 3, size, size] in [0, 1], repeated: oldest first, the current one last; 0 to 4
//   tokens           [rows, width] int64, padded at the end
//   lengths          [rows] int64, 1..width
//   supervised       [items] int64, row * width + position (>= 1) of the tokens that are scored;
//                    needed where "logits" or "losses" are wanted
//   smoothing        [items] floats in [0, 1]: how much of each loss's target is spread evenly over all
//   words;
//                    optional, nothing without
//   context_lengths  [rows] int64, 1..lengths: as much of the text as the picture sees; optional,
//                    all of it without
//   drawn_alone      [rows] bool: whose "image" is the "drawing", without what was seen; optional, none
//                    without
// On the CPU values are checked too; elsewhere only shapes are, because looking at values would wait for the
// device.
struct AgentInputs {
  std::vector<const ModelInput*> images;
  at::Tensor tokens, lengths, context_lengths;
  at::Tensor drawn_alone;  // undefined: none
  at::Tensor targets;      // [items], where logits or losses are wanted
  at::Tensor smoothing;
  at::Tensor selected;  // [items] flat positions (row * width + position) whose hidden states give the logits
  bool wants_logits = false, wants_losses = false, wants_image = false, wants_drawing = false;

  bool scores() const { return wants_logits || wants_losses; }
  bool draws() const { return wants_image || wants_drawing; }

  // The size of the tokens. On the CPU columns that nothing wanted can depend on are cut off.
  std::int64_t rows() const { return tokens.size(0); }
  std::int64_t width() const { return tokens.size(1); }

  static constexpr std::size_t kMaxImages = 4;
  // A row's text has a token for each of its pictures, or none: else an InputError with both numbers. Of
  // tensors on the host; Read asks it of those that are there.
  static void RequirePictures(const at::Tensor& tokens, const at::Tensor& lengths, std::int64_t token,
                              std::int64_t pictures);
  // Throws an Error that names the input. `vocabulary` is the size of the embedding table.
  static AgentInputs Read(const ModelInputs& inputs, const WantedOutputs& wanted, const AgentConfig& config,
                          std::int64_t vocabulary);
};

}  // namespace medley

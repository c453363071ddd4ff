#pragma once

#include <medley/task/task.h>

#include "tasks/drivers/tables.h"

namespace medley::tasks {

inline constexpr double kImageWeight = 10;        // pictures: a mean squared error, small beside a cross-entropy
inline constexpr double kControlTextWeight = 0.1;

constexpr TermSpec ControlTextTerm() {
  return {.name = "control_text", .weight = kControlTextWeight, .max_items = kControlWidth - 1};
}
constexpr TermSpec ControlImageTerm() { return {.name = "control_image", .weight = kImageWeight}; }

constexpr PassSpec ControlPassSpec(bool decodes_image) {
  return {.name = "control", .text_width = kControlWidth, .images = {"image"}, .decodes_image = decodes_image};
}

// The pass that keeps language and drawing alive: the picture in column "image" beside a line of the control text, all
// of which is learned; where it decodes, the picture itself comes back.
class ControlPass {
 public:
  explicit ControlPass(const TaskContext& context);

  // Adds the columns "control.*" and the items of the two terms.
  void Sample(Batch& batch, bool decodes_image) const;
  ModelInputs Inputs(PassContext& context) const;
  Sums Run(PassContext& context, bool decodes_image) const;

 private:
  const Tokenizer& tokenizer_;
  const std::vector<std::string>& lines_;
  std::int64_t pad_;
  std::int64_t eos_;
};

}  // namespace medley::tasks

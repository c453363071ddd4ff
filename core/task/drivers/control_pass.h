#pragma once

#include <medley/task/drivers/mixed_pass.h>
#include <medley/task/drivers/streams.h>
#include <medley/task/drivers/text_list.h>
#include <medley/task/task.h>

namespace medley {

inline constexpr double kImageWeight = 1;  // of a picture's loss
inline constexpr double kControlTextWeight = 0.05;

constexpr TermSpec ControlTextTerm(std::string_view name = "control_text") {
  return {.name = name, .weight = kControlTextWeight, .max_items = kControlWidth - 1};
}
constexpr TermSpec ControlImageTerm(std::string_view name = "control_image") {
  return {.name = name, .weight = kImageWeight};
}

constexpr PassSpec ControlPassSpec(bool decodes_image) {
  return {
      .name = "control", .text_width = kControlWidth, .images = {"image"}, .decodes_image = decodes_image};
}

// What a task with several control passes calls them, and what each looks at.
struct ControlNames {
  std::string name = "control";  // columns are NAME.*, terms NAME_text and NAME_image
  NameList images = {"image"};   // the last is the current one, which comes back
  std::uint64_t stream = kControlTextStream;
};

// The pass that keeps language and drawing alive: a picture beside a line of the control text, all of which
// is learned; where it decodes, the picture itself comes back. It is drawn, never copied: the pass asks for
// the model's "drawing".
class ControlPass {
 public:
  explicit ControlPass(const TaskContext& context, ControlNames names = {});

  // Adds the columns and the items of the two terms. `mine`: the rows that make this pass, where others make
  // another one in the same forward.
  void Sample(Batch& batch, bool decodes_image, const std::vector<bool>* mine = nullptr) const;
  ModelInputs Inputs(PassContext& context) const;
  Sums Run(PassContext& context, bool decodes_image) const;
  // The two halves of Run, for a task that hands the picture on.
  ModelOutputs Forward(PassContext& context, bool decodes_image) const;
  Sums Losses(PassContext& context, const ModelOutputs& outputs) const;
  // The text for a forward that other rows share.
  TextPart Part(const Batch& batch) const;

 private:
  std::string Column(std::string_view what) const { return names_.name + "." + std::string(what); }

  ControlNames names_;
  at::Tensor lines_;                   // [lines, kControlWidth] int64, on the host
  std::vector<std::int64_t> lengths_;  // of the lines
};

}  // namespace medley

#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/control_pass.h>
#include <medley/task/drivers/judge_pictures.h>
#include <medley/task/drivers/picture_bytes.h>
#include <medley/task/drivers/prompts.h>
#include <medley/task/drivers/row.h>
#include <medley/task/drivers/text_list.h>
#include <medley/task/task.h>
#include <medley/task/text_rows.h>

namespace medley {

struct PictureSetting {
  bool control = false;  // a control pass comes first
  // The share of the loss that the pixels have which should change: an object is a few of thousands.
  double region_share = 0.5;
  OptionList options{};  // beside "region_share"
};

// Variants, where there is a control pass: "fused", one forward in which row r makes pass r mod 2; "carry",
// in which the second pass also sees what the first one drew, and each row says which of task and control
// comes first. Control's rows are drawn alone in both.
constexpr TaskSpec PictureSpec(std::string_view name, std::string_view summary, const TextList& prompts,
                               const PictureSetting& setting = {}) {
  TaskSpec spec{
      .name = name,
      .summary = summary,
      .constants = {prompts.Spec()},
      .options = {{.name = "region_share",
                   .value = setting.region_share,
                   .low = 0,
                   .high = 0.99,
                   .summary = "share of the picture's loss that the pixels which should change have"}},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "region_error", .higher_is_better = false}};
  for (const OptionSpec& option : setting.options) spec.options.Add(option);
  PassSpec pass{.name = "task", .text_width = prompts.Width(), .images = {"image"}, .decodes_image = true};
  TermSpec image{.name = "image", .weight = kImageWeight};
  if (!setting.control) {
    spec.passes = {pass}, spec.terms = {image};
    spec.inputs = {"images", "tokens", "lengths"}, spec.outputs = {"image"};
    return spec;
  }
  spec.passes = {ControlPassSpec(/*decodes_image=*/true), pass};
  spec.terms = {ControlImageTerm(), ControlTextTerm(), image};
  spec.inputs = {"images", "tokens", "lengths", "supervised", "drawn_alone"};
  spec.outputs = {"losses", "image", "drawing"};
  PassSpec mixed = pass;
  mixed.name = "fused", mixed.text_width = std::max(prompts.Width(), kControlWidth);
  PassSpec first = mixed, second = mixed;
  first.name = "first", first.carries = {"c1"};
  second.name = "second", second.images = {"c1", "image"};
  spec.variants = {{.name = "fused",
                    .passes = {mixed},
                    .terms = spec.terms,
                    .summary = "one forward: every other row makes the control pass"},
                   {.name = "carry",
                    .passes = {first, second},
                    .terms = spec.terms,
                    .summary = "the second pass also sees what the first one drew"}};
  return spec;
}

// A task that is asked for in words and answered by a picture: pass "task" reads a prompt and the input and
// draws the target. What is left to a task is one row. Every variant is scored by the task asked alone, of
// the input alone: see PictureExam.
class PictureTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  at::Tensor Constant(std::string_view name) const final;
  std::vector<std::string> ShownTexts() const { return TextsOf({&list_, 1}); }

 protected:
  // `spec`: the class's own, as PictureSpec makes it of `prompts`; both outlive the task.
  PictureTask(const TaskContext& context, const TaskSpec& spec, const TextList& prompts);

  // A prompt of the list; any of them where it is not said.
  using Prompt = std::optional<std::int64_t>;

 private:
  // Draws both pictures of a row and says which text asks for it. A function of what `row` holds; called on
  // data threads.
  virtual Prompt Draw(Row& row, PictureBytes input, PictureBytes target) const = 0;
  // The pixels that have region_share of the loss, [rows, 1, size, size] bool; floats, [rows, 3, size, size].
  // Control's picture is its own target.
  virtual at::Tensor Region(const at::Tensor& target, const at::Tensor& input) const;
  virtual void Refine(PictureExam&) const {}

  // The error of each row, [rows]; targets and input as in PictureErrors.
  at::Tensor Errors(const at::Tensor& picture, const at::Tensor& target, const at::Tensor& input) const;

  // The variants.
  static constexpr std::int64_t kControl = 0, kTask = 1;  // kinds of rows
  static void AddKinds(Batch& batch, const std::string& pass, at::Tensor kinds);
  void SampleOrder(Batch& batch) const;
  Sums RunMixed(const std::string& pass, PassContext& context) const;

  std::string variant_;
  std::int64_t size_, pad_;
  std::int64_t mixed_width_ = 0;
  double region_share_;
  std::optional<ControlPass> control_;
  TextList list_;
  Prompts prompts_;
};

}  // namespace medley

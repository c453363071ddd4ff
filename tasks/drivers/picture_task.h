#pragma once

#include <optional>
#include <string_view>

#include <medley/task/task.h>
#include <medley/task/text_rows.h>

#include "tasks/drivers/control_pass.h"
#include "tasks/drivers/tables.h"
#include "tasks/world/render.h"

namespace medley::tasks {

// A row of a picture task: what the model sees and what it shall draw.
struct PictureExample {
  world::Scene input;
  world::Scene target;
  std::optional<std::int64_t> prompt;  // which text asks for it; drawn where left open
};

// Variants: "fused", one forward in which row r makes pass r mod 2; "carry", in which the second pass also
// sees what the first one drew, and each row says which of task and control comes first.
constexpr TaskSpec PictureSpec(std::string_view name, std::string_view summary, const Table& prompts) {
  const SpecList<TermSpec, 8> terms{
      ControlImageTerm(), ControlTextTerm(), {.name = "image", .weight = kImageWeight}};
  return {
      .name = name,
      .summary = summary,
      .passes = {ControlPassSpec(/*decodes_image=*/true),
                 {.name = "task", .text_width = kPromptWidth, .images = {"image"}, .decodes_image = true}},
      .terms = terms,
      .variants = {{.name = "fused",
                    .passes = {{.name = "fused",
                                .text_width = kMixedWidth,
                                .images = {"image"},
                                .decodes_image = true}},
                    .terms = terms},
                   {.name = "carry",
                    .passes = {{.name = "first",
                                .text_width = kMixedWidth,
                                .images = {"image"},
                                .decodes_image = true,
                                .carries = {"c1"}},
                               {.name = "second",
                                .text_width = kMixedWidth,
                                .images = {"c1", "image"},
                                .decodes_image = true}},
                    .terms = terms}},
      .constants = {prompts.Spec()},
      .options = {{.name = "region_share",
                   .value = 0.5,
                   .low = 0,
                   .high = 0.99,
                   .summary = "share of the picture's loss that the pixels which should change have"},
                  {.name = "objects",
                   .value = 0,
                   .low = 0,
                   .high = 1,
                   .summary = "1: agent and gold are among these pixels where they stay, too"}},
      .inputs = {"images", "tokens", "lengths", "supervised"},
      .outputs = {"logits", "targets", "image"},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "region_error", .higher_is_better = false}};
}

// A task that is asked for in words and answered by a picture: pass "task" reads a prompt and the input and
// draws the target; pass "control" keeps text and reconstruction alive on the same input. What is left to a
// task is one row. Every variant is scored by the task asked alone, of the input alone.
class PictureTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  at::Tensor Constant(std::string_view name) const final;

 protected:
  // What JudgePictures must know of all rows.
  struct Judging {
    bool judge_what_stays = false;
    double zoom = 1;
  };
  // `prompts` is the constant of the spec.
  PictureTask(const TaskContext& context, const Table& prompts, const Judging& judging);
  PictureTask(const TaskContext& context, const Table& prompts) : PictureTask(context, prompts, {}) {}

 private:
  // Row `row` of the stream, a function of the random numbers; called on data threads.
  virtual PictureExample Draw(std::int64_t row, RowRandom& random) const = 0;
  ModelInputs TaskInputs(PassContext& context) const;
  at::Tensor Prompts(PassContext& context) const;  // tokens, by row
  // Of each row, [rows]; targets and input as in PictureErrors.
  at::Tensor Errors(const at::Tensor& picture, const at::Tensor& target, const at::Tensor& input) const;

  // The variants.
  static constexpr std::int64_t kControl = 0, kTask = 1;  // kinds of rows
  static void AddKinds(Batch& batch, const std::string& pass, at::Tensor kinds);
  void SampleOrder(Batch& batch) const;
  Sums RunMixed(const std::string& pass, PassContext& context) const;

  std::string variant_;
  int size_;
  double region_share_;
  bool with_objects_;
  Judging judging_;
  ControlPass control_;
  std::string prompts_name_;
  TextTable prompts_;
  std::int64_t pad_;
};

}  // namespace medley::tasks

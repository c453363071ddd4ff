#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/picture_bytes.h>
#include <medley/task/drivers/prompts.h>
#include <medley/task/drivers/row.h>
#include <medley/task/drivers/text_list.h>
#include <medley/task/task.h>

namespace medley {

// A pass, and the term of its name.
struct DrawPass {
  std::string_view name;
  // "image": the picture of the row; or an earlier pass, whose drawing is then carried on to this one.
  std::string_view looks_at = "image";
  double weight = 1;   // of its term
  int most_items = 1;  // the most items that Draw gives a row; 1: the row is the item
};

constexpr TaskSpec CarrySpec(std::string_view name, std::string_view summary, const TextList& prompts,
                             const SpecList<DrawPass, 8>& passes, const OptionList& options = {}) {
  TaskSpec spec{.name = name,
                .summary = summary,
                .constants = {prompts.Spec()},
                .options = options,
                .inputs = {"images", "tokens", "lengths"},
                .outputs = {"image", "drawing"},
                .special_tokens = {"<pad>", "<eos>"},
                .score = {.name = "picture_error", .higher_is_better = false}};
  for (const DrawPass& pass : passes) {
    PassSpec made{
        .name = pass.name, .text_width = prompts.Width(), .images = {pass.looks_at}, .decodes_image = true};
    for (const DrawPass& other : passes) {
      if (other.looks_at == pass.name && made.carries.empty()) made.carries = {pass.name};
    }
    spec.passes.Add(made);
    spec.terms.Add({.name = pass.name, .weight = pass.weight, .max_items = pass.most_items});
  }
  return spec;
}

// Passes that draw, each from the picture of the row or from what an earlier pass drew, as a prompt asks,
// which all passes of a row read. The last gives the model's "image", the others its "drawing". What is left
// to a task is one row, and mostly how a drawing is judged. The score is the error of what the last pass
// draws, beside the errors of a white picture and of the mean of the other rows' targets.
class CarryTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  at::Tensor Constant(std::string_view) const final { return prompts_.Constant(); }
  std::vector<std::string> ShownTexts() const { return TextsOf({&list_, 1}); }

 protected:
  // `spec`: the class's own, as CarrySpec makes it of `prompts`; it outlives the task.
  CarryTask(const TaskContext& context, const TaskSpec& spec, const TextList& prompts);

  // The error of each item of the pass, [items], or of each row, [rows]; `drawn` [rows, 3, size, size]
  // floats. Items are the ragged column "items": what Draw gave, and whose each is (RaggedColumn::item_row).
  // Here the mean squared error of each row: of the last pass against the column "target", of others against
  // "image".
  virtual at::Tensor Errors(std::string_view pass, const at::Tensor& drawn, PassContext& context) const;

 private:
  // Draws both pictures of a row and says its items, a number each; none where the row is the item. A
  // function of what `row` holds; called on data threads. `row.longest()` asks for the most items.
  virtual std::vector<std::int64_t> Draw(Row& row, PictureBytes image, PictureBytes target) const = 0;

  // Runs the pass, and carries what it draws where another one looks at it.
  at::Tensor Drawn(const PassSpec& pass, PassContext& context) const;
  // What Errors must give: of each item, or of each row.
  at::Tensor CheckedErrors(std::string_view pass, const at::Tensor& drawn, PassContext& context) const;
  at::Tensor ErrorsOfRows(std::string_view pass, const at::Tensor& drawn, PassContext& context) const;
  bool IsLast(std::string_view pass) const;
  bool HasItems(std::string_view pass) const;

  const TaskSpec& spec_;
  std::int64_t size_;
  TextList list_;
  Prompts prompts_;
};

}  // namespace medley

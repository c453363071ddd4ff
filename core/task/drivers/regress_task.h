#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/row.h>
#include <medley/task/losses.h>
#include <medley/task/task.h>

namespace medley {

struct RegressSetting {
  NameList inputs{};                   // of the model
  std::string_view output = "values";  // of the model: [rows, targets]
  SpecList<SizeSpec, 4> sizes{};       // the most of each of the model's sizes that a row has
  OptionList options{};                // beside "loss"
};

constexpr TaskSpec RegressSpec(std::string_view name, std::string_view summary,
                               const RegressSetting& setting) {
  TaskSpec spec{.name = name,
                .summary = summary,
                .passes = {{.name = "look", .sizes = setting.sizes}},
                .terms = {{.name = "error"}},
                .options = {WordOption("loss", {"squared", "absolute", "huber"},
                                       "how far a number is from its target (task/losses.h, NumberError)")},
                .inputs = setting.inputs,
                .outputs = {setting.output},
                .score = {.name = "r2", .chance = 0, .high = 1, .chance_of_any_rows = true}};
  for (const OptionSpec& option : setting.options) spec.options.Add(option);
  return spec;
}

// One row: a tensor for each input of the spec, as ClassifyTask has them, and the numbers that are right, as
// many in every row as the model gives. A model learns best what is about as large as 1.
struct Regressed {
  std::vector<at::Tensor> inputs;
  std::vector<double> targets;
};

// Says numbers of tensors. What is left to a task is one row. A row is one item: the mean over its numbers of
// what the option "loss" says. The score is R2, the share of the targets' variance that is explained, of each
// number, and of several their mean: 1 where all is right, 0 where every row is given the mean of the rows'
// targets. A number that does not vary among the rows has none. Figures are the absolute errors.
class RegressTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;

 protected:
  // `spec`: the class's own, as RegressSpec makes it; it outlives the task.
  RegressTask(const TaskContext& context, const TaskSpec& spec);

 private:
  // The row, a function of what `row` holds; called on data threads. `row.longest()` asks for the most of
  // every size.
  virtual Regressed Draw(Row& row) const = 0;
  // The name of a number of a row, counted from 0, for people to read.
  virtual std::string NameOf(std::int64_t target) const { return std::to_string(target); }
  // What the sheet shows of some rows: see ClassifyTask.
  virtual at::Tensor Show(const Batch& rows) const;

  std::string Words(const at::Tensor& numbers) const;

  const TaskSpec& spec_;
  NumberError loss_;
};

}  // namespace medley

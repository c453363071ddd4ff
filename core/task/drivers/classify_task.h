#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/row.h>
#include <medley/task/task.h>

namespace medley {

struct ClassifySetting {
  NameList inputs{};                   // of the model
  int classes = 2;                     // of rows that it makes up; 0: of files alone, which name them
  std::string_view output = "logits";  // of the model: [rows, classes]
  SpecList<SizeSpec, 4> sizes{};       // the most of each of the model's sizes that a row has
  OptionList options{};                // beside "label_smoothing"
};

constexpr TaskSpec ClassifySpec(std::string_view name, std::string_view summary,
                                const ClassifySetting& setting) {
  TaskSpec spec{
      .name = name,
      .summary = summary,
      .passes = {{.name = "look", .sizes = setting.sizes}},
      .terms = {{.name = "class"}},
      .options = {{.name = "label_smoothing",
                   .value = 0,
                   .low = 0,
                   .high = 0.5,
                   .summary = "how much of the target is spread evenly over all classes"}},
      .inputs = setting.inputs,
      .outputs = {setting.output},
      .score = {.name = "accuracy", .low = 0, .high = 1, .chance_of_any_rows = setting.classes > 0}};
  if (setting.classes > 0) spec.score.chance = 1.0 / setting.classes;
  for (const OptionSpec& option : setting.options) spec.options.Add(option);
  return spec;
}

// One row: a tensor for each input of the spec, in its order, without the dimension of rows and of the same
// shape in every row; and its class.
struct Classified {
  std::vector<at::Tensor> inputs;
  std::int64_t label = 0;
};

// Says of tensors to which class they belong. What is left to a task is one row; the model is a plugin's,
// mostly. A tensor of bytes is a picture: the model sees floats in [0, 1]. The classes are those of the spec,
// or where the class lists Classes those of its files.
class ClassifyTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  AskForm Asks() const final;
  Asked Ask(const Questions& questions) const final;

 protected:
  // `spec`: the class's own, as ClassifySpec makes it; it outlives the task.
  ClassifyTask(const TaskContext& context, const TaskSpec& spec);

  // The name of a class, for people to read. Here as its files have it, else its number.
  virtual std::string NameOf(std::int64_t label) const;

 private:
  // The row, a function of what `row` holds; called on data threads. `row.longest()` asks for the most of
  // every size.
  virtual Classified Draw(Row& row) const = 0;
  // What people may show it (AskForm::files), and the inputs of one such file, as Draw has them; `row`: of a
  // file of many, -1 where none is named. Here nothing, and it cannot be asked.
  virtual std::string ShownFiles() const { return {}; }
  virtual std::vector<at::Tensor> Shown(const std::filesystem::path& file, std::int64_t row) const;
  // Further figures of an evaluated row, by their names, from 0 to 1: what of the answer is right, where a
  // class has parts.
  virtual std::map<std::string, double> Marks(std::int64_t /*said*/, std::int64_t /*right*/) const {
    return {};
  }
  // How often each class is a training item's, where items are a file's: chance is then one of those that
  // occur, and the most frequent one the answer that needs no learning. Here none.
  virtual std::vector<std::int64_t> TrainingCounts() const { return {}; }
  // What the sheet shows of some rows, on the CPU: bytes [rows, 3, height, width]; undefined: nothing. Here
  // the first input that can be drawn (task/drawings.h).
  virtual at::Tensor Show(const Batch& rows) const;

  const TaskSpec& spec_;
  std::vector<std::string> names_;  // none: the spec says how many
  std::int64_t classes_;
  double label_smoothing_;
};

}  // namespace medley

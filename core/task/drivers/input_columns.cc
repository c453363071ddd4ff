#include <medley/task/drivers/input_columns.h>

#include <ATen/ops/stack.h>

#include <string>
#include <utility>

#include <medley/base/error.h>
#include <medley/task/drawings.h>

namespace medley {

void InputColumns::Add(const Row& row, std::vector<at::Tensor> inputs) {
  if (inputs.size() != columns_.size())
    throw Error("row " + std::to_string(row.number) + " has " + std::to_string(inputs.size()) +
                " inputs, the spec " + std::to_string(columns_.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) columns_[i].push_back(std::move(inputs[i]));
}

void InputColumns::MoveTo(Batch& batch) {
  for (std::size_t i = 0; i < columns_.size(); ++i) batch.Add(std::string(names_[i]), at::stack(columns_[i]));
}

at::Tensor OutputOfColumns(const TaskSpec& spec, PassContext& context) {
  ModelInputs inputs;
  for (const std::string_view name : spec.inputs) {
    const at::Tensor& column = context.batch().Column(name);
    const bool is_picture = column.scalar_type() == at::kByte;
    inputs.push_back({std::string(name), is_picture ? context.Pixels(name) : column, ""});
  }
  const std::string_view output = spec.outputs[0];
  return context.Forward(inputs, {output}).find(output)->second;
}

at::Tensor ShownColumn(const NameList& names, const Batch& rows) {
  at::Tensor shown;
  for (std::size_t i = 0; i < names.size() && !shown.defined(); ++i)
    shown = DrawColumn(rows, rows.Column(names[i]));
  return shown;
}

}  // namespace medley

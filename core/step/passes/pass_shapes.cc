#include <medley/step/passes/pass_shapes.h>

namespace medley {

PassShapes::Shape PassShapes::Of(std::string_view name, const at::Tensor& tensor) {
  if (!tensor.defined()) return {std::string(name) + " undefined", {}, at::ScalarType::Undefined};
  return {std::string(name), c10::DimVector(tensor.sizes()), tensor.scalar_type()};
}

std::string PassShapes::Listed(const std::vector<Shape>& shapes) {
  std::string words;
  for (const Shape& shape : shapes)
    words += (words.empty() ? "" : ", ") +
             c10::str(shape.name, " ", at::IntArrayRef(shape.sizes), " ", c10::toString(shape.type));
  return words;
}

void PassShapes::HandedIn(const ModelInputs& inputs) {
  for (const ModelInput& input : inputs) inputs_.push_back(Of(input.name, input.tensor));
}

void PassShapes::Made(std::string_view output, const at::Tensor& tensor) {
  outputs_.push_back(Of(output, tensor));
}

std::string PassShapes::Words(const Batch& batch, const PassImages::Tensors& carries) const {
  std::vector<Shape> columns, carried;
  for (const auto& [name, column] : batch.columns()) columns.push_back(Of(name, column));
  for (const auto& [name, column] : batch.ragged())
    columns.push_back(Of(name + " of " + std::to_string(batch.size()) + " rows", column.values));
  for (const auto& [name, carry] : carries) carried.push_back(Of(name, carry));
  std::string words;
  const auto add = [&](const char* what, const std::vector<Shape>& shapes) {
    if (!shapes.empty()) words += std::string("\n  ") + what + ": " + Listed(shapes);
  };
  add("columns", columns);
  add("carries", carried);
  add("handed in", inputs_);
  add("outputs", outputs_);
  return words;
}

}  // namespace medley

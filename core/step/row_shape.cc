#include <medley/step/row_shape.h>

#include <ATen/core/Tensor.h>

namespace medley {

RowShape ShapeOfRow(const Batch& batch, std::int64_t row) {
  RowShape shape;
  for (const auto& [name, column] : batch.ragged()) {
    const auto at = static_cast<std::size_t>(row);
    shape.push_back(column.offsets[at + 1] - column.offsets[at]);
  }
  for (const auto& [term, items] : batch.items())
    shape.push_back(items.contiguous().const_data_ptr<std::int64_t>()[row]);
  return shape;
}

}  // namespace medley

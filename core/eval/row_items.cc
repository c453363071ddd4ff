#include <medley/eval/row_items.h>

#include <ATen/core/Tensor.h>

#include <algorithm>

#include <medley/base/file_digest.h>
#include <medley/data/item_stream.h>

namespace medley {
namespace {

void Append(std::string& bytes, const at::Tensor& values, std::int64_t begin, std::int64_t end) {
  const at::Tensor rows = values.narrow(0, begin, end - begin).contiguous();
  bytes.append(static_cast<const char*>(rows.const_data_ptr()), rows.nbytes());
}

}  // namespace

std::string HashOfRow(const Batch& batch, std::int64_t row) {
  std::string bytes;
  for (const auto* columns : {&batch.columns(), &batch.items()}) {
    for (const auto& [name, column] : *columns) Append(bytes += name, column, row, row + 1);
  }
  for (const auto& [name, column] : batch.ragged()) {
    const auto at = static_cast<std::size_t>(row);
    Append(bytes += name, column.values, column.offsets[at], column.offsets[at + 1]);
  }
  return HashText(bytes);
}

void ItemsOfRows::Add(const Batch& rows) {
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    const std::int64_t number = rows.rows().begin + row;
    if (stream_ != nullptr) {
      items_.push_back(stream_->ItemOf(rows.rows(), number));
    } else if (task_.info().rows_repeat) {
      items_.push_back(number);
    } else {
      items_.push_back(seen_.try_emplace(HashOfRow(rows, row), number).first->second);
    }
  }
}

std::int64_t RowsOnce(const LoadedTask& task, std::int64_t rows) {
  const ItemStream* stream = task.Items();
  if (stream == nullptr || stream->shows() == ItemStream::Shows::kPartOfItem) return rows;
  return std::min(rows, stream->size(Split::kHeldOut));
}

}  // namespace medley

#include <medley/memory/batch_bytes.h>

namespace medley {

std::int64_t BytesOf(const Batch& rows) {
  std::size_t bytes = 0;
  for (const auto& [name, column] : rows.columns()) bytes += column.nbytes();
  for (const auto& [name, items] : rows.items()) bytes += items.nbytes();
  for (const auto& [name, column] : rows.ragged()) bytes += column.values.nbytes() + column.item_row.nbytes();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace medley

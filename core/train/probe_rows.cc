#include <medley/train/probe_rows.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>

#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

constexpr std::int64_t kPiece = 16, kAlike = 32, kDifferent = 256;  // rows
constexpr std::size_t kMostKinds = 4;

// The items of a row, column by column.
std::vector<std::int64_t> ShapeOf(const Batch& batch, std::int64_t row) {
  std::vector<std::int64_t> shape;
  for (const auto& [name, column] : batch.ragged()) {
    const auto at = static_cast<std::size_t>(row);
    shape.push_back(column.offsets[at + 1] - column.offsets[at]);
  }
  for (const auto& [term, items] : batch.items())
    shape.push_back(items.contiguous().const_data_ptr<std::int64_t>()[row]);
  return shape;
}

}  // namespace

ProbeRows::ProbeRows(const LoadedTask& task, std::uint64_t task_seed) {
  const at::NoGradGuard no_grad;
  for (std::int64_t begin = 0; begin < (vary_ ? kDifferent : kAlike); begin += kPiece) {
    const RowRange range{.seed = task_seed, .begin = begin, .count = kPiece, .longest = true};
    const CpuMemory before = ReadCpuMemory();
    ResetCpuPeak();
    const Batch rows = task.Sample(range);
    const std::int64_t bytes = ReadCpuMemory().peak - before.now;
    bytes_per_row_ = std::max(bytes_per_row_, (bytes + kPiece - 1) / kPiece);
    Scan(rows);
  }
}

void ProbeRows::Scan(const Batch& rows) {
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    std::vector<std::int64_t> shape = ShapeOf(rows, row);
    const std::int64_t items = std::accumulate(shape.begin(), shape.end(), std::int64_t{0});
    vary_ = vary_ || (most_items_ >= 0 && items != most_items_);
    if (items < most_items_) continue;
    if (items > most_items_) {
      kinds_.clear();
      shapes_.clear();
      most_items_ = items;
    }
    const bool known = std::find(shapes_.begin(), shapes_.end(), shape) != shapes_.end();
    if (known || kinds_.size() == kMostKinds) continue;
    const MemoryOwnerScope owner(MemoryOwner::kData);
    kinds_.push_back(rows.Take({row}));
    shapes_.push_back(std::move(shape));
  }
}

Batch ProbeRows::Make(std::size_t kind, std::int64_t rows) const {
  const MemoryOwnerScope owner(MemoryOwner::kData);
  return kinds_.at(kind).Take(std::vector<std::int64_t>(static_cast<std::size_t>(rows), 0));
}

}  // namespace medley

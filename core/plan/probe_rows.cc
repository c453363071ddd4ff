#include <medley/plan/probe_rows.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

constexpr std::int64_t kPiece = 32, kSearched = 256;  // rows
constexpr std::size_t kMostKinds = 8;

using Shape = std::vector<std::int64_t>;  // the items of a row, column by column

Shape ShapeOf(const Batch& batch, std::int64_t row) {
  Shape shape;
  for (const auto& [name, column] : batch.ragged()) {
    const auto at = static_cast<std::size_t>(row);
    shape.push_back(column.offsets[at + 1] - column.offsets[at]);
  }
  for (const auto& [term, items] : batch.items())
    shape.push_back(items.contiguous().const_data_ptr<std::int64_t>()[row]);
  return shape;
}

// The first row of each shape; stops when there are too many to be kinds.
std::vector<std::int64_t> Kinds(const Batch& batch) {
  std::vector<Shape> shapes;
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < batch.size() && shapes.size() <= kMostKinds; ++row) {
    Shape shape = ShapeOf(batch, row);
    if (std::ranges::find(shapes, shape) != shapes.end()) continue;
    shapes.push_back(std::move(shape));
    rows.push_back(row);
  }
  return rows;
}

Batch Keep(const Batch& batch, const std::vector<std::int64_t>& rows) {
  const MemoryOwnerScope owner(MemoryOwner::kData);
  return batch.Take(rows);
}

}  // namespace

ProbeRows::ProbeRows(const LoadedTask& task, std::uint64_t task_seed) {
  const at::NoGradGuard no_grad;
  std::int64_t most = -1;
  for (std::int64_t begin = 0; begin < kSearched; begin += kPiece) {
    const Batch batch = Sample(task, task_seed, begin);
    const std::vector<std::int64_t> kinds = Kinds(batch);
    if (begin == 0 && kinds.size() <= kMostKinds) {
      rows_ = Keep(batch, kinds);
      return;
    }
    for (std::int64_t row = 0; row < batch.size(); ++row) {
      const Shape shape = ShapeOf(batch, row);
      const std::int64_t items = std::accumulate(shape.begin(), shape.end(), std::int64_t{0});
      if (items <= most) continue;
      most = items;
      rows_ = Keep(batch, {row});
    }
  }
}

// As the trainer's, because only its allocations have a peak.
Batch ProbeRows::Sample(const LoadedTask& task, std::uint64_t seed, std::int64_t begin) {
  const CpuMemory before = ReadCpuMemory();
  ResetCpuPeak();
  Batch batch = task.Sample({.seed = seed, .begin = begin, .count = kPiece, .longest = true});
  const std::int64_t bytes = ReadCpuMemory().peak - before.now;
  bytes_per_row_ = std::max(bytes_per_row_, (bytes + kPiece - 1) / kPiece);
  return batch;
}

Batch ProbeRows::Make(std::int64_t kind, std::int64_t rows, std::int64_t forwards) const {
  std::vector<std::int64_t> order;
  for (std::int64_t other = 0; other < kinds() && static_cast<std::int64_t>(order.size()) < rows - 1;
       ++other) {
    if (other != kind) order.push_back(other);
  }
  order.resize(static_cast<std::size_t>(rows), kind);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < forwards; ++i) all.insert(all.end(), order.begin(), order.end());
  return Keep(*rows_, all);
}

}  // namespace medley

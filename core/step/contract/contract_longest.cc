#include <medley/step/contract/contract_longest.h>

#include <ATen/core/Tensor.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/step/contract/contract_sample.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

constexpr std::int64_t kFirst = 8, kMost = 256;  // rows
constexpr std::int64_t kSlack = 1, kSlackPart = 16;

bool HoldsLengths(const ModelSpec& model, const std::string& column) {
  return std::any_of(model.sizes.begin(), model.sizes.end(), [&](const ModelSize& size) {
    const std::string name(size.lengths);
    return !name.empty() && (column == name || column.ends_with("." + name));
  });
}

void Widen(RowSizes& sizes, const std::string& name, std::int64_t size, std::int64_t row) {
  const auto [known, is_new] = sizes.try_emplace(name, RowSize{size, row});
  if (!is_new && known->second.most < size) known->second = {size, row};
}

void WidenByEach(RowSizes& sizes, const std::string& name, const at::Tensor& of_rows, std::int64_t first) {
  const at::Tensor values = of_rows.contiguous();
  const std::int64_t* value = values.const_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < values.numel(); ++row) Widen(sizes, name, value[row], first + row);
}

}  // namespace

RowSizes SizesOfRows(const ModelSpec& model, const Batch& rows) {
  RowSizes sizes;
  const std::int64_t first = rows.rows().begin;
  if (rows.size() == 0) return sizes;
  for (const auto& [name, column] : rows.columns()) {
    Widen(sizes, "bytes in the column '" + name + "'",
          static_cast<std::int64_t>(column.nbytes()) / rows.size(), first);
    if (HoldsLengths(model, name) && column.dim() == 1 && column.scalar_type() == at::kLong)
      WidenByEach(sizes, "in the column '" + name + "'", column, first);
  }
  for (const auto& [name, column] : rows.ragged()) {
    for (std::int64_t row = 0; row < rows.size(); ++row) {
      const auto at = static_cast<std::size_t>(row);
      Widen(sizes, "items in the ragged column '" + name + "'", column.offsets[at + 1] - column.offsets[at],
            first + row);
    }
  }
  for (const auto& [term, items] : rows.items())
    WidenByEach(sizes, "items of the term '" + term + "'", items, first);
  return sizes;
}

void Widen(RowSizes& sizes, const RowSizes& by) {
  for (const auto& [name, size] : by) Widen(sizes, name, size.most, size.row);
}

LongestRows::LongestRows(const LoadedTask& task, const ModelSpec& model, const RowRange& rows)
    : task_(&task), model_(&model), rows_(rows) {
  rows_.longest = true;
  const std::int64_t first = std::min(rows.count, kFirst);
  SampleUpTo(first);
  const MemoryOwnerScope owner(MemoryOwner::kData);
  for (std::int64_t i = 0; i < first && is_ignored_; ++i) {
    const Batch longest = SampleAlone(*task_, rows_.Part(i, 1));
    is_ignored_ = FirstDifference(longest, SampleAlone(*task_, rows.Part(i, 1))).empty();
  }
}

// One by one: a row may be large.
void LongestRows::SampleUpTo(std::int64_t count) {
  const MemoryOwnerScope owner(MemoryOwner::kData);
  for (; sampled_ < count; ++sampled_)
    Widen(most_, SizesOfRows(*model_, SampleAlone(*task_, rows_.Part(sampled_, 1))));
}

// A name that no longest row has counts as 0: the rows without an item may lack a ragged column.
std::string LongestRows::Exceeded(const RowSizes& drawn) const {
  for (const auto& [name, size] : drawn) {
    const auto known = most_.find(name);
    const std::int64_t most = known == most_.end() ? 0 : known->second.most;
    if (size.most <= most + std::max(kSlack, most / kSlackPart)) continue;
    return "Sample gave row " + std::to_string(size.row) + " " + std::to_string(size.most) + " " + name +
           ", but at most " + std::to_string(most) + " in " + std::to_string(sampled_) +
           " rows that were to be as long as can be";
  }
  return "";
}

void LongestRows::Check(const RowSizes& drawn) {
  std::string exceeded = Exceeded(drawn);
  if (!exceeded.empty() && !is_ignored_ && sampled_ < kMost) {
    SampleUpTo(kMost);
    exceeded = Exceeded(drawn);
  }
  if (exceeded.empty()) return;
  throw Error(
      "task '" + task_->info().name + "': " + exceeded +
      (is_ignored_ ? " (they were the same rows as without)" : "") +
      "; honour RowRange::longest in Sample (the longest text of every table, the most items): what a "
      "draw takes is planned from such rows");
}

}  // namespace medley

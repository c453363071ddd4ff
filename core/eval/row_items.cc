#include <medley/eval/row_items.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdio>
#include <unordered_set>

#include <medley/base/file_digest.h>
#include <medley/base/interrupt.h>
#include <medley/data/item_stream.h>
#include <medley/eval/eval_pass.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

void Append(std::string& bytes, const at::Tensor& values, std::int64_t begin, std::int64_t end) {
  const at::Tensor rows = values.narrow(0, begin, end - begin).contiguous();
  bytes.append(static_cast<const char*>(rows.const_data_ptr()), rows.nbytes());
}

constexpr std::int64_t kPiece = 16;  // no more memory than an evaluation takes

template <typename Fn>
void ForEachHash(const LoadedTask& task, const RowRange& rows, const Fn& fn) {
  for (const RowRange& piece : EvalPieces(rows, kPiece)) {
    HeedInterrupt();
    const Batch batch = SampleAlone(task, piece);
    for (std::int64_t row = 0; row < batch.size(); ++row) fn(HashOfRow(batch, row));
  }
}

// Of whole items an epoch shows each: of a file of a hundred clips more rows would read it forty times.
std::int64_t RowsToCompare(const LoadedTask& task) {
  const ItemStream* stream = task.Items();
  if (stream == nullptr || stream->shows() == ItemStream::Shows::kPartOfItem) return kComparedRows;
  return std::min(kComparedRows, stream->size(Split::kTraining));
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

double SeenInTraining(const LoadedTask& task, const RowSeeds& seeds, std::int64_t held_out_rows) {
  std::unordered_set<std::string> trained;
  ForEachHash(task, {.seed = TaskSeed(seeds.training, task.info().name), .count = RowsToCompare(task)},
              [&](std::string hash) { trained.insert(std::move(hash)); });
  std::int64_t seen = 0;
  ForEachHash(task,
              {.seed = EvalSeed(seeds.evaluation, task.info().name),
               .count = held_out_rows,
               .split = Split::kHeldOut},
              [&](const std::string& hash) { seen += trained.count(hash) > 0 ? 1 : 0; });
  return static_cast<double>(seen) / static_cast<double>(held_out_rows);
}

std::string OverlapWarning(const LoadedTask& task, const RowSeeds& seeds, std::int64_t held_out_rows) {
  if (task.info().rows_repeat) return "";
  const double share = SeenInTraining(task, seeds, held_out_rows);
  if (share == 0) return "";
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.1f", 100 * share);
  return std::string(percent) + " % of the evaluated rows of " + task.info().name +
         " are also among training's first " + std::to_string(RowsToCompare(task)) +
         ": its score is not that of rows which were never seen. Its author can keep them apart, or declare "
         "it "
         "(docs/writing-a-task.md)";
}

}  // namespace medley

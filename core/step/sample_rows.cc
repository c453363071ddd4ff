#include <medley/step/sample_rows.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) {
    if (before_ != 1) at::set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) at::set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace

Batch SampleAlone(const LoadedTask& task, const RowRange& rows) {
  const OneThread one_thread;
  const at::NoGradGuard no_grad;
  return task.Sample(rows);
}

Batch SampleRows(const LoadedTask& task, const RowRange& rows, at::Device device) {
  const MemoryOwnerScope owner(MemoryOwner::kData);
  return ReadyFor(device, SampleAlone(task, rows));
}

Batch ReadyFor(at::Device device, Batch rows) { return device.is_cuda() ? rows.Pinned() : std::move(rows); }

void CheckItems(const LoadedTask& task, const Batch& batch) {
  const std::string name = "task '" + task.info().name + "': Sample ";
  std::vector<std::string> declared;
  for (const TermInfo& term : task.variant().terms) {
    declared.push_back(term.name);
    const auto items = batch.items().find(term.name);
    if (items == batch.items().end()) {
      throw Error(name + "set no items for the term '" + term.name +
                  "' that its spec declares; add SetItems(\"" + term.name + "\", ...)");
    }
    const at::Tensor counts = items->second.contiguous();
    const std::int64_t* count = counts.const_data_ptr<std::int64_t>();
    for (std::int64_t row = 0; row < counts.numel(); ++row) {
      if (count[row] >= 0 && count[row] <= term.max_items) continue;
      throw Error(name + "counted " + std::to_string(count[row]) + " items of the term '" + term.name +
                  "' in " + task.NameRow(batch.rows(), batch.rows().begin + row) +
                  ", its spec declares 0 to " + std::to_string(term.max_items));
    }
  }
  for (const auto& [term, items] : batch.items()) {
    if (std::ranges::find(declared, term) == declared.end()) {
      throw Error(name + "set items for the term '" + term + "', its spec declares " + Listed(declared));
    }
  }
}

void CheckTokens(const LoadedTask& task, const Batch& batch, std::int64_t vocabulary) {
  const auto check = [&](const std::string& name, const at::Tensor& column, const auto& row_of) {
    const bool is_tokens = name == "tokens" || name.ends_with(".tokens");
    if (!is_tokens || vocabulary == 0 || column.numel() == 0 || column.scalar_type() != at::kLong) return;
    const at::Tensor ids = column.reshape({column.size(0), -1});
    const at::Tensor wrong = ids.lt(0).logical_or_(ids.ge(vocabulary)).any(1);
    if (!wrong.any().item<bool>()) return;
    const std::int64_t place = wrong.to(at::kLong).argmax().item<std::int64_t>();
    throw Error("task '" + task.info().name + "': the column '" + name + "' has in " +
                task.NameRow(batch.rows(), batch.rows().begin + row_of(place)) + " ids from " +
                std::to_string(column[place].min().item<std::int64_t>()) + " to " +
                std::to_string(column[place].max().item<std::int64_t>()) + ", expected 0 to " +
                std::to_string(vocabulary - 1) + "; take them from the tokenizer");
  };
  for (const auto& [name, column] : batch.columns())
    check(name, column, [](std::int64_t row) { return row; });
  for (const auto& [name, column] : batch.ragged()) {
    if (!column.is_padded()) continue;
    check(name, column.values, [&](std::int64_t item) { return column.item_row[item].item<std::int64_t>(); });
  }
}

}  // namespace medley

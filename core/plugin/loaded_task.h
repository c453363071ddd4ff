#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <medley/plugin/task_info.h>
#include <medley/task/task.h>

namespace medley {

using TensorWords = std::function<std::string()>;
using TaskMaker = std::function<std::unique_ptr<Task>()>;

// A task whose library is loaded. Calls into it go through here, so that an exception names plugin, task and
// activity (out-of-memory errors pass unchanged). Sample may be called on any thread, several at once; all
// else on the trainer's.
class LoadedTask {
 public:
  // `reads_files`: the run's config gives it a path. `again`: makes one more instance of the same task, for
  // its check; null: nobody can.
  LoadedTask(const TaskInfo& info, const VariantInfo& variant, std::string plugin, std::unique_ptr<Task> task,
             bool reads_files = false, TaskMaker again = {});

  const TaskInfo& info() const { return info_; }
  const VariantInfo& variant() const { return variant_; }
  const std::string& plugin() const { return plugin_; }

  // Errors over a row of a data file name its place.
  Batch Sample(const RowRange& rows) const;
  // A row of the range for an error: "row 5 (signs.csv:17)", or "row 5" of what is made up. Draws it again.
  std::string NameRow(const RowRange& rows, std::int64_t row) const;
  // `tensors`: asked, where libtorch fails in it, for lines that its words get ("\n  columns: ..."); its own
  // name no tensor. Beside them stands where in the plugin it was (author_frame.h).
  Sums Run(std::string_view pass, PassContext& context, const TensorWords& tensors = {}) const;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const;
  const ItemStream* Items() const;  // see Task::Items
  std::int64_t CacheBytes() const;  // see Task::CacheBytes
  // What guessing gets of its rows; nothing where the spec does not say, or says it of other rows.
  std::optional<double> Chance() const;
  // A further instance, which has run and sampled nothing; null where it cannot be made. This one outlives
  // it.
  std::unique_ptr<LoadedTask> Again() const;

  // A table of the spec on a device: built when it is first asked for, moved on demand. An error where the
  // spec has no such constant, or where what the task built differs from it; then nothing of it is kept.
  at::Tensor Constant(std::string_view name, at::Device device);
  std::int64_t ConstantBytes(at::Device device) const;
  void DropConstants(at::Device device);
  // Those that were ever asked for are there again.
  void RestoreConstants(at::Device device);

 private:
  Batch SampleWithPlace(const RowRange& rows) const;

  const TaskInfo& info_;
  const VariantInfo& variant_;
  std::string plugin_;
  std::unique_ptr<Task> task_;
  bool reads_files_;
  TaskMaker again_;
  std::map<std::string, std::unordered_map<at::Device, at::Tensor>, std::less<>> constants_;
};

}  // namespace medley

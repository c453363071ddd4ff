#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include <medley/plugin/shared_tables.h>
#include <medley/plugin/task_info.h>
#include <medley/task/task.h>

namespace medley {

using TensorWords = std::function<std::string()>;
using TaskMaker = std::function<std::unique_ptr<Task>()>;
// Where tables lie that were counted, so that one which several tasks share is counted once.
using CountedTables = std::set<const void*>;

// A task whose library is loaded. Calls into it go through here, so that an exception names plugin, task and
// activity (out-of-memory errors pass unchanged). Sample may be called on any thread, several at once; all
// else on the trainer's.
class LoadedTask {
 public:
  // `reads_files`: the run's config gives it a path. `again`: makes one more instance of the same task, for
  // its check; null: nobody can. `in_python`: for words to its author.
  LoadedTask(const TaskInfo& info, const VariantInfo& variant, std::string plugin, std::unique_ptr<Task> task,
             bool reads_files = false, TaskMaker again = {}, bool in_python = false);

  const TaskInfo& info() const { return info_; }
  const VariantInfo& variant() const { return variant_; }
  const std::string& plugin() const { return plugin_; }
  bool in_python() const { return in_python_; }

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
  AskForm Asks() const;             // see Task::Asks
  Asked Ask(const Questions& questions) const;
  // What guessing gets of its rows; nothing where the spec does not say, or says it of other rows.
  std::optional<double> Chance() const;
  // A further instance, which has run and sampled nothing; null where it cannot be made. This one outlives
  // it.
  std::unique_ptr<LoadedTask> Again() const;

  // A table of the spec on a device: built when it is first asked for, moved on demand. An error where the
  // spec has no such constant, or where what the task built differs from it; then nothing of it is kept.
  at::Tensor Constant(std::string_view name, at::Device device);
  // `counted`, if any: without those that are in it, which gets the others.
  std::int64_t ConstantBytes(at::Device device, CountedTables* counted = nullptr) const;
  // One that other tasks share stays there for them.
  void DropConstants(at::Device device);
  // Those that were ever asked for are there again.
  void RestoreConstants(at::Device device);

  // From now on its tables are one with equal ones of other tasks of the kind, which outlive it. Before any
  // is asked for.
  void ShareTables(SharedTables& tables, std::string kind);
  bool SharesTables() const { return shared_ != nullptr; }
  // Of a task that shares them, the bytes of each that it ever built, by SharedTables::KeyOf.
  std::map<std::string, std::int64_t> SharedTableBytes() const;
  // Builds all of the spec's where they are shared: so nobody does in a pass, beside the one that is there.
  void BuildShared(at::Device device);
  // As RestoreConstants, but first all are built as if no other task had them.
  void RebuildConstants(at::Device device);

 private:
  struct Shared {  // one of its tables
    std::string key;
    std::int64_t bytes = 0;
  };
  Batch SampleWithPlace(const RowRange& rows) const;
  at::Tensor Build(const ConstantInfo& constant);
  // What tasks have of a table that this one built before; undefined where none has it.
  at::Tensor FindShared(const std::string& constant, at::Device device) const;

  const TaskInfo& info_;
  const VariantInfo& variant_;
  std::string plugin_;
  std::unique_ptr<Task> task_;
  bool reads_files_;
  TaskMaker again_;
  bool in_python_;
  std::map<std::string, std::unordered_map<at::Device, at::Tensor>, std::less<>> constants_;
  SharedTables* shared_ = nullptr;  // null: its tables are its own
  std::string kind_;
  std::map<std::string, Shared, std::less<>> shared_tables_;  // by constant
};

}  // namespace medley

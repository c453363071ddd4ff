#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <medley/plugin/registry.h>
#include <medley/task/task.h>

namespace medley {

// How the run wants a task to be made; tasks that are not named get the defaults.
struct TaskSettings {
  std::string variant = "default";
  std::map<std::string, double, std::less<>> options{};  // overrides of the spec's defaults
};

// A task whose library is loaded. Calls into it go through here, so that an exception names plugin, task and
// phase (out-of-memory errors pass unchanged).
class LoadedTask {
 public:
  LoadedTask(const TaskInfo& info, const VariantInfo& variant, std::string plugin,
             std::unique_ptr<Task> task);

  const TaskInfo& info() const { return info_; }
  const VariantInfo& variant() const { return variant_; }
  const std::string& plugin() const { return plugin_; }

  Batch Sample(const RowRange& rows) const;
  Sums Run(std::string_view pass, PassContext& context) const;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const;

  // A table of the spec on a device: built when it is first asked for, moved on demand. An error where the
  // spec has no such constant, or where what the task built differs from it.
  at::Tensor Constant(std::string_view name, at::Device device);
  std::int64_t ConstantBytes(at::Device device) const;
  void DropConstants(at::Device device);

 private:
  const TaskInfo& info_;
  const VariantInfo& variant_;
  std::string plugin_;
  std::unique_ptr<Task> task_;
  std::map<std::string, std::unordered_map<at::Device, at::Tensor>, std::less<>> constants_;
};

// Loads a plugin when one of its tasks is first asked for, and keeps it for ever. Trainer's thread only.
class PluginHost {
 public:
  // Everything is kept by reference and must outlive the host.
  struct Context {
    const Registry& registry;
    const Tokenizer& tokenizer;
    ImageGeometry image;
    const std::vector<std::string>& control_text;
    std::map<std::string, TaskSettings, std::less<>> settings;
  };
  explicit PluginHost(Context context);
  ~PluginHost();

  LoadedTask& Get(std::string_view task);
  bool IsLoaded(std::string_view task) const;
  std::vector<std::string> loaded() const;

  // All texts of a plugin's tasks, for the tokenizer; loads the plugin, makes no task.
  static std::vector<std::string> Texts(const Registry& registry);

 private:
  struct Entry {  // a task may keep a reference to the context that it was made from
    std::unique_ptr<TaskContext> context;
    std::unique_ptr<LoadedTask> task;
  };
  Entry Load(std::string_view task) const;

  Context context_;
  std::map<std::string, Entry, std::less<>> tasks_;
};

}  // namespace medley

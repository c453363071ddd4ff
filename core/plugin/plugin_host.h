#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <medley/plugin/loaded_task.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/task_host.h>
#include <medley/task/task.h>

namespace medley {

// How the run wants a task to be made; tasks that are not named get the defaults.
struct TaskSettings {
  std::string variant = "default";
  std::map<std::string, double, std::less<>> options{};  // overrides of the spec's defaults
};

// Loads a plugin when one of its tasks is first asked for.
class PluginHost final : public TaskHost {
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
  ~PluginHost() override;

  LoadedTask& Get(std::string_view task) override;
  bool IsLoaded(std::string_view task) const override;
  const VariantInfo& Variant(std::string_view task) override;
  std::optional<TaskOrigin> OriginOf(std::string_view task) const override;
  std::vector<std::string> loaded() const;

  // All texts of a plugin's tasks, for the tokenizer; loads the plugin, makes no task.
  static std::vector<std::string> Texts(const Registry& registry);

 private:
  struct Entry {  // a task may keep a reference to the context that it was made from
    std::unique_ptr<TaskContext> context;
    std::unique_ptr<LoadedTask> task;
  };
  const TaskSettings& SettingsOf(std::string_view task) const;
  Entry Load(std::string_view task) const;

  Context context_;
  std::map<std::string, Entry, std::less<>> tasks_;
};

}  // namespace medley

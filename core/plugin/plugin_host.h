#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <medley/plugin/loaded_task.h>
#include <medley/plugin/model_file.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/task_host.h>
#include <medley/task/task.h>

namespace medley {

// How the run wants a task to be made.
struct TaskSettings {
  std::string variant = "default";
  OptionValues options{};  // overrides of the spec's defaults
};

// What of a run the texts of its tasks may depend on.
struct TextsRun {
  std::function<TaskSettings(std::string_view task)> settings{};  // none: all have the defaults
  std::vector<std::string> control_text{};
  std::vector<std::string> tasks{};  // whose texts; none: all
};

// Loads a plugin when one of its tasks is first asked for. Where that throws nothing is kept of the task, and
// the next call tries again.
class PluginHost final : public TaskHost {
 public:
  // Everything is kept by reference and must outlive the host. `settings`: of a form, asked when it is first
  // used; none: all have the defaults.
  struct Context {
    const Registry& registry;
    const ModelFile& model;
    const Tokenizer* tokenizer;  // null, and no control text, where the model declares none
    const std::vector<std::string>& control_text;
    std::function<TaskSettings(std::string_view form)> settings{};
  };
  explicit PluginHost(Context context);
  ~PluginHost() override;

  LoadedTask& Get(std::string_view form) override;
  bool IsLoaded(std::string_view form) const override;
  const VariantInfo& Variant(std::string_view form) override;
  std::optional<TaskOrigin> OriginOf(std::string_view form) const override;
  std::vector<std::string> loaded() const;

  // What tasks may show, for the tokenizer; loads their plugins. A task that needs an option which it is
  // not given is named in `left_out`; without that, it is an InputError.
  static std::vector<std::string> Texts(const Registry& registry, const TextsRun& run = {},
                                        std::vector<std::string>* left_out = nullptr);

 private:
  struct Entry {  // a task may keep a reference to the context that it was made from
    std::unique_ptr<TaskContext> context;
    std::unique_ptr<LoadedTask> task;
  };
  TaskSettings SettingsOf(std::string_view form) const;
  Entry Load(std::string_view form) const;

  Context context_;
  std::map<std::string, Entry, std::less<>> tasks_;
};

}  // namespace medley

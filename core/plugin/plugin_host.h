#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <medley/curriculum/form_table.h>
#include <medley/plugin/loaded_task.h>
#include <medley/plugin/model_file.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/shared_tables.h>
#include <medley/plugin/task_host.h>
#include <medley/task/task.h>

namespace medley {

// What of a run the texts of its tasks may depend on.
struct TextsRun {
  FormTable forms{};  // whose own are asked
  std::vector<std::string> control_text{};
  std::vector<std::string> tasks{};  // whose texts; none: all
};

// Loads a plugin when one of its tasks is first asked for. Where that throws nothing is kept of the task, and
// the next call tries again.
class PluginHost final : public TaskHost {
 public:
  // Everything is kept by reference and must outlive the host.
  struct Context {
    const Registry& registry;
    const ModelFile& model;
    const Tokenizer* tokenizer;  // null, and no control text, where the model declares none
    const std::vector<std::string>& control_text;
    DataRules* rules = nullptr;  // how the run reads files; null: nobody keeps it
    std::string chat = {};       // as TaskSurroundings has it
  };
  explicit PluginHost(Context context);
  ~PluginHost() override;

  LoadedTask& Get(const Form& form) override;
  LoadedTask* Find(const FormId& form) const override;
  const VariantInfo& Variant(const Form& form) override;
  std::optional<TaskOrigin> OriginOf(const std::string& task) const override;
  std::vector<FormId> loaded() const;
  // The names of the task's classes: those that the run keeps; else, kept from then on, those that its class
  // lists, for which its plugin is loaded. None: it lists none.
  std::vector<std::string> ClassesOf(const Form& form) const;

  // What tasks may show, for the tokenizer; loads their plugins. A task that needs an option which it is
  // not given is named in `left_out`; without that, it is an InputError.
  static std::vector<std::string> Texts(const Registry& registry, const TextsRun& run = {},
                                        std::vector<std::string>* left_out = nullptr);

 private:
  struct Entry {  // a task may keep a reference to the context that it was made from
    std::unique_ptr<TaskContext> context;
    std::unique_ptr<LoadedTask> task;
  };
  Entry Load(const Form& form);

  Context context_;
  SharedTables tables_;                  // of the kinds that the run has under several names
  std::map<FormId, VariantInfo> sized_;  // those of which options say a size; tasks keep references
  std::map<FormId, Entry> tasks_;
};

}  // namespace medley

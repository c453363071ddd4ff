#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <medley/plugin/loaded_task.h>
#include <medley/plugin/task_info.h>

namespace medley {

// The origin of a task's code.
struct TaskOrigin {
  std::string version;   // the task's
  std::string build_id;  // its plugin's
};

// The tasks of a run, each as the run wants it, by form: a task's name for the config's own (see FormOf).
// Trainer's thread only.
class TaskHost {
 public:
  virtual ~TaskHost();

  // Loads it when it is first asked for, and keeps it for ever. Errors name plugin, task and phase.
  virtual LoadedTask& Get(std::string_view form) = 0;
  virtual bool IsLoaded(std::string_view form) const = 0;
  // The variant that the run asks for; does not load the task where its spec is known without. InputError
  // where there is none of that name.
  virtual const VariantInfo& Variant(std::string_view form) = 0;
  // Nothing for a task that is no plugin's.
  virtual std::optional<TaskOrigin> OriginOf(std::string_view form) const = 0;
};

}  // namespace medley

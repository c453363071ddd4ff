#pragma once

#include <optional>
#include <string>

#include <medley/curriculum/form.h>
#include <medley/plugin/loaded_task.h>
#include <medley/plugin/task_info.h>

namespace medley {

// The origin of a task's code.
struct TaskOrigin {
  std::string version;   // the task's
  std::string build_id;  // its plugin's
};

// The tasks of a run, one for each of their forms. Trainer's thread only.
class TaskHost {
 public:
  virtual ~TaskHost();

  // Loads it when it is first asked for, and keeps it for ever. Errors name plugin, task and activity.
  virtual LoadedTask& Get(const Form& form) = 0;
  // Null where it is not loaded.
  virtual LoadedTask* Find(const FormId& form) const = 0;
  // That the form's settings name; does not load the task where its spec is known without. InputError where
  // there is none of that name.
  virtual const VariantInfo& Variant(const Form& form) = 0;
  // Nothing for a task that is no plugin's.
  virtual std::optional<TaskOrigin> OriginOf(const std::string& task) const = 0;
};

}  // namespace medley

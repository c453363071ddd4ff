#pragma once

#include <memory>
#include <string>
#include <vector>

#include <medley/plugin/task_info.h>
#include <medley/task/task.h>

namespace medley::tasks {

// A task of the game, as its plugin in the build tree has it.
struct TaskClass {
  const TaskInfo* spec;
  std::vector<std::string> texts;
  std::function<std::unique_ptr<Task>(const TaskContext&)> make;

  const std::vector<PassInfo>& passes() const { return spec->variants[0].passes; }
  const std::vector<TermInfo>& terms() const { return spec->variants[0].terms; }
};

// The defaults; a path that must be given is the file MEDLEY_TASK_DATA.
OptionValues OptionsOf(const TaskInfo& info);

const std::vector<TaskClass>& AllTasks();
const TaskClass& TaskNamed(std::string_view name);

}  // namespace medley::tasks

#pragma once

#include <string>

#include <medley/model/model_info.h>
#include <medley/plugin/task_info.h>

namespace medley {

// What a note says of a task or a model, in full, on stdout. `origin`: who brings the model. `plugin`: the
// task's, "" where that is known.
void PrintTask(const TaskInfo& task, const std::string& plugin = "");
void PrintModel(const ModelInfo& model, const std::string& origin);

}  // namespace medley

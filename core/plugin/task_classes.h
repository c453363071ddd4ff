#pragma once

#include <cstdint>
#include <string>

#include <medley/plugin/model_file.h>
#include <medley/plugin/task_info.h>

namespace medley {

// The field of the model that says how many classes it tells apart for the task: of an output [rows, FIELD]
// that the task asks for. "": it has none such.
std::string ClassesField(const TaskInfo& task, const ModelInfo& model);
// Gives the field, where the model's file leaves it out, the number of classes that the task has; InputError
// where it says another, or may not have so many.
void FollowClasses(const TaskInfo& task, std::int64_t classes, ModelFile& model);
// InputError where the model tells another number of them apart.
void RequireClasses(const TaskInfo& task, std::int64_t classes, const ModelFile& model);

}  // namespace medley

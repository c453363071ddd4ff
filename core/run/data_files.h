#pragma once

#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/form.h>
#include <medley/plugin/registry.h>

namespace medley {

// Whether one of the task's options names a file or a folder.
bool NamesFiles(const Form& form, const TaskInfo& task);

// Reads the JSON Lines files (NAME.jsonl) through that options of the named tasks name, in any stage, unless
// that was done before: BadRecords with what is wrong in all of them. What a task opens by itself, a table,
// whose separator nobody else knows, or a file of a folder, is checked when the task is made. An interrupt is
// heeded.
void CheckDataFiles(const RunConfig& config, const Curriculum& curriculum, const Registry& registry);

}  // namespace medley

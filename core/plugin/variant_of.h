#pragma once

#include <string>

#include <medley/config/task_config.h>
#include <medley/plugin/task_info.h>

namespace medley {

// The variant that a config's settings name, with the sizes that options say (text_width_of, max_items_of,
// images_of):
// their values, the defaults where none are given. InputError where there is no such variant, or for a value
// that is no size.
VariantInfo VariantOf(const TaskInfo& task, const TaskConfig& settings);
// Whether options say any of its sizes: else it is the same with all settings.
bool HasSizesByOption(const VariantInfo& variant);

// As OptionInfo::Problem; of one that says a size, also that it is no whole number.
std::string OptionProblem(const TaskInfo& task, const OptionInfo& option, const OptionValue& value);

// The spec with the sizes that its options' defaults say.
TaskInfo WithDefaultSizes(TaskInfo task);

}  // namespace medley

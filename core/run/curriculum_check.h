#pragma once

#include <string>
#include <vector>

#include <medley/config/config_file.h>
#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>
#include <medley/plugin/registry.h>

namespace medley {

// The task that the path's last key names; null, and reported, where there is none.
const TaskInfo* RequireTask(ConfigFile& file, const std::vector<std::string>& path, const Registry& registry);

// What the task hands to the model and asks of it that the model has not, and sizes that are not its own,
// each as a sentence; none where they fit.
std::vector<std::string> ModelProblems(const TaskInfo& task, const ModelInfo& model);

// Reports tasks of a curriculum that are not there, that do not fit the run's model or vocabulary, and scores
// that nobody would evaluate. What does not fit is reported in the run's config, in the weights file where
// that is null.
// `model` null: it is not known, which was reported.
void CheckCurriculumFits(ConfigFile& weights, const Curriculum& curriculum, const RunConfig& run,
                         const ModelInfo* model, const Registry& registry, ConfigFile* config);

}  // namespace medley

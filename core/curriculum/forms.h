#pragma once

#include <map>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>

namespace medley {

// Which form of which task a curriculum's stages run; see FormOf.

// The forms of a stage that are not the config's own, by task.
std::map<std::string, std::string> FormsOf(const RunConfig& config, const Stage& stage);
// All that the stages draw or score, in the order in which they come, each once.
std::vector<std::string> NamedForms(const RunConfig& config, const Curriculum& curriculum);
// Gives the config the settings of the stages' forms, so that ConfigOf knows them.
void AddForms(RunConfig& config, const Curriculum& curriculum);

}  // namespace medley

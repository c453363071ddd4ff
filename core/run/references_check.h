#pragma once

#include <set>
#include <string>

#include <medley/config/config_file.h>
#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>
#include <medley/plugin/registry.h>

namespace medley {

// The further weights that passes of a task in this variant ask by name; none of a task that is not there.
std::set<std::string> AskedReferences(const Registry& registry, const std::string& task,
                                      const std::string& variant);
// Reports to the run's config what the named tasks ask and it does not say, and what is wrong with what it
// says; `begins`: also what none of them asks.
void CheckReferences(ConfigFile& config, const Curriculum& curriculum, const RunConfig& run,
                     const Registry& registry, bool begins);

}  // namespace medley

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <medley/data/data_rules.h>
#include <medley/run/run.h>

namespace medley {

// How a run that begins reads files; where its weights come from another run (init_from), with the shares of
// that one.
DataRules RulesOfNewRun(const RunConfig& config, const Registry& registry);
// The same of the run that lies in a directory: what its run.json says, and where it has no record of that,
// as before there was one. `config`: its resolved config; `inputs`: what was read of it.
DataRules RulesOfRun(const std::filesystem::path& directory, const std::filesystem::path& config,
                     const RunInputs& inputs);

// Overrides of a run's resolved config, and those of keys that it lacks, as it was written before there were
// any: "eval.seed" is then the run's own.
std::vector<std::string> WithEarlierDefaults(const std::filesystem::path& config,
                                             std::vector<std::string> overrides);

// Notes in a run's run.json what its rules decided since they were last noted there: before a checkpoint is
// saved, as another start draws what came after it anew.
void RecordRules(const std::filesystem::path& run, DataRules& rules);

}  // namespace medley

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/curriculum/mixer.h>
#include <medley/plugin/registry.h>

namespace medley {

// kBegun: it has weights, so where it took the first ones from no longer matters.
enum class Stage { kBegins, kBegun };

// A run whose files fit together: everything that can be known before a plugin or a tensor is touched.
struct CheckedRun {
  RunConfig run;
  Mixture mixture;
};

// Reads the run config, its weights file and its model's config, and checks them against each other and
// against the tasks that are there: names, variants, options, terms, modes, what the model takes and gives,
// special tokens; also the kinds of the tokenizer and the control text, and of the run whose weights are
// taken where this one begins. Throws one InputError with every mistake of all files.
CheckedRun CheckRun(const std::filesystem::path& config, const std::vector<std::string>& overrides,
                    const Registry& registry, Stage stage = Stage::kBegins);

// The plugin directories that a run config names. Never throws: CheckRun reports what is wrong.
std::vector<std::filesystem::path> PluginPaths(const std::filesystem::path& config,
                                               const std::vector<std::string>& overrides);

// What the mixer needs of every task of the mixture.
std::map<std::string, TaskSize> TaskSizes(const CheckedRun& checked, const Registry& registry);

}  // namespace medley

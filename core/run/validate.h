#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/mixer.h>
#include <medley/plugin/confirmed_paths.h>
#include <medley/plugin/model_file.h>
#include <medley/plugin/registry.h>
#include <medley/run/run_files.h>

namespace medley {

// kBegun: it has weights, so where it took the first ones from no longer matters.
enum class RunAge { kBegins, kBegun };
// kIgnore: of who makes a new lock.
enum class Locks { kHold, kIgnore };

// A run whose files fit together: everything that can be known before a plugin or a tensor is touched.
struct CheckedRun {
  RunConfig run;
  Curriculum curriculum;
  std::string weights_text;          // what it was read from
  std::optional<ModelFile> model{};  // always there where the check did not throw
  std::string token_table{};  // words about the rows of a published one; "": there is none, or it began
};

// A weights file as it was read before, or as a run knows it.
struct WeightsText {
  std::filesystem::path file;  // for the words
  std::string text;
};

// Reads the run config, its weights file and its model's config, and checks them against each other and
// against the tasks that are there: names, variants, options, terms, modes, what the model takes and gives,
// special tokens; also the kinds of the tokenizer and the control text, and of the run whose weights are
// taken where this one begins. Throws one InputError with every mistake of all files. `weights`: of a run
// that has begun, instead of what is in the weights file now: where this one begins, it repeats that one.
// `of_model`: overrides of the model's config.
CheckedRun CheckRun(const std::filesystem::path& config, const std::vector<std::string>& overrides,
                    const Registry& registry, RunAge state = RunAge::kBegins,
                    const std::optional<WeightsText>& weights = std::nullopt, Locks locks = Locks::kHold,
                    const std::vector<std::string>& of_model = {});
// Another weights file for a run that goes on, checked as CheckRun does; `whose`: kBegunRun of one that the
// run had taken already. `also`, if any, reports what else is wrong.
using AlsoCheck = std::function<void(ConfigFile& file, const Curriculum& curriculum)>;
Curriculum CheckEdit(const WeightsText& weights, const RunConfig& run, const ModelInfo& model,
                     const Registry& registry, WeightsOf whose, const AlsoCheck& also);

// The plugins that were named and those that the config names, which must have been confirmed; `files`, of
// that config, then knows what lies elsewhere now.
struct ConfigPlugins {
  std::vector<std::filesystem::path> paths;
  Registry registry;
};
ConfigPlugins ScanPlugins(const std::filesystem::path& config, const NamedPlugins& named, RunFiles& files);

// What a run config's plugins give. The registry then knows tasks by the config's further names too.
// `config`: "" for the plugins alone; `overrides`: of it.
Registry ScanFor(const std::filesystem::path& config, const std::vector<std::string>& overrides,
                 const std::vector<std::filesystem::path>& paths);
// The plugin directories that a run config names. Never throws: CheckRun reports what is wrong.
std::vector<std::filesystem::path> PluginPaths(const std::filesystem::path& config,
                                               const std::vector<std::string>& overrides);

// What the mixer needs of a task whose draws have so many rows; 0: "auto".
TaskSize SizeOf(const VariantInfo& variant, std::int64_t rows);
// The size of every task of the curriculum, by its settings in the run config.
std::map<std::string, TaskSize> TaskSizes(const CheckedRun& checked, const Registry& registry);

}  // namespace medley

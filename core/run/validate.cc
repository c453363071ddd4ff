#include <medley/run/validate.h>

#include <algorithm>
#include <set>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/suggest.h>
#include <medley/curriculum/form_table.h>
#include <medley/curriculum/stage_check.h>
#include <medley/plugin/variant_of.h>
#include <medley/run/curriculum_check.h>
#include <medley/run/input_files.h>
#include <medley/run/model_check.h>
#include <medley/run/plugin_lock.h>
#include <medley/run/references_check.h>
#include <medley/task/spec.h>
#include <medley/text/chat_file.h>

namespace medley {
namespace {

using Path = std::vector<std::string>;

// Whether the file that the key names can be read. It was looked at where it is named: what is wrong only now
// is said, unless something was said already.
bool IsReadable(ConfigFile& file, const Path& key, const std::filesystem::path& path,
                const Diagnostics& diagnostics) {
  if (path.empty()) return false;
  const std::string problem = FileProblem(path);
  if (!problem.empty() && diagnostics.empty()) file.FailAt(key, problem);
  return problem.empty();
}

// Nothing where it is none that can be read.
std::optional<Vocabulary> CheckVocabulary(ConfigFile& file, const RunConfig& run,
                                          const Diagnostics& diagnostics) try {
  if (!IsReadable(file, {"tokenizer"}, run.tokenizer, diagnostics)) return std::nullopt;
  return ReadVocabulary(run.tokenizer, run.special_tokens);
} catch (const InputError& error) {
  file.FailAt({"tokenizer"}, error.what());
  return std::nullopt;
}

// Files that are read later, by what is built from them.
void CheckInputFiles(ConfigFile& file, const RunConfig& run, RunAge state, const Diagnostics& diagnostics) {
  const auto check = [&](const Path& key, const std::filesystem::path& path, const auto& problem_of) {
    if (const std::string problem = problem_of(path); !problem.empty()) file.FailAt(key, problem);
  };
  if (IsReadable(file, {"control_text"}, run.control_text, diagnostics))
    check({"control_text"}, run.control_text, ControlTextProblem);
  if (state == RunAge::kBegins && !run.init_from.run.empty())
    check({"init_from", "run"}, run.init_from.run, RunDirectoryProblem);
}

// What the model declares and the config does not name.
void CheckNeeds(ConfigFile& file, const RunConfig& run, const ModelInfo& model) {
  const auto require = [&](const char* key, const std::filesystem::path& path) {
    if (path.empty()) file.FailAtKey({key}, "missing; the model '" + model.name + "' needs it");
  };
  if (model.tokenizer) require("tokenizer", run.tokenizer);
  if (model.control_text) require("control_text", run.control_text);
}

// Ids that the model's table will have no row of, or that stand twice.
void CheckLoraTokens(ConfigFile& file, const LoraConfig& lora, std::int64_t rows) {
  std::set<std::int64_t> seen;
  for (const std::int64_t token : lora.tokens) {
    if (token >= rows)
      file.FailAt({"lora", "tokens"}, "expected ids below " + std::to_string(rows) +
                                          ", the rows of the model's table, found " + std::to_string(token));
    else if (!seen.insert(token).second)
      file.FailAt({"lora", "tokens"}, std::to_string(token) + " stands twice");
  }
}

// A table has a row for every token, and those that a published one has.
std::int64_t RowsOfTable(const ModelFile& model, const Vocabulary& vocabulary) {
  const std::int64_t own = std::ssize(vocabulary.tokens);
  if (model.config.pretrained().empty()) return own;
  return std::max(own, model.config.Integer(model.info.pretrained.group + ".vocabulary"));
}

// Last, as it needs a mixture without mistakes: sizes that the mixer refuses, such as tokens of a task
// without text.
void CheckMixtures(const std::string& file, const CheckedRun& checked, const Registry& registry) {
  for (std::size_t stage = 0; stage < checked.curriculum.stages.size(); ++stage) {
    try {
      const Mixer mixer(checked.curriculum.MixtureOf(stage), TaskSizes(checked, registry), 0);
    } catch (const InputError& error) {
      const std::string& name = checked.curriculum.stages[stage].name;
      throw InputError(file + ": " + (name.empty() ? "" : "stage " + name + ": ") + error.what());
    }
  }
}

void CheckLock(const CheckedRun& checked, const ModelInfo* model, const Registry& registry) {
  if (checked.run.plugin_lock.empty()) return;
  RequireLocked(checked.run.plugin_lock, PluginsInUse(checked.curriculum.Named(), model, registry));
}

// CheckRun says what is wrong with it.
RunConfig AsFarAsItReads(const std::filesystem::path& config, const std::vector<std::string>& overrides) {
  Diagnostics ignored;
  ConfigFile file(config, ignored);
  file.Override(overrides);
  RunConfig run;
  ReadConfig(file, run);
  return run;
}

// The files of chat formats; a run that has begun has copies.
void CheckChats(ConfigFile& file, const RunConfig& run) {
  const auto check = [&](const Path& key, const std::string& named) {
    if (!IsChatFile(named)) return;
    try {
      ReadChatFile(named);
    } catch (const InputError& error) {
      file.FailAt(key, error.what());
    }
  };
  check({"chat"}, run.chat);
  for (const auto& [name, settings] : run.tasks) {
    const auto option = settings.options.find(kChatOption);
    if (option == settings.options.end()) continue;
    if (const auto* named = std::get_if<std::string>(&option->second))
      check({"tasks", name, "options", std::string(kChatOption)}, *named);
  }
}

// The mixer counts draws.
void CheckDraws(ConfigFile& file, const RunConfig& run) {
  const std::int64_t most = static_cast<std::int64_t>(kLargestInteger) / run.draws_per_step;
  if (run.steps <= most) return;
  file.FailAt({"steps"}, "expected at most " + std::to_string(most) + " with " +
                             std::to_string(run.draws_per_step) + " draws a step, found " +
                             std::to_string(run.steps));
}

}  // namespace

Curriculum CheckEdit(const WeightsText& weights, const RunConfig& run, const ModelInfo& model,
                     const Registry& registry, WeightsOf whose, const AlsoCheck& also) {
  if (std::ssize(weights.text) > kLargestWeightsFile)
    throw InputError(DisplayPath(weights.file) + ": expected at most " + std::to_string(kLargestWeightsFile) +
                     " bytes, found " + std::to_string(weights.text.size()));
  Diagnostics diagnostics;
  ConfigFile file(weights.file, weights.text, diagnostics);
  CheckedRun checked{.run = run, .curriculum = {}, .weights_text = weights.text};
  ReadConfig(file, checked.curriculum, whose);
  diagnostics.Throw();
  CheckCurriculumFits(file, checked.curriculum, run, &model, registry, nullptr);
  if (also) also(file, checked.curriculum);
  diagnostics.Throw();
  CheckMixtures(DisplayPath(weights.file), checked, registry);
  CheckLock(checked, &model, registry);
  return std::move(checked.curriculum);
}

CheckedRun CheckRun(const std::filesystem::path& config, const std::vector<std::string>& overrides,
                    const Registry& registry, RunAge state, const std::optional<WeightsText>& weights,
                    Locks locks, const std::vector<std::string>& of_model) {
  Diagnostics diagnostics;
  ConfigFile file(config, diagnostics);
  file.Override(overrides);
  CheckedRun checked;
  ReadConfig(file, checked.run);
  // So is one that is repeated: what an older medley let it begin with does not end it.
  const bool is_known = state == RunAge::kBegun || weights;
  if (!is_known) CheckEffects(file, checked.run);
  if (file.root()) {
    for (auto& [name, settings] : checked.run.tasks) {
      const Path above = {"tasks", name};
      const TaskReport report(file, [&](const Path& key) {
        Path path = above;
        path.insert(path.end(), key.begin(), key.end());
        return path;
      });
      if (!CheckKind(name, settings.kind, registry, report, is_known)) continue;
      if (const TaskInfo* task = RequireTask(file, above, registry, NamedIn::kConfig))
        CheckTask(*task, settings, report);
    }
    const std::optional<Vocabulary> vocabulary = CheckVocabulary(file, checked.run, diagnostics);
    CheckInputFiles(file, checked.run, state, diagnostics);
    // A run that has begun says itself what its adapters are, but where its first config is given again.
    if (state == RunAge::kBegins || !IsWhole(checked.run.lora)) TakePretrainedLora(file, checked.run.lora);
    CheckDraws(file, checked.run);
    if (state == RunAge::kBegins) CheckChats(file, checked.run);

    if (IsReadable(file, {"model"}, checked.run.model, diagnostics)) {
      ConfigFile described(checked.run.model, diagnostics);
      described.Override(of_model);
      checked.model = ReadModelFile(described, registry, is_known ? KeysOf::kBegunRun : KeysOf::kUser);
    }
    const ModelInfo* model = checked.model ? &checked.model->info : nullptr;
    if (model != nullptr) CheckNeeds(file, checked.run, *model);
    if (model != nullptr && diagnostics.empty()) CheckLoraFits(file, checked.run.lora, *checked.model);
    if (model != nullptr && vocabulary && diagnostics.empty() && !is_known)
      CheckLoraTokens(file, checked.run.lora, RowsOfTable(*checked.model, *vocabulary));
    if (model != nullptr && diagnostics.empty() && state == RunAge::kBegins)
      checked.token_table = CheckPretrained(file, checked.run, *checked.model, vocabulary);
    if (IsReadable(file, {"weights"}, checked.run.weights, diagnostics)) {
      ConfigFile file_now = weights ? ConfigFile(weights->file, weights->text, diagnostics)
                                    : ConfigFile(checked.run.weights, diagnostics, kLargestWeightsFile);
      ReadConfig(file_now, checked.curriculum, is_known ? WeightsOf::kBegunRun : WeightsOf::kUser);
      if (!is_known) CheckBeginning(file_now, checked.curriculum);
      checked.weights_text = file_now.text();
      CheckCurriculumFits(file_now, checked.curriculum, checked.run, model, registry, &file);
      CheckReferences(file, checked.curriculum, checked.run, registry, !is_known);
    }
  }
  diagnostics.Throw();
  CheckMixtures(DisplayPath(checked.run.weights), checked, registry);
  if (locks == Locks::kHold) CheckLock(checked, &checked.model->info, registry);
  return checked;
}

ConfigPlugins ScanPlugins(const std::filesystem::path& config, const NamedPlugins& named, RunFiles& files) {
  std::vector<std::filesystem::path> paths =
      ConfirmPlugins(named, config, files.Plugins(PluginPaths(config, files.overrides()), named.paths));
  Registry registry = ScanFor(config, files.overrides(), paths);
  files.Find(registry);
  return {std::move(paths), std::move(registry)};
}

Registry ScanFor(const std::filesystem::path& config, const std::vector<std::string>& overrides,
                 const std::vector<std::filesystem::path>& paths) {
  Registry registry = Registry::Scan({.paths = paths});
  registry.RequireNamed();
  if (!config.empty()) registry.GiveNames(KindsIn(AsFarAsItReads(config, overrides).tasks));
  return registry;
}

std::vector<std::filesystem::path> PluginPaths(const std::filesystem::path& config,
                                               const std::vector<std::string>& overrides) {
  return AsFarAsItReads(config, overrides).plugin_path;
}

TaskSize SizeOf(const VariantInfo& variant, std::int64_t rows) {
  return {.rows = std::max<std::int64_t>(1, rows),  // until "auto" is planned
          .passes = static_cast<std::int64_t>(variant.passes.size()),
          .tokens_per_row = variant.TokensPerRow()};
}

std::map<std::string, TaskSize> TaskSizes(const CheckedRun& checked, const Registry& registry) {
  std::map<std::string, TaskSize> sizes;
  const FormTable forms(checked.run);
  for (const std::string& name : checked.curriculum.All()) {
    const TaskConfig settings = forms.Own(name).settings;
    sizes[name] = SizeOf(VariantOf(registry.Require(name), settings), settings.rows);
  }
  return sizes;
}

}  // namespace medley

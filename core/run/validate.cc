#include <medley/run/validate.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/suggest.h>
#include <medley/model/agent/agent_config.h>
#include <medley/run/input_files.h>
#include <medley/step/execution.h>

namespace medley {
namespace {

using Path = std::vector<std::string>;

std::string Number(double value) { return nlohmann::json(value).dump(); }

class TaskCheck {
 public:
  TaskCheck(ConfigFile& file, const Registry& registry) : file_(file), registry_(registry) {
    for (const TaskInfo* task : registry.tasks()) names_.push_back(task->name);
  }

  // Null, and reported, where there is no such task.
  const TaskInfo* Require(ConfigFile& file, const Path& path) const {
    const TaskInfo* task = registry_.Find(path.back());
    if (task) return task;
    std::string message = "no such task" + DidYouMean(path.back(), names_) + " (" +
                          std::to_string(names_.size()) + " tasks: medley tasks)" + Refused();
    file.FailAtKey(path, message);
    return nullptr;
  }

  void Check(const std::string& name, const TaskConfig& config) const {
    const TaskInfo* task = Require(file_, {"tasks", name});
    if (!task) return;
    const VariantInfo* variant = task->FindVariant(config.variant);
    if (!variant) {
      file_.FailAt({"tasks", name, "variant"}, NoSuchName("variant", config.variant, task->VariantNames()));
    }
    CheckOptions(*task, config);
    if (!variant) return;
    CheckSettings(name, *variant, config);
  }

 private:
  void CheckOptions(const TaskInfo& task, const TaskConfig& config) const {
    std::vector<std::string> known;
    for (const OptionInfo& option : task.options) known.push_back(option.name);
    for (const auto& entry : config.options) {
      const std::string& option = entry.first;
      const double value = entry.second;
      const auto info = std::find_if(task.options.begin(), task.options.end(),
                                     [&](const OptionInfo& o) { return o.name == option; });
      const Path path = {"tasks", task.name, "options", option};
      if (info == task.options.end()) {
        file_.FailAtKey(path, NoSuchName("option", option, known));
      } else if (!(value >= info->low && value <= info->high)) {
        file_.FailAt(path, "expected " + Number(info->low) + " to " + Number(info->high) + " (" +
                               info->summary + "), found " + Number(value));
      }
    }
  }

  // The task may be in one of them.
  std::string Refused() const {
    constexpr std::size_t kShown = 3;
    std::string words;
    const std::vector<RejectedPlugin>& refused = registry_.rejected();
    for (std::size_t i = 0; i < std::min(refused.size(), kShown); ++i)
      words += "\n    not used: " + DisplayPath(refused[i].path) + " (" + refused[i].state +
               "): " + refused[i].reason;
    if (refused.size() > kShown)
      words += "\n    and " + std::to_string(refused.size() - kShown) + " more: medley tasks";
    return words;
  }

  // What the executor would refuse. A mode that is no mode's name was reported.
  void CheckSettings(const std::string& name, const VariantInfo& variant, const TaskConfig& config) const {
    const auto problems = CheckExecution(variant, ParseMode(config.mode), config.terms);
    for (const SettingProblem& problem : problems) {
      Path path = {"tasks", name};
      path.insert(path.end(), problem.path.begin(), problem.path.end());
      problem.is_unknown_name ? file_.FailAtKey(path, problem.message) : file_.FailAt(path, problem.message);
    }
    const bool all_known = std::none_of(problems.begin(), problems.end(), [](const SettingProblem& problem) {
      return problem.is_unknown_name;
    });
    const Execution execution{.way = {}, .term_weights = config.terms};
    double sum = 0;
    for (const TermInfo& term : variant.terms) sum += TermWeight(execution, term);
    if (all_known && !config.terms.empty() && sum <= 0) {
      file_.FailAt({"tasks", name, "terms"}, "every term has the weight 0, so nothing would be learned");
    }
  }

  ConfigFile& file_;
  const Registry& registry_;
  std::vector<std::string> names_;
};

// What tasks hand to the model and ask of it must be what it takes and gives.
void CheckModelFits(ConfigFile& file, const TaskInfo& task) {
  const auto check = [&](const std::vector<std::string>& wanted, const std::vector<std::string>& has,
                         const char* verb) {
    for (const std::string& name : wanted) {
      if (std::find(has.begin(), has.end(), name) != has.end()) continue;
      file.FailAt({"model"}, "task " + task.name + " " + verb + " '" + name +
                                 "', which this model has not (" + JoinNames(has) + ")");
    }
  };
  check(task.inputs, AgentInputNames(), "hands in");
  check(task.outputs, AgentOutputNames(), "asks for");
}

void CheckSpecialTokens(ConfigFile& file, const TaskInfo& task, const std::set<std::string>& vocabulary) {
  if (vocabulary.empty()) return;  // reported
  std::vector<std::string> missing;
  for (const std::string& token : task.special_tokens) {
    if (vocabulary.count(token) == 0) missing.push_back(token);
  }
  if (missing.empty()) return;
  file.FailAt({"tokenizer"}, "task " + task.name + " needs special tokens that this vocabulary has not: " +
                                 JoinNames(missing) + "; make one that has them: medley tokenizer train");
}

// Whether the file that the key names can be read. It was looked at where it is named: what is wrong only now
// is said, unless something was said already.
bool IsReadable(ConfigFile& file, const Path& key, const std::filesystem::path& path,
                const Diagnostics& diagnostics) {
  if (path.empty()) return false;
  const std::string problem = FileProblem(path);
  if (!problem.empty() && diagnostics.empty()) file.FailAt(key, problem);
  return problem.empty();
}

// Files that are read later, by what is built from them.
void CheckInputFiles(ConfigFile& file, const RunConfig& run, Stage stage, const Diagnostics& diagnostics) {
  const auto check = [&](const Path& key, const std::filesystem::path& path,
                         std::string (*problem_of)(const std::filesystem::path&)) {
    if (const std::string problem = problem_of(path); !problem.empty()) file.FailAt(key, problem);
  };
  if (IsReadable(file, {"tokenizer"}, run.tokenizer, diagnostics))
    check({"tokenizer"}, run.tokenizer, TokenizerProblem);
  if (IsReadable(file, {"control_text"}, run.control_text, diagnostics))
    check({"control_text"}, run.control_text, ControlTextProblem);
  if (stage == Stage::kBegins && !run.init_from.run.empty())
    check({"init_from", "run"}, run.init_from.run, RunDirectoryProblem);
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

CheckedRun CheckRun(const std::filesystem::path& config, const std::vector<std::string>& overrides,
                    const Registry& registry, Stage stage) {
  Diagnostics diagnostics;
  ConfigFile file(config, diagnostics);
  file.Override(overrides);
  CheckedRun checked;
  ReadConfig(file, checked.run);
  if (file.root()) {
    const TaskCheck tasks(file, registry);
    for (const auto& [name, settings] : checked.run.tasks) tasks.Check(name, settings);
    CheckInputFiles(file, checked.run, stage, diagnostics);
    CheckDraws(file, checked.run);

    if (IsReadable(file, {"model"}, checked.run.model, diagnostics)) {
      ConfigFile described(checked.run.model, diagnostics);
      AgentConfig model;
      ReadConfig(described, model);
    }
    if (IsReadable(file, {"weights"}, checked.run.weights, diagnostics)) {
      ConfigFile weights(checked.run.weights, diagnostics);
      ReadConfig(weights, checked.mixture);
      const std::set<std::string> vocabulary = VocabularyPieces(checked.run.tokenizer);
      for (const auto& [name, weight] : checked.mixture.weights) {
        const TaskInfo* task = tasks.Require(weights, {"weights", name});
        if (!task || weight <= 0) continue;
        CheckModelFits(file, *task);
        CheckSpecialTokens(file, *task, vocabulary);
      }
    }
  }
  diagnostics.Throw();
  // Last, as it needs a mixture without mistakes: sizes that the mixer refuses, such as tokens of a task
  // without text.
  try {
    const Mixer mixer(checked.mixture, TaskSizes(checked, registry), 0);
  } catch (const InputError& error) {
    throw InputError(DisplayPath(checked.run.weights) + ": " + error.what());
  }
  return checked;
}

std::vector<std::filesystem::path> PluginPaths(const std::filesystem::path& config,
                                               const std::vector<std::string>& overrides) {
  Diagnostics ignored;
  ConfigFile file(config, ignored);
  file.Override(overrides);
  RunConfig run;
  ReadConfig(file, run);
  return run.plugin_path;
}

std::map<std::string, TaskSize> TaskSizes(const CheckedRun& checked, const Registry& registry) {
  std::map<std::string, TaskSize> sizes;
  for (const auto& [name, weight] : checked.mixture.weights) {
    const TaskConfig& settings = ConfigOf(checked.run, name);
    const VariantInfo& variant = registry.Require(name).RequireVariant(settings.variant);
    sizes[name] = {.rows = std::max<std::int64_t>(1, settings.rows),  // until "auto" is planned
                   .passes = static_cast<std::int64_t>(variant.passes.size()),
                   .tokens_per_row = variant.TokensPerRow()};
  }
  return sizes;
}

}  // namespace medley

#include <medley/run/curriculum_check.h>

#include <algorithm>
#include <set>
#include <system_error>

#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/spec_names.h>
#include <medley/base/suggest.h>
#include <medley/config/key_paths.h>
#include <medley/curriculum/form_table.h>
#include <medley/plugin/variant_of.h>
#include <medley/run/input_files.h>
#include <medley/step/execution.h>
#include <medley/text/chat_file.h>

namespace medley {
namespace {

// A path becomes absolute where it stands in this file: that of the config was, before a stage's settings are
// looked at.
void CheckPath(const std::string& option, std::string& value, const TaskReport& report) {
  const auto path = report.PathAt({"options", option});
  if (!path) return;
  value = path->string();
  std::error_code ignored;
  const std::string problem =
      std::filesystem::is_directory(*path, ignored) ? DirectoryProblem(*path) : FileProblem(*path);
  if (!problem.empty()) report.FailAt({"options", option}, problem);
}

bool NamesChatFile(const OptionInfo& option, const OptionValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return option.kind == OptionKind::kText && option.name == kChatOption && text != nullptr &&
         IsChatFile(*text);
}

// It may be a setting of the task, which stands one level above.
std::string NoSuchOption(const TaskInfo& task, const std::string& option,
                         const std::vector<std::string>& known) {
  const std::string whole = "tasks." + task.name + ".options." + option;
  std::vector<std::string> elsewhere;
  if (NearNames(option, known).empty()) elsewhere = NearPaths(whole, KeyPathsOf<RunConfig>());
  return elsewhere.empty() ? NoSuchName("option", option, known) : "no such option" + DidYouMean(elsewhere);
}

void CheckOptions(const TaskInfo& task, TaskConfig& config, const TaskReport& report) {
  std::vector<std::string> known;
  for (const OptionInfo& option : task.options) known.push_back(option.name);
  for (auto& [option, value] : config.options) {
    const OptionInfo* info = task.FindOption(option);
    if (info == nullptr) {
      report.FailAtKey({"options", option}, NoSuchOption(task, option, known));
    } else if (const std::string problem = OptionProblem(task, *info, value); !problem.empty()) {
      report.FailAt({"options", option}, problem);
    } else if (info->kind == OptionKind::kPath) {
      CheckPath(option, std::get<std::string>(value), report);
    } else if (NamesChatFile(*info, value)) {
      if (const auto path = report.PathAt({"options", option})) value = path->string();
    }
  }
}

// What the executor would refuse. A mode that is no mode's name was reported.
void CheckSettings(const VariantInfo& variant, const TaskConfig& config, const TaskReport& report) {
  const auto problems = CheckExecution(variant, ParseMode(config.mode), config.terms);
  for (const SettingProblem& problem : problems) {
    problem.is_unknown_name ? report.FailAtKey(problem.path, problem.message)
                            : report.FailAt(problem.path, problem.message);
  }
  const bool all_known =
      std::ranges::none_of(problems, [](const SettingProblem& problem) { return problem.is_unknown_name; });
  const Execution execution{.way = {}, .term_weights = config.terms};
  double sum = 0;
  for (const TermInfo& term : variant.terms) sum += TermWeight(execution, term);
  if (all_known && !config.terms.empty() && sum <= 0)
    report.FailAt({"terms"}, "every term has the weight 0, so nothing would be learned");
}

using Path = std::vector<std::string>;
using Report =
    std::function<void(const std::string& key, const std::string& message)>;  // of the run's config

// The task may be in one of them.
std::string Refused(const Registry& registry) {
  constexpr std::size_t kShown = 3;
  std::string words;
  const std::vector<RejectedPlugin>& refused = registry.rejected();
  for (std::size_t i = 0; i < std::min(refused.size(), kShown); ++i)
    words += "\n    not used: " + DisplayPath(refused[i].path) + " (" + refused[i].state +
             "): " + refused[i].reason;
  if (refused.size() > kShown)
    words += "\n    and " + std::to_string(refused.size() - kShown) + " more: medley tasks";
  return words;
}

std::vector<std::string> TaskNames(const Registry& registry) {
  std::vector<std::string> names;
  for (const TaskInfo* task : registry.tasks()) names.push_back(task->name);
  return names;
}

std::vector<std::string> KindNames(const Registry& registry) {
  std::vector<std::string> names = TaskNames(registry);
  std::erase_if(names, [&](const std::string& name) { return !registry.IsKind(name); });
  return names;
}

// What to do where a further name of a task was meant.
std::string FurtherNameWords(const std::string& name, NamedIn where) {
  const std::string key = "tasks." + Printable(name) + ".kind";
  switch (where) {
    case NamedIn::kConfig:
      return "; where it is a further name of one, \"kind\" says of which";
    case NamedIn::kWeights:
      return "; where it is a further name of one, " + key + " in the run config says of which";
    case NamedIn::kEdit:
      break;
  }
  return "; an edit brings no further name of a task: the run's config names its kinds, so add " + key +
         " and begin a run";
}

void CheckSpecialTokens(const TaskInfo& task, const std::set<std::string>& vocabulary, const Report& report) {
  if (vocabulary.empty()) return;  // reported
  std::vector<std::string> missing;
  for (const std::string& token : task.special_tokens) {
    if (vocabulary.count(token) == 0) missing.push_back(token);
  }
  if (missing.empty()) return;
  report("tokenizer", "task " + task.name + " needs special tokens that this vocabulary has not: " +
                          JoinNames(missing) + "; make one that has them: medley tokenizer train");
}

// A score that a stage waits for must come.
void CheckEvaluations(ConfigFile& weights, const Curriculum& curriculum, const RunConfig& run) {
  for (std::size_t i = 0; i < curriculum.stages.size(); ++i) {
    const Stage& stage = curriculum.stages[i];
    if (stage.Scored().empty() || stage.eval_every > 0 || run.eval.every > 0) continue;
    Path path = curriculum.PathOf(i);
    path.emplace_back("until");
    weights.FailAt(
        path,
        "waits for a score, and nothing is evaluated: the run's eval.every is 0. Give the stage an "
        "\"eval_every\", such as 100");
  }
}

// The settings that a stage gives to a task, as the config's own are checked.
void CheckSet(ConfigFile& weights, const Curriculum& curriculum, std::size_t number, const FormTable& forms,
              bool plan, const Registry& registry) {
  for (const auto& [name, change] : curriculum.stages[number].set.tasks) {
    const TaskInfo* task = registry.Find(name);
    if (task == nullptr) continue;  // reported
    const std::string above = "tasks." + name;
    const TaskReport report(weights, [&](const Path& key) {
      std::string dotted = above;
      for (const std::string& step : key) dotted += "." + step;
      Path path = curriculum.PathOf(number);
      path.insert(path.end(), {"set", dotted});
      return path;
    });
    for (const auto& [option, value] : change.options) {
      const OptionInfo* info = task->FindOption(option);
      if (info != nullptr && (info->kind == OptionKind::kPath || NamesChatFile(*info, value)))
        report.FailAtKey({"options", option}, "a stage cannot change a path; set it in the run config");
    }
    TaskConfig changed = Changed(forms.Own(name).settings, change);
    CheckTask(*task, changed, report);
    if (const auto problem = CheckTaskConfig(changed, plan)) report.FailAt({problem->key}, problem->message);
  }
}

// Where a task is named first.
Path PathOf(const Curriculum& curriculum, const std::string& task) {
  for (std::size_t stage = 0; stage < curriculum.stages.size(); ++stage) {
    for (const auto& [name, weight] : curriculum.stages[stage].weights) {
      if (name != task) continue;
      Path path = curriculum.PathOf(stage);
      path.insert(path.end(), {"weights", task});
      return path;
    }
  }
  return {};
}

}  // namespace

void CheckTask(const TaskInfo& task, TaskConfig& config, const TaskReport& report) {
  const VariantInfo* variant = task.FindVariant(config.variant);
  if (!variant) report.FailAt({"variant"}, NoSuchName("variant", config.variant, task.VariantNames()));
  CheckOptions(task, config, report);
  if (variant) CheckSettings(*variant, config, report);
}

std::vector<std::string> ModelProblems(const TaskInfo& task, const ModelInfo& model) {
  std::vector<std::string> problems;
  const auto check = [&](const std::vector<std::string>& wanted, const std::vector<std::string>& has,
                         const char* verb) {
    for (const std::string& name : wanted) {
      if (std::ranges::find(has, name) != has.end()) continue;
      problems.push_back("task " + task.name + " " + verb + " '" + name + "', which the model '" +
                         model.name + "' has not (" + JoinNames(has) + ")");
    }
  };
  check(task.inputs, model.InputNames(), "hands in");
  std::vector<std::string> outputs = model.OutputNames();
  const auto gives = [&](const char* output) { return std::ranges::find(outputs, output) != outputs.end(); };
  if (!gives("losses") && gives("logits") && gives("targets")) outputs.emplace_back("losses");  // AskedLosses
  check(task.outputs, outputs, "asks for");
  std::vector<std::string> sizes;
  for (const SizeInfo& size : model.sizes) sizes.push_back(size.name);
  std::vector<std::string> given;
  for (const VariantInfo& variant : task.variants) {
    for (const PassInfo& pass : variant.passes) {
      for (const auto& [name, most] : pass.sizes) {
        if (std::ranges::find(given, name) == given.end()) given.push_back(name);
      }
    }
  }
  check(given, sizes, "gives the size");
  return problems;
}

const TaskInfo* RequireTask(ConfigFile& file, const Path& path, const Registry& registry, NamedIn where) {
  if (const TaskInfo* task = registry.Find(path.back())) return task;
  const std::vector<std::string> names = TaskNames(registry);
  file.FailAtKey(path, "no such task" + DidYouMean(path.back(), names) + " (" + std::to_string(names.size()) +
                           " tasks: medley tasks; " + registry.SearchedWords() + ")" +
                           FurtherNameWords(path.back(), where) + Refused(registry));
  return nullptr;
}

bool CheckKind(const std::string& name, const std::string& kind, const Registry& registry,
               const TaskReport& report, bool begun) {
  if (kind.empty() || kind == name) return true;
  if (!detail::IsName(name)) {
    report.FailAt({"kind"}, "stands under '" + Printable(name) +
                                "', which is no name for a task: a letter from a to z, then letters, digits, "
                                "_ and -, 64 in all");
  } else if (!begun && registry.IsKind(name)) {
    report.FailAt({"kind"}, "'" + name +
                                "' is a task itself, so nothing else runs under that name; name the "
                                "entry otherwise, and in the weights too");
  } else if (!registry.IsKind(kind)) {
    const bool is_further = registry.Find(kind) != nullptr;
    report.FailAt({"kind"}, is_further
                                ? "'" + kind + "' is a name of this config's for " + registry.KindOf(kind) +
                                      "; say \"kind\": \"" + registry.KindOf(kind) + "\""
                                : "'" + Printable(kind) + "' is no kind of task" +
                                      DidYouMean(kind, KindNames(registry)) + " (medley tasks lists them; " +
                                      registry.SearchedWords() + ")" + Refused(registry));
  } else {
    return true;
  }
  return false;
}

void CheckCurriculumFits(ConfigFile& weights, const Curriculum& curriculum, const RunConfig& run,
                         const ModelInfo* model, const Registry& registry, ConfigFile* config) {
  const FormTable forms(run);
  for (std::size_t stage = 0; stage < curriculum.stages.size(); ++stage) {
    for (const auto& [name, weight] : curriculum.stages[stage].weights) {
      if (const auto own = run.tasks.find(name); own != run.tasks.end() && !own->second.kind.empty())
        continue;  // the config's own: what is wrong with its kind was reported
      Path path = curriculum.PathOf(stage);
      path.insert(path.end(), {"weights", name});
      RequireTask(weights, path, registry, config != nullptr ? NamedIn::kWeights : NamedIn::kEdit);
    }
    CheckSet(weights, curriculum, stage, forms, run.plan, registry);
  }
  CheckEvaluations(weights, curriculum, run);
  const bool needs_tokenizer = model == nullptr || model->tokenizer;
  const std::set<std::string> vocabulary =
      needs_tokenizer ? VocabularyPieces(run.tokenizer) : std::set<std::string>();
  for (const std::string& name : curriculum.Named()) {
    const TaskInfo* task = registry.Find(name);
    if (task == nullptr) continue;  // reported
    const Report report = [&](const std::string& key, const std::string& message) {
      config != nullptr ? config->FailAt({key}, message)
                        : weights.FailAtKey(PathOf(curriculum, name), message);
    };
    if (model != nullptr) {
      for (const std::string& problem : ModelProblems(*task, *model)) report("model", problem);
    }
    for (const OptionInfo& option : task->options) {
      if (option.required && forms.Own(name).settings.options.count(option.name) == 0)
        report("tasks", "task " + name + " needs tasks." + name + ".options." + option.name + ", " +
                            option.Allowed() + " (" + option.summary + ")");
    }
    CheckSpecialTokens(*task, vocabulary, report);
  }
}

}  // namespace medley

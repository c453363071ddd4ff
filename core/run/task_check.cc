#include <medley/run/task_check.h>

#include <algorithm>
#include <system_error>

#include <medley/base/files.h>
#include <medley/base/suggest.h>
#include <medley/step/execution.h>

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

void CheckOptions(const TaskInfo& task, TaskConfig& config, const TaskReport& report) {
  std::vector<std::string> known;
  for (const OptionInfo& option : task.options) known.push_back(option.name);
  for (auto& [option, value] : config.options) {
    const OptionInfo* info = task.FindOption(option);
    if (info == nullptr) {
      report.FailAtKey({"options", option}, NoSuchName("option", option, known));
    } else if (const std::string problem = info->Problem(value); !problem.empty()) {
      report.FailAt({"options", option}, problem);
    } else if (info->kind == OptionKind::kPath) {
      CheckPath(option, std::get<std::string>(value), report);
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
  const bool all_known = std::none_of(problems.begin(), problems.end(),
                                      [](const SettingProblem& problem) { return problem.is_unknown_name; });
  const Execution execution{.way = {}, .term_weights = config.terms};
  double sum = 0;
  for (const TermInfo& term : variant.terms) sum += TermWeight(execution, term);
  if (all_known && !config.terms.empty() && sum <= 0)
    report.FailAt({"terms"}, "every term has the weight 0, so nothing would be learned");
}

}  // namespace

void CheckTask(const TaskInfo& task, TaskConfig& config, const TaskReport& report) {
  const VariantInfo* variant = task.FindVariant(config.variant);
  if (!variant) report.FailAt({"variant"}, NoSuchName("variant", config.variant, task.VariantNames()));
  CheckOptions(task, config, report);
  if (variant) CheckSettings(*variant, config, report);
}

}  // namespace medley

#include <medley/run/task_check.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <medley/base/suggest.h>
#include <medley/step/execution.h>

namespace medley {
namespace {

std::string Number(double value) { return nlohmann::json(value).dump(); }

void CheckOptions(const TaskInfo& task, const TaskConfig& config, const TaskReport& report) {
  std::vector<std::string> known;
  for (const OptionInfo& option : task.options) known.push_back(option.name);
  for (const auto& entry : config.options) {
    const std::string& option = entry.first;
    const double value = entry.second;
    const auto info = std::find_if(task.options.begin(), task.options.end(),
                                   [&](const OptionInfo& o) { return o.name == option; });
    if (info == task.options.end()) {
      report.FailAtKey({"options", option}, NoSuchName("option", option, known));
    } else if (!(value >= info->low && value <= info->high)) {
      report.FailAt({"options", option}, "expected " + Number(info->low) + " to " + Number(info->high) +
                                             " (" + info->summary + "), found " + Number(value));
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

void CheckTask(const TaskInfo& task, const TaskConfig& config, const TaskReport& report) {
  const VariantInfo* variant = task.FindVariant(config.variant);
  if (!variant) report.FailAt({"variant"}, NoSuchName("variant", config.variant, task.VariantNames()));
  CheckOptions(task, config, report);
  if (variant) CheckSettings(*variant, config, report);
}

}  // namespace medley

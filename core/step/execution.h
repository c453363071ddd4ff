#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/config/mode.h>
#include <medley/config/run_config.h>
#include <medley/plugin/task_info.h>

namespace medley {

// How the draws of a task are executed.
struct Execution {
  Way way{};
  std::int64_t micro_rows = 0;                                // rows of one forward; 0: all of the draw
  std::map<std::string, double, std::less<>> term_weights{};  // overrides of the spec's
};
// As the config alone has it: what it pins, and the defaults.
Execution ExecutionOf(const TaskConfig& config, const VariantInfo& variant);
double TermWeight(const Execution& execution, const TermInfo& term);

// By the spec: joint always, sequential where nothing is carried, two-stage where something is. What the
// graph says besides is asked on the first draw.
std::vector<Mode> LegalModes(const VariantInfo& variant);
// Why the variant cannot have the mode, as a sentence without its end; "" where it can.
std::string WhyIllegal(Mode mode, const VariantInfo& variant);
// The mode without a pin: of those that repeat no forward the one that keeps the least.
Mode DefaultMode(const VariantInfo& variant);
// The legal mode that keeps the least, whatever it repeats.
Mode SmallestMode(const VariantInfo& variant);

// What of a task's settings its variant cannot have.
struct SettingProblem {
  std::vector<std::string> path;  // below the task's: {"mode"}, {"terms", "answer"}
  bool is_unknown_name = false;   // the last of the path names nothing
  std::string message;
};
std::vector<SettingProblem> CheckExecution(const VariantInfo& variant, std::optional<Mode> mode,
                                           const std::map<std::string, double, std::less<>>& terms);

}  // namespace medley

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
// What the config alone says: what it pins, and the defaults. An unknown mode counts as not given.
Execution ExecutionOf(const TaskConfig& config, const VariantInfo& variant);
// The weight of a term: the execution's, where it has one, else the spec's.
double TermWeight(const Execution& execution, const TermInfo& term);

// Modes that the spec allows, in the order of kModes: joint always, sequential where nothing is carried,
// two-stage where something is. What the graph says besides is asked on the first draw.
std::vector<Mode> LegalModes(const VariantInfo& variant);
// The reason why the variant cannot have the mode, as a sentence without its end; "" where it can.
std::string WhyIllegal(Mode mode, const VariantInfo& variant);
// The mode without a pin: of those that repeat no forward the one that keeps the least.
Mode DefaultMode(const VariantInfo& variant);
// The legal mode that keeps the least, whatever it repeats.
Mode SmallestMode(const VariantInfo& variant);

// A setting of a task that its variant cannot have.
struct SettingProblem {
  std::vector<std::string> path;  // below the task's: {"mode"}, {"terms", "answer"}
  bool is_unknown_name = false;   // the last of the path names nothing
  std::string message;
};
// All that is wrong with a mode (nothing: none is asked for) and with weights of terms; throws nothing.
std::vector<SettingProblem> CheckExecution(const VariantInfo& variant, std::optional<Mode> mode,
                                           const std::map<std::string, double, std::less<>>& terms);

}  // namespace medley

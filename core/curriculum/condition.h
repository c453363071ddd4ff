#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/field.h>

namespace medley {

// When a stage ends, in counts that begin with it: only what a second run reproduces.
struct Condition {
  enum class Kind { kSteps, kRows, kLoss, kScore, kAll, kAny };

  Kind kind = Kind::kSteps;
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  std::optional<std::string> of;  // with rows: of this task; else of all
  std::string loss;               // the task whose smoothed loss it is
  double below = 0;
  std::string score;                        // the task
  std::optional<double> at_least, at_most;  // one of them
  std::int64_t evaluations = 1;             // in a row
  std::vector<Condition> all, any;
};

template <>
struct EnumNames<Condition::Kind> {
  static constexpr std::array<std::string_view, 6> kNames = {"steps", "rows", "loss", "score", "all", "any"};
};

inline constexpr std::int64_t kMostEvaluations = 100;  // in a row

// Its leaves, in the order in which they stand.
std::vector<const Condition*> Leaves(const Condition& condition);
// The task that a leaf names, "" for none.
std::string TaskOf(const Condition& leaf);

}  // namespace medley

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/eval/score_comparison.h>
#include <medley/report/statistics.h>
#include <medley/runs/groups.h>

namespace medley {

// Of fewer seeds an interval is so wide that it tells nothing, or right by luck: numbers only.
inline constexpr std::size_t kFewestSeeds = 3;

// Of a group from the first one, in a row.
struct GroupDifference {
  Interval difference{};                  // this group's mean less the first one's
  bool is_paired = false;                 // seed by seed, else by Welch's formula
  std::size_t pairs = 0;                  // seeds that both have
  std::optional<ScoreVerdict> verdict{};  // nothing: no interval
};
struct GroupCell {
  std::map<std::int64_t, double> values{};  // by seed
  Interval mean{};                          // over them; NaN ends below kFewestSeeds, or without any spread
  std::optional<GroupDifference> difference{};  // nothing of the first group, and where one has no value
};
// A task's score, or the mean of the tasks' held-out losses.
struct GroupRow {
  std::string name{};
  std::string metric{};
  bool higher_is_better = true;
  std::vector<GroupCell> cells{};  // as many as there are groups
};
struct ComparedGroup {
  std::string label{};  // "A", "B"
  std::string name{};
  std::vector<std::int64_t> seeds{};
  std::vector<std::string> differs{};  // from the first one's config, "seed" apart: "steps: 300 -> 600"
  std::size_t better = 0, worse = 0, alike = 0;  // tasks by verdict
};

struct GroupComparison {
  std::vector<ComparedGroup> groups{};  // the first is what the others are compared with
  std::vector<GroupRow> tasks{};        // by name
  GroupRow mean_loss{};                 // of tasks that every run has a loss of
  double confidence = 0.95;  // of the interval of each difference: in a row all of them hold 95 times in 100
  std::vector<std::string> before{};  // lines to be read before any number
  std::vector<std::string> after{};   // and how the numbers were made
};

// Compares runs by their last scores. A difference is paired by seed where the configs of the two groups
// differ in one thing at most and enough seeds are in both, else it is Welch's; with several groups its
// interval is wider (Bonferroni's). Scores of unlike rows get no interval and no verdict, those of unlike
// metrics no difference.
GroupComparison CompareGroups(const std::vector<RunGroup>& groups);

}  // namespace medley

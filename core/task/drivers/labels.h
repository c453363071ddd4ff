#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <medley/base/error.h>

namespace medley {

// The label of a row: each aligned range of `labels` rows holds every label once, and so does each aligned
// range of passes * labels rows among the rows of one remainder by `passes`. The second keeps labels and
// passes apart where row r makes pass r mod passes (`fused`): with row mod labels each pass would see some
// labels only.
constexpr int BalancedLabel(std::int64_t row, int labels, int passes = 1) {
  const std::int64_t period = std::lcm(passes, labels);
  return static_cast<int>((row + row / period) % labels);
}

// What the best answer gets that is the same for every row: 1 where the label is the most frequent one, else
// 0. A negative label is none. With balanced labels it is what QuestionSpec calls chance, also where some
// rows are not asked some questions: the 4/9 of relposition_qa are this answer's; guessing gets 47/108 there.
// `trained`: how often training shows each label, where that is known, and then decides.
inline std::vector<double> MostFrequentIsRight(const std::vector<std::int64_t>& labels,
                                               const std::vector<std::int64_t>& trained = {}) {
  std::map<std::int64_t, std::int64_t> times;
  std::int64_t best = std::ranges::max_element(trained) - trained.begin();
  for (const std::int64_t label : labels) {
    if (trained.empty() && label >= 0 && ++times[label] > times[best]) best = label;
  }
  std::vector<double> right;
  for (const std::int64_t label : labels) right.push_back(label == best ? 1 : 0);
  return right;
}

// What Draw gave for a row must be 0 <= drawn < count; else an Error with the row and `what` ("label of
// 'colour'").
inline void CheckDrawn(std::int64_t row, const std::string& what, std::int64_t drawn, std::int64_t count) {
  if (drawn >= 0 && drawn < count) return;
  throw Error("row " + std::to_string(row) + ": Draw gave " + std::to_string(drawn) + " as the " + what +
              "; expected 0 to " + std::to_string(count - 1));
}

}  // namespace medley

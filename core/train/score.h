#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/report/picture.h>
#include <medley/report/statistics.h>

namespace medley {

// A figure that is shown beside a score.
struct Figure {
  Interval value;         // see MeanInterval
  std::int64_t rows = 0;  // that count in it
};

// How well a task is done on rows that are never trained.
struct TaskScore {
  std::string metric;
  bool higher_is_better = true;
  Interval score;  // mean over the rows and its 95 % interval, see MeanInterval
  std::optional<double> chance;
  std::map<std::string, double> trivial;  // mean of answers that need no learning
  std::map<std::string, Figure> figures;
  std::int64_t rows = 0;
  double loss = 0;  // weighted terms, as in training
  std::vector<std::vector<Picture>>
      examples;  // a row each: input, target, output; empty for tasks without pictures
  // For the comparison with another run:
  std::vector<double> row_scores;
  std::string rows_digest;  // of the rows' pictures, or of all columns where there are none
};
using Scores = std::map<std::string, TaskScore>;

}  // namespace medley

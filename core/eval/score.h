#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/report/picture.h>
#include <medley/report/statistics.h>
#include <medley/task/answer.h>

namespace medley {

// A figure that is shown beside a score.
struct Figure {
  Interval value;         // see MeanInterval
  std::int64_t rows = 0;  // that count in it
};

// A row as people look at it; either list may be empty.
struct Example {
  std::vector<Picture> pictures;  // those there are of input, target, output
  std::vector<Answer> answers;
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
  std::int64_t rows_at_once = 0;  // of one forward: what fitted
  double loss = 0;                // weighted terms, as in training
  std::vector<Example> examples;  // the first rows
  // For the comparison with another run:
  std::vector<double> row_scores;
  std::string rows_digest;  // of the rows' pictures, or of all columns where there are none
};
using Scores = std::map<std::string, TaskScore>;

}  // namespace medley

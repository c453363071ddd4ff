#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/report/picture.h>
#include <medley/report/score.h>
#include <medley/report/statistics.h>
#include <medley/task/answer.h>

namespace medley {

// A row as people look at it; either list may be empty.
struct Example {
  std::vector<Picture> pictures;  // those there are of input, target, output
  std::vector<Answer> answers;
};

// A score with all that an evaluation found.
struct TaskScore : ScoreRecord {
  std::int64_t rows_at_once = 0;      // of one forward: what fitted
  std::vector<Example> examples;      // the first rows
  std::vector<std::string> pictures;  // what theirs are
  // What a comparison with another run needs:
  std::vector<double> row_scores;
  std::optional<ScoreRange> range;  // that the spec says
  RowItems row_items;               // see MeanInterval
  std::string rows_digest;          // of the rows' pictures, or of all columns where there are none
};
using Scores = std::map<std::string, TaskScore>;

}  // namespace medley

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <medley/report/picture.h>
#include <medley/report/score.h>
#include <medley/train/failure.h>

namespace medley {

// What the evaluation of one task came to, by whichever process of a run made it.
struct TaskEvaluation {
  std::string task;
  std::optional<Failure> failure;  // then there is no score
  ScoreRecord score;
  std::int64_t rows_at_once = 0;      // of one forward: what fitted; 0 where it failed
  std::optional<Picture> sheet;       // of a task that has pictures to show
  std::vector<std::string> warnings;  // for people
};

// For another process, which reads the same bits: also of numbers that are none.
std::string ToBytes(const std::vector<TaskEvaluation>& evaluations);
std::vector<TaskEvaluation> TaskEvaluationsOf(const std::string& bytes);

}  // namespace medley

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <medley/curriculum/condition.h>

// Conditions in few words.
namespace medley::conditions {

inline Condition Steps(std::int64_t steps) {
  Condition condition;
  condition.steps = steps;
  return condition;
}

inline Condition Rows(std::int64_t rows, const std::string& of = "") {
  Condition condition;
  condition.kind = Condition::Kind::kRows;
  condition.rows = rows;
  if (!of.empty()) condition.of = of;
  return condition;
}

inline Condition LossBelow(const std::string& task, double below) {
  Condition condition;
  condition.kind = Condition::Kind::kLoss;
  condition.loss = task;
  condition.below = below;
  return condition;
}

inline Condition ScoreOf(const std::string& task, std::int64_t evaluations, double at_least) {
  Condition condition;
  condition.kind = Condition::Kind::kScore;
  condition.score = task;
  condition.evaluations = evaluations;
  condition.at_least = at_least;
  return condition;
}

inline Condition All(std::vector<Condition> parts) {
  Condition condition;
  condition.kind = Condition::Kind::kAll;
  condition.all = std::move(parts);
  return condition;
}

inline Condition Any(std::vector<Condition> parts) {
  Condition condition;
  condition.kind = Condition::Kind::kAny;
  condition.any = std::move(parts);
  return condition;
}

}  // namespace medley::conditions

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <medley/curriculum/condition.h>

// Conditions in few words.
namespace medley::conditions {

inline Condition Steps(std::int64_t steps) { return {until::Steps{.steps = steps}}; }

inline Condition Rows(std::int64_t rows) { return {until::Rows{.rows = rows}}; }
inline Condition Rows(std::int64_t rows, const std::string& of) {
  return {until::Rows{.rows = rows, .of = of}};
}

inline Condition LossBelow(const std::string& task, double below) {
  return {until::Loss{.loss = task, .below = below}};
}

inline Condition ScoreOf(const std::string& task, std::int64_t evaluations, double at_least) {
  return {until::Score{.score = task, .at_least = at_least, .evaluations = evaluations}};
}

inline Condition All(std::vector<Condition> parts) { return {until::All{.parts = std::move(parts)}}; }

inline Condition Any(std::vector<Condition> parts) { return {until::Any{.parts = std::move(parts)}}; }

}  // namespace medley::conditions

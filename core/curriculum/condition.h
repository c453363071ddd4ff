#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <medley/config/field.h>
#include <medley/curriculum/stage_counts.h>

namespace medley {

struct Condition;

// What losses and scores are taken to say; the last two for asking how long a stage may be.
enum class Measured { kAsCounted, kAlwaysGood, kNeverGood };

// The kinds of conditions. A kind is a struct and its name in Kind, and nothing else knows it. It has
//   kKey      the first of its fields, which tells it from the others in the weights file
//   Fields    what stands in the file
//   Holds     whether it does, by what happened since the stage began
//   WaitsFor  how far it is, for a status line
//   Words     what it asks for
//   About     where it is about a task, which one
// One that joins others has these as `parts`, kBetween for the words of two, and a Holds that is told how
// many of them hold and how many do not.
namespace until {

// The task that a condition is about, with the field that names it. The stage draws it, or any stage does
// where it is its score that counts.
struct Subject {
  std::string task;
  std::string_view field;
  bool is_scored = false;
};

// As JSON has it, so that reading it gives the same number.
std::string Exact(double value);
std::string InThreeDigits(double value);

struct Steps {
  static constexpr std::string_view kKey = "steps";
  std::int64_t steps = 0;

  template <typename Visitor>
  void Fields(Visitor& visit) {
    visit(steps, {.name = kKey, .help = "Of the stage", .required = true, .low = 1});
  }
  bool Holds(const StageCounts& counts, Measured) const { return counts.steps() >= steps; }
  std::string WaitsFor(const StageCounts& counts) const {
    return "step " + std::to_string(std::min(counts.steps(), steps)) + " of " + std::to_string(steps);
  }
  std::string Words() const { return std::to_string(steps) + " steps"; }
};

struct Rows {
  static constexpr std::string_view kKey = "rows";
  std::int64_t rows = 0;
  std::optional<std::string> of{};

  template <typename Visitor>
  void Fields(Visitor& visit) {
    visit(rows, {.name = kKey, .help = "Trained in the stage", .required = true, .low = 1});
    visit(of, {.name = "of", .help = "Of this task. Not given: of all tasks"});
  }
  bool Holds(const StageCounts& counts, Measured) const { return Trained(counts) >= rows; }
  std::string WaitsFor(const StageCounts& counts) const {
    return (of ? *of + " " : "") + std::to_string(std::min(Trained(counts), rows)) + " of " +
           std::to_string(rows) + " rows";
  }
  std::string Words() const { return std::to_string(rows) + " rows" + (of ? " of " + *of : ""); }
  std::optional<Subject> About() const {
    return of ? std::optional(Subject{.task = *of, .field = "of"}) : std::nullopt;
  }

  std::int64_t Trained(const StageCounts& counts) const { return counts.rows(of.value_or("")); }
};

// The smoothed loss of a task.
struct Loss {
  static constexpr std::string_view kKey = "loss";
  std::string loss{};  // the task
  double below = 0;

  template <typename Visitor>
  void Fields(Visitor& visit) {
    visit(loss, {.name = kKey,
                 .help = "A task of the stage: its loss, smoothed over some fifty of its steps",
                 .required = true});
    visit(below, {.name = "below", .help = "Holds below this", .required = true});
  }
  bool Holds(const StageCounts& counts, Measured measured) const {
    const StageCounts::Smoothed smoothed = counts.loss(loss);
    if (smoothed.steps < StageCounts::kFewestLosses) return false;
    return measured == Measured::kAsCounted ? smoothed.loss < below : measured == Measured::kAlwaysGood;
  }
  std::string WaitsFor(const StageCounts& counts) const {
    const StageCounts::Smoothed smoothed = counts.loss(loss);
    return loss + " loss " + (smoothed.steps == 0 ? "-" : InThreeDigits(smoothed.loss)) + ", below " +
           Exact(below);
  }
  std::string Words() const { return loss + "'s loss below " + Exact(below); }
  std::optional<Subject> About() const { return Subject{.task = loss, .field = kKey}; }
};

struct Score {
  static constexpr std::string_view kKey = "score";
  std::string score{};  // the task
  std::optional<double> at_least{}, at_most{};
  std::int64_t evaluations = 1;

  template <typename Visitor>
  void Fields(Visitor& visit) {
    visit(score, {.name = kKey,
                  .help = "A task: its score on eval.rows held-out rows, under the stage's settings",
                  .required = true});
    visit(at_least, {.name = "at_least", .help = "Holds from this upwards"});
    visit(at_most, {.name = "at_most", .help = "Holds from this downwards"});
    visit.OneOf({"at_least", "at_most"});
    visit(evaluations, {.name = "evaluations",
                        .help = "How many in a row must say so",
                        .low = 1,
                        .high = StageCounts::kMostEvaluations});
  }
  bool Holds(const StageCounts& counts, Measured measured) const {
    if (measured == Measured::kAsCounted) return InARow(counts) >= evaluations;
    return measured == Measured::kAlwaysGood && std::ssize(counts.scores(score)) >= evaluations;
  }
  std::string WaitsFor(const StageCounts& counts) const {
    const std::vector<double> scores = counts.scores(score);
    const std::string words = score + " " + (scores.empty() ? "-" : InThreeDigits(scores.back())) + " of " +
                              (at_least ? "" : "at most ") + Exact(Limit());
    if (evaluations == 1) return words;
    return words + " (" + std::to_string(std::min(InARow(counts), evaluations)) + " of " +
           std::to_string(evaluations) + " evaluations)";
  }
  std::string Words() const {
    return score + (at_least ? " at least " : " at most ") + Exact(Limit()) +
           (evaluations > 1 ? " in " + std::to_string(evaluations) + " evaluations" : "");
  }
  std::optional<Subject> About() const { return Subject{.task = score, .field = kKey, .is_scored = true}; }

  double Limit() const { return at_least ? *at_least : at_most.value_or(0); }
  // How many of the newest evaluations say so without a break.
  std::int64_t InARow(const StageCounts& counts) const {
    const std::vector<double> scores = counts.scores(score);
    const auto says = [&](double value) {
      return at_least ? value >= *at_least : at_most && value <= *at_most;
    };
    return std::distance(scores.rbegin(), std::find_if_not(scores.rbegin(), scores.rend(), says));
  }
};

struct All {
  static constexpr std::string_view kKey = "all", kBetween = " and ";
  std::vector<Condition> parts;

  template <typename Visitor>
  void Fields(Visitor& visit) {
    visit(parts, {.name = kKey, .help = "Holds where all of these do", .required = true});
  }
  static bool Holds(std::size_t, std::size_t waiting) { return waiting == 0; }
};

struct Any {
  static constexpr std::string_view kKey = "any", kBetween = " or ";
  std::vector<Condition> parts;

  template <typename Visitor>
  void Fields(Visitor& visit) {
    visit(parts, {.name = kKey, .help = "Holds where one of these does", .required = true});
  }
  static bool Holds(std::size_t holding, std::size_t) { return holding > 0; }
};

using Kind = std::variant<Steps, Rows, Loss, Score, All, Any>;

}  // namespace until

// When a stage ends, in counts that begin with it: only what a second run reproduces.
struct Condition {
  until::Kind kind{};
};

// The fields for FieldReader, FieldDumper and SchemaWriter.
template <typename Visitor>
void Fields(Visitor& visit, Condition& condition) {
  if (visit.Choose(condition.kind)) std::visit([&](auto& kind) { kind.Fields(visit); }, condition.kind);
}

// Its key in the file.
std::string_view KeyOf(const Condition& condition);
// Those that it joins; none where it joins no others. Good as long as the condition.
std::span<const Condition> PartsOf(const Condition& condition);
// What it and its parts are about, in the order in which they stand.
std::vector<until::Subject> SubjectsOf(const Condition& condition);

// kGone: it was about tasks that the run dropped; of conditions that are joined, all of them.
enum class Verdict { kWaits, kHolds, kGone };
using GoneTasks = std::map<std::string, std::string>;  // the reason, by task
Verdict Judge(const Condition& condition, const StageCounts& counts, const GoneTasks& gone = {},
              Measured measured = Measured::kAsCounted);

// How far it is, for a status line, without what is gone: "gold_direction_qa 0.62 of 0.8 or step 120 of
// 3000".
std::string WaitsFor(const Condition& condition, const StageCounts& counts, const GoneTasks& gone);
// "gold_direction_qa at least 0.8 in 2 evaluations or 3000 steps"
std::string InWords(const Condition& condition);

}  // namespace medley

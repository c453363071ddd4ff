#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/contract/contract_sample.h>
#include <medley/contract/unlike_rows.h>
#include <medley/model/model.h>
#include <medley/plugin/loaded_task.h>
#include <medley/step/step_executor.h>

namespace medley {

struct Judged;

// Holds tasks against their specs, each once in a run, and remembers which.
//
// A check runs the passes over rows, one row after the other, with all graphs alive, and compares what
// happened with the spec: forwards, terms and their graphs, constants, pictures, carries, model inputs and
// outputs, text width, and which pass's graph reaches which; then, after another row, again without graphs
// from the last pass to the first, which must give the same sums and carries. A term of weight 0 may lack a
// gradient: a figure to log. Neither Sample nor a pass may draw from libtorch's own generators. Rows are the
// same whenever and in whatever range they are sampled; what a few rows together give, and its gradient at
// the model's outputs, is what each gives, and is how it changes with them (LossCheck); their items are as
// many as are learned; and none is longer than the longest, which is no longer than the spec says. In a
// plugin's test, further: a task keeps no memory from one run of a row to the next, and a second instance
// gives what the first does.
//
// Sums are compared of neighbours, and of further rows of the stream where neighbours have one content
// (UnlikeRows). A term that could not be told so, or whose gradient is 0 in all of up to 32 rows, is named;
// in a run, of which a first draw may have nothing to teach yet, the latter after 50 draws.
//
// Computes no gradient of a parameter, and leaves no trace: a resumed run makes the check at another step
// than one that never stopped.
//
// Trainer's thread. After a throw (an Error, out of memory, an interrupt) the
// task counts as not checked, and nothing of it is kept.
class ContractCheck final : public StepExecutor::DrawCheck {
 public:
  using NotJudged = std::map<std::string, std::set<std::string>>;

  // Keeps the reference.
  ContractCheck(const Model& model, at::Device device) : model_(model), device_(device) {}

  // The task counts as checked from now on, for there is no room to check it.
  void Waive(const LoadedTask& task) { checked_.insert(&task); }
  bool Knows(const LoadedTask& task) const { return checked_.count(&task) > 0; }
  // On rows that show everything: of the first few from `from` on those with and without an item of each term
  // and ragged column, with few and with many. Throws one Error with all differences; an InputError where
  // none of its terms leads to a parameter that is trained. `thorough`: what a plugin's test has time for.
  void Check(LoadedTask& task, const RowRange& from, bool thorough = false);
  // Of an executor, before the step: the first draw of a task in another mode than joint is checked unless
  // that was done, and Watch looks at all.
  void CheckDraws(const std::vector<StepExecutor::Piece>& step) override;
  // Hands out, once, what of the losses of the tasks that passed could not be looked at: by task, in words.
  NotJudged TakeNotJudged() { return std::exchange(not_judged_, {}); }
  // Looks at the first draws of a checked task: an Error where a row is longer than the task's longest, or
  // where a term that had no gradient when it was checked does not add up now.
  void Watch(LoadedTask& task, const Batch& drawn);

 private:
  // Numbers of rows, counted from the first.
  struct Rows {
    std::vector<std::int64_t> shown;
    std::vector<std::int64_t> pairs;  // the first of two neighbours, of which both have what can be had
    std::int64_t sampled = 0;         // that there are
    RowSizes sizes{};                 // of all of them
    std::vector<RowContents> contents{};
  };
  struct Watched {
    LongestRows longest;
    std::int64_t draws = 0;
    std::optional<UnlikeRows> idle{};  // to be looked at again: a term moved nothing
  };
  std::vector<std::string> CompareRows(LoadedTask& task, const RowRange& from, const Rows& rows,
                                       const nlohmann::json& generators, bool thorough, Judged& judged);
  std::vector<std::string> CompareUnlikeRows(LoadedTask& task, const Rows& rows, UnlikeRows& unlike,
                                             bool thorough, Judged& judged);
  std::vector<std::string> CompareRowsAt(LoadedTask& task, std::vector<std::int64_t> places,
                                         const UnlikeRows& unlike, bool closely, Judged& judged);
  std::vector<std::string> CompareState(LoadedTask& task, const Batch& row) const;
  void NameUntold(const LoadedTask& task, const Judged& judged, bool and_idle);
  void LookAgain(LoadedTask& task, UnlikeRows& rows);
  Rows RowsToCheck(const LoadedTask& task, const RowRange& from) const;

  const Model& model_;
  at::Device device_;
  std::set<const LoadedTask*> checked_;
  NotJudged not_judged_;
  std::map<const LoadedTask*, Watched> watched_;  // not those of whom the check was waived
};

}  // namespace medley

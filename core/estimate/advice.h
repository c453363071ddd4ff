#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/estimate/estimate.h>

namespace medley {

// What people call forms; a form that is not there has its id. See FormNames.
using NamesOfForms = std::map<FormId, std::string>;
std::string NameOf(const FormId& form, const NamesOfForms& names);

// Mode, rows and accumulation of a task under a budget.
struct TaskAdvice {
  FormId form{};
  std::string variant;
  Way way{};
  Estimate::Recommendation best{};
  std::int64_t taken = 0;      // the peak, the rows that wait and caches
  double share = 0;            // of the budget, of these
  double evaluation = 0;       // the same of its evaluation; 0 where the run evaluates nothing
  bool as_configured = false;  // all rows in one forward, in no other way but for more rows
  bool changes_way = false;    // not even a row fits without repeating what the config's mode would not
  std::string balanced{};      // how it came to the usual rows; "": it did not have to
  bool is_measured = false;    // the peak, by a profile
};
struct Advice {
  std::int64_t budget = 0;               // bytes
  std::int64_t waiting = 0, caches = 0;  // bytes beside the peaks
  std::int64_t ranks = 1;                // of one of so many processes
  std::int64_t usual_rows = 0;           // see Plan
  std::vector<TaskAdvice> tasks;

  std::size_t changed() const;  // tasks that are not as configured
};
Advice AdviceOf(const Estimate& estimate, const Plan& plan);
// For people: a line a task, and what the columns are.
std::string AdviceTable(const Advice& advice, const NamesOfForms& names);
nlohmann::ordered_json ToJson(const Advice& advice);

// Whether a run fits, how full that is at most, and by what; or what is missing.
struct FitVerdict {
  bool fits = false, as_configured = false;
  std::size_t tasks = 0, changed = 0;  // the latter: in pieces, or in a mode that computes more
  double share = 0;                    // of the budget, at most
  std::optional<FormId> form{};        // whose that is, or which lacks the most; nothing: no task's
  bool evaluates = false;              // that is, in its evaluation
  std::int64_t missing = 0;            // bytes
  bool rows_wait = false;              // among them those of rows that wait
  std::size_t refused = 0;             // tasks that lack something
};
FitVerdict VerdictOf(const Advice& advice);
// `rows_wait`: on the device itself.
FitVerdict VerdictOf(const DoesNotFit& refusal, bool rows_wait);
// "fits, 99.3 % of 22.1 GiB at most (mem_canvas)"; `of`: words of the budget; "": they stand in front.
std::string Words(const FitVerdict& verdict, const std::string& of, const NamesOfForms& names);
// "yes", "in pieces: 3 of 9 tasks", "no: one row of zoom needs 1.5 GiB more"
std::string ShortWords(const FitVerdict& verdict, const NamesOfForms& names);
nlohmann::ordered_json ToJson(const FitVerdict& verdict);

}  // namespace medley

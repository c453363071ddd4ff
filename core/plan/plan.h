#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/curriculum/form.h>
#include <medley/plan/profile.h>
#include <medley/report/screen.h>

namespace medley {

inline constexpr std::int64_t kMostDrawRows = std::int64_t{1} << 20;  // the mixer's bound

// What a run asks of the planner for one form of a task.
struct TaskRequest {
  Form form{};
  std::string variant = "default";
  std::int64_t passes = 1;
  Mode preferred = Mode::kSequential;  // where it fits and repeats nothing
  std::int64_t rows = 0;               // of a draw; 0: as many as fill the budget
  // Pinned by the config; the planner chooses what is not.
  std::int64_t micro_rows = 0;
  std::optional<Mode> mode{};
  std::optional<RecomputedLayers> recomputed{};
  std::int64_t parts = 1;  // that a draw's rows are divided into, of which this is one: see PartsOf
  std::int64_t whole = 1;  // times the rows that are planned a draw has, which may wait here whole
};

struct PlanSetting {
  std::int64_t budget = 0;   // bytes
  std::int64_t machine = 0;  // bytes that the device has, which no advice exceeds; 0: not known
  // The CPU's allocator counts what was asked for, byte by byte; a GPU's rounds, splits and keeps, and gets a
  // margin.
  bool counts_exactly = true;
  std::int64_t draws_per_step = 1;
  std::int64_t waiting_draws = 0;  // whose rows lie on this device at once: the step's and those ahead
  std::int64_t draws_ahead = 0;    // of these, what data.ahead may lower
  std::int64_t data_bytes = 0;     // of tasks planned before: see Plan
  std::int64_t cache_bytes = 0;
  // Between draws the tables of tasks may be dropped, where there is no room for those of all.
  bool drops_tables = false;
  double balance = 0;  // as the run config's: see MakePlan
  // Rows of one forward that tasks mostly have; 0: the median of these tasks.
  std::int64_t usual_rows = 0;
};

// Bytes at a task's peak, line by line.
struct PeakLedger {
  std::int64_t gradients = 0;  // that are there at the peak, of the draw's and of earlier draws'
  std::int64_t saved = 0;      // for the backward, when the forward ends
  std::int64_t transient = 0;  // what exists for a moment
  std::int64_t margin = 0;
};

// How the draws of one form of a task are to run.
struct PlannedTask {
  FormId form;
  std::string variant;
  std::int64_t passes = 1;
  Way way{};
  std::int64_t rows = 0;            // of a draw, by all processes
  std::int64_t micro_rows = 0;      // of one forward; as many as rows where they run together
  std::int64_t predicted_peak = 0;  // bytes in all, without data_bytes and the margin
  std::int64_t tables = 0;          // of these, the task's own, where tables are dropped
  double ms_per_step = 0;           // by the probes; not the optimizer
  std::int64_t operations = 0;  // floating-point, of a step with rows of the largest lengths; 0: not known
  std::string why{};            // this way, where counted work or balance decided
  std::int64_t own_rows = 0;    // of one forward in its cheapest way, where the usual ones took their place
  std::vector<Way> finer{};     // that nobody measured, and that may take the usual rows with less work
  bool confirmed = false;       // was a step of so many rows measured?
  PeakLedger ledger{};
  std::map<std::string, std::int64_t> saved_by_pass{};  // bytes a row that each keeps for its backward
};

struct Plan {
  std::int64_t ranks = 1;  // processes that divide a draw's rows; bytes are those of one
  std::int64_t budget = 0;
  // What lives between steps, with the tables of the planned tasks unless those are dropped: then a draw has
  // its own, and others stay as far as there is room.
  MemoryLedger floor{};
  bool drops_tables = false;
  std::int64_t data_bytes = 0;   // rows that wait, and what tasks keep of their files, at most
  std::int64_t cache_bytes = 0;  // of these, the latter
  std::int64_t usual_rows = 0;   // of one forward, to which open rows were brought; 0: to none
  std::vector<PlannedTask> entries;

  std::int64_t floor_bytes() const { return floor.total(); }
  std::int64_t waiting_bytes() const { return data_bytes - cache_bytes; }
  // What the largest step of an entry takes in all: its peak, data_bytes and the margin. Whatever is
  // said of the budget in percent is of these bytes.
  std::int64_t Taken(const PlannedTask& entry) const {
    return entry.predicted_peak + data_bytes + entry.ledger.margin;
  }
  double ShareOfBudget(const PlannedTask& entry) const;
  const PlannedTask* Find(const FormId& form) const;
};
// Floating-point operations of a row, at least 1; nothing where nobody counted them.
std::optional<std::int64_t> OperationsOfARow(const PlannedTask& planned);

// A task that cannot be planned, and the smallest change that lets it fit.
struct Refusal {
  std::optional<FormId> form;  // nothing: the floor alone is too large
  std::int64_t missing = 0;    // bytes
  // Overrides of the run config: "data.ahead=1", "tasks.zoom.micro_rows=4", "budget=123456"; "" where nothing
  // helps on this machine.
  std::string change;
  std::string words;
  bool of_evaluation = false;  // rather than of a step
};

// Exit code 5; the message has a paragraph a refusal.
class DoesNotFit : public Error {
 public:
  DoesNotFit(const std::string& message, std::vector<Refusal> refusals);
  ~DoesNotFit() override;
  const std::vector<Refusal>& refusals() const { return refusals_; }

 private:
  std::vector<Refusal> refusals_;
};

// Mode, rows and micro-batches of every task, from measured bytes and counted work: deterministic, runs
// nothing. No measured time decides anything, so that a run that is planned again gets the same plan.
//
//   1. The mode with the fewest forwards in which something fits: of passes, with those that two-stage
//      repeats, and the share of the layers that are recomputed. So what repeats forwards is taken only where
//      nothing else fits.
//   2. rows 0 ("auto"): the most rows, all in one forward. rows n: the fewest micro-batches, of equal size.
//   3. The least floating-point operations: joint passes make once what they share of a picture.
//   4. The preferred mode; then the modes' order.
//
// With `balance` above 0, a task whose open rows are less than that part of the usual ones (the median of all
// open rows, by the rules above) has as many: in one forward, in the way of least counted work that brings it
// there; where none does in micro-batches. No other task's rows move.
//
// Every task is planned as if it had the device to itself, which it has: tasks run one after another.
// Throws DoesNotFit for all tasks that cannot be planned. Needs a profile of every task: an Error where one
// has none.
Plan MakePlan(const Profile& profile, const std::vector<TaskRequest>& requests, const PlanSetting& setting);

// plan.json. Reading throws an InputError that names the file; `file` is for these words alone.
nlohmann::ordered_json ToJson(const Plan& plan);
Plan PlanFromJson(const nlohmann::ordered_json& json, const std::string& file);

// "6 tasks, joint or two_stage, 24 to 96 rows a draw, at most 61.3 % of 1.0 GiB (mem_canvas)". Of forms,
// where stages make more of them than there are tasks.
std::string PlanInALine(const Plan& plan, std::size_t tasks);
// A table of the entries, and what the budget is made of.
std::string PlanTable(const Plan& plan, std::size_t columns = ScreenColumns());

}  // namespace medley

// How far predicted peaks are from measured ones, in every mode of every task, up to the rows that fill the
// budget in that mode, in one forward and in micro-batches. As a plan predicts them: from three probes and a
// step at the planned rows that confirms them. Checked with rows that were no probes.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <medley/memory/meter.h>
#include <medley/plan/plan_request.h>
#include <medley/report/table.h>

#include "tools/bench/memory_bench.h"

namespace medley::bench {
namespace {

constexpr const char* kModesBudget = "100MiB";  // the modes are many
constexpr int kRounds = 3;                      // of confirming, as in a run's plan

constexpr const char* kColumns =
    "  probes alone  the line through three probes, at the rows planned from it, before a step confirmed "
    "them\n"
    "  planned       other rows of the largest lengths, as many   (goal: 0.00 % on the CPU, 2 % on a GPU)\n"
    "  between       the same, two rows and a third and two thirds of the way from probe to probe\n"
    "  drawn         rows as training draws them, as many as in both, and one\n"
    "  under         points that took more than predicted   (goal: none)";

std::string WayName(const Way& way) {
  return std::string(ModeName(way.mode)) + (way.recomputed.any() ? ", recomputed" : "");
}

double ErrorOf(std::int64_t predicted, std::int64_t measured) {
  return std::abs(static_cast<double>(predicted - measured)) / static_cast<double>(measured);
}

// Predictions beside what was measured; errors as fractions of it.
struct Checked {
  std::int64_t points = 0, under = 0;
  double worst = 0, worst_under = 0;

  void Add(std::int64_t predicted, std::int64_t measured) {
    const double error = ErrorOf(predicted, measured);
    const bool is_under = measured > predicted;
    Add({.points = 1, .under = is_under, .worst = error, .worst_under = is_under ? error : 0});
  }
  void Add(const Checked& other) {
    points += other.points;
    under += other.under;
    worst = std::max(worst, other.worst);
    worst_under = std::max(worst_under, other.worst_under);
  }
};

struct Errors {
  std::int64_t ways = 0;     // numbers of modes
  double probes_alone = 0;   // at the planned rows, before they were confirmed
  Checked planned, between;  // rows of the largest lengths
  Checked drawn;

  void Add(const Errors& other) {
    ways += other.ways;
    probes_alone = std::max(probes_alone, other.probes_alone);
    planned.Add(other.planned);
    between.Add(other.between);
    drawn.Add(other.drawn);
  }
  static std::vector<std::string> Heads() {
    return {"probes alone", "planned", "between", "drawn", "points", "under"};
  }
  std::vector<std::string> Cells() const {
    Checked all = planned;
    all.Add(between);
    all.Add(drawn);
    const std::string worst = all.under > 0 ? " by at most " + Percent(all.worst_under, 3) : "";
    return {Percent(probes_alone, 3), Percent(planned.worst, 3),  Percent(between.worst, 3),
            Percent(drawn.worst, 2),  std::to_string(all.points), std::to_string(all.under) + worst};
  }
};

// Two rows, and a third and two thirds of the way from each probe to the next.
std::set<std::int64_t> RowsBetween(const std::vector<Probe>& probes) {
  std::set<std::int64_t> sizes, between;
  for (const Probe& probe : probes) sizes.insert(probe.rows);
  if (*sizes.rbegin() > 2) between.insert(2);
  for (auto left = sizes.begin(), right = std::next(left); right != sizes.end(); ++left, ++right) {
    for (const std::int64_t thirds : {1, 2}) {
      const std::int64_t rows = *left + thirds * (*right - *left) / 3;
      if (rows > *left) between.insert(rows);
    }
  }
  return between;
}

// One task in one mode.
class CheckedWay {
 public:
  // Measures. `room`: bytes above the floor.
  CheckedWay(Run& run, Prober& prober, LoadedTask& task, Execution execution, std::int64_t room)
      : run_(run), prober_(prober), task_(task), execution_(std::move(execution)), room_(room) {
    errors_.ways = 1;
    prober_.Measure(task_, execution_, profile_);
  }

  Errors Check() {
    rows_ = Plan(std::int64_t{1} << 20, /*in_pieces=*/false);
    CheckUpTo(rows_, /*in_pieces=*/false);
    CheckUpTo(Plan(std::max<std::int64_t>(1, rows_ / 2), /*in_pieces=*/true), /*in_pieces=*/true);
    return errors_;
  }
  std::int64_t rows() const { return rows_; }

 private:
  const std::vector<Probe>& Probes(bool in_pieces) const {
    const ModeProfile& mode = profile_.modes.front();
    return in_pieces ? mode.pieces : mode.whole;
  }
  // The most rows of one forward that fit, confirmed.
  std::int64_t Plan(std::int64_t most, bool in_pieces) {
    PeakLines lines(Probes(in_pieces));
    std::int64_t rows = lines.LargestRows(room_, most);
    for (int round = 0; round < kRounds && lines.largest_probe() < rows; ++round) {
      execution_.micro_rows = in_pieces ? rows : 0;
      prober_.Confirm(task_, execution_, rows, profile_);
      const double error = ErrorOf(lines.At(rows), Probes(in_pieces).back().bytes);
      if (round == 0) errors_.probes_alone = std::max(errors_.probes_alone, error);
      lines = PeakLines(Probes(in_pieces));
      rows = lines.LargestRows(room_, most);
    }
    return rows;
  }

  void CheckUpTo(std::int64_t planned, bool in_pieces) {
    CheckOne(planned, in_pieces, /*longest=*/true, errors_.planned);
    CheckOne(1, in_pieces, /*longest=*/false, errors_.drawn);
    CheckOne(planned, in_pieces, /*longest=*/false, errors_.drawn);
    for (const std::int64_t rows : RowsBetween(Probes(in_pieces))) {
      if (rows >= planned) continue;
      CheckOne(rows, in_pieces, /*longest=*/true, errors_.between);
      CheckOne(rows, in_pieces, /*longest=*/false, errors_.drawn);
    }
  }
  // A step of `rows`, or of twice as many in two micro-batches. Bytes above the floor.
  void CheckOne(std::int64_t rows, bool in_pieces, bool longest, Checked& checked) {
    execution_.micro_rows = in_pieces ? rows : 0;
    const Batch batch =
        SampleRows(run_, task_, longest ? 0 : 1000 + rows, in_pieces ? 2 * rows : rows, longest);
    const MeasuredStep step = MeasureStep(run_, task_, batch, execution_);
    const std::int64_t predicted = PeakLines(Probes(in_pieces)).At(rows), measured = step.peak - step.floor;
    checked.Add(predicted, measured);
    if (measured <= predicted) return;
    Say("under: " + task_.info().name + ", " + WayName(execution_.way) + ", " + std::to_string(rows) +
        (longest ? " longest" : " drawn") + " rows" + (in_pieces ? " in each of two micro-batches" : "") +
        ": " + std::to_string(predicted) + " B predicted, " + std::to_string(measured) + " B measured");
  }

  Run& run_;
  Prober& prober_;
  LoadedTask& task_;
  Execution execution_;
  std::int64_t room_, rows_ = 0;
  TaskProfile profile_;
  Errors errors_;
};

using Cells = std::vector<std::string>;

Cells Row(Cells first, const Cells& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

}  // namespace

void BenchPrediction(Session& session) {
  const auto made = MakeRun(session.asked(), kModesBudget);
  Run& run = *made;
  const std::int64_t room = run.budget.bytes - ReadMemory(run.device).now;
  Prober prober(*run.model, *run.executor, run.device, static_cast<std::uint64_t>(run.config.seed),
                run.budget.free);
  std::map<std::string, Errors> by_mode;
  Table table(Row({"task", "modes", "rows"}, Errors::Heads()));
  for (const std::string& name : run.NamedTasks()) {
    const Form form = run.forms.Own(name);
    LoadedTask& task = run.host->Get(form);
    prober.CheckContract(*run.contract, task);
    Errors of_task;
    std::int64_t fewest = std::int64_t{1} << 20, most = 0;
    for (const Way& way : AllWays(RequestOf(form, task.variant()), task.variant())) {
      CheckedWay checked(run, prober, task, {.way = way, .term_weights = form.settings.terms}, room);
      const Errors errors = checked.Check();
      of_task.Add(errors);
      by_mode[WayName(way)].Add(errors);
      by_mode["all"].Add(errors);
      fewest = std::min(fewest, checked.rows());
      most = std::max(most, checked.rows());
    }
    prober.ForgetRows();
    table.Add(
        Row({name, std::to_string(of_task.ways), std::to_string(fewest) + " to " + std::to_string(most)},
            of_task.Cells()));
  }
  Say(table.ToText());
  Table modes(Row({"mode", "tasks"}, Errors::Heads()));
  for (const auto& [mode, errors] : by_mode)
    modes.Add(Row({mode, std::to_string(errors.ways)}, errors.Cells()));
  Say(modes.ToText());
  Say("largest errors, of the bytes above the floor; budget " + Megabytes(run.budget.bytes) + "\n" +
      kColumns);
}

}  // namespace medley::bench

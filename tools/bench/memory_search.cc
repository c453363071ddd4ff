// What it costs to find the rows that fit: the planner's probes, beside searches that try sizes until memory
// runs out. All look for the same: the most rows of a task, in the planned mode, under the same bytes. The
// searches get their rows for nothing; sampling does not count. Seconds are the processor's.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <medley/memory/cpu_allocator.h>
#include <medley/report/table.h>

#include "tools/bench/memory_bench.h"

namespace medley::bench {
namespace {

constexpr std::int64_t kFirstTry = 1024;  // rows

struct Found {
  std::int64_t rows = 0, steps = 0, overflows = 0;
  double seconds = 0;

  void Add(const Found& other) {
    rows += other.rows;
    steps += other.steps;
    overflows += other.overflows;
    seconds += other.seconds;
  }
};

// Tries a step of so many rows, as the planner's task gets them: what is kept for rows that wait is left out.
class Trials {
 public:
  Trials(AutoRun& planned, const PlannedTask& entry)
      : run_(planned.run()),
        task_(planned.task(entry.form)),
        execution_(planned.execution(entry.form)),
        bytes_(planned.plan().budget - planned.plan().data_bytes),
        row_(SampleRows(run_, task_, 0, 1, /*longest=*/true)) {}

  bool Fits(std::int64_t rows) {
    const Batch batch = Rows(rows);
    const LimitedCpu limited(run_.device, bytes_ + ReadCpuMemory().data_now);
    const MeasuredStep step = MeasureStep(run_, task_, batch, execution_);
    ++found.steps;
    found.overflows += step.overflowed ? 1 : 0;
    found.seconds += step.seconds;
    return !step.overflowed;
  }

  Found found;

 private:
  Batch Rows(std::int64_t rows) const {
    const MemoryOwnerScope data(MemoryOwner::kData);
    return row_.Take(std::vector<std::int64_t>(static_cast<std::size_t>(rows), 0));
  }

  Run& run_;
  LoadedTask& task_;
  const Execution& execution_;
  std::int64_t bytes_;
  Batch row_;
};

// As Accelerate's find_executable_batch_size: from a size that is too large, by a factor, until one fits.
Found Shrink(Trials trials, double factor) {
  std::int64_t rows = kFirstTry;
  while (rows > 0 && !trials.Fits(rows)) rows = static_cast<std::int64_t>(static_cast<double>(rows) * factor);
  trials.found.rows = rows;
  return trials.found;
}

// As Lightning's batch finder in its mode "binsearch", with one step a trial.
Found DoubleAndBisect(Trials trials) {
  std::int64_t good = 0, bad = 2;
  while (trials.Fits(bad)) {
    good = bad;
    bad *= 2;
  }
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (trials.Fits(middle) ? good : bad) = middle;
  }
  trials.found.rows = good;
  return trials.found;
}

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", seconds);
  return text;
}

}  // namespace

void BenchSearch(Session& session) {
  AutoRun& planned = session.planned();
  if (!planned.run().device.is_cpu()) return Say("only on the CPU, where a budget can be set and lifted");
  Table table({"task", "planned rows", "bisected", "x 0.9", "x 0.5", "steps, bisected", "x 0.9", "x 0.5"});
  Found bisected, tenth, half;
  std::int64_t rows = 0, modes = 0;
  std::size_t sizes = 0;
  for (const PlannedTask& entry : planned.plan().entries) {
    const Found by_bisection = DoubleAndBisect({planned, entry}), by_tenth = Shrink({planned, entry}, 0.9),
                by_half = Shrink({planned, entry}, 0.5);
    const auto cell = [](const Found& found) {
      return std::to_string(found.steps) + " (" + std::to_string(found.overflows) + " OOM)";
    };
    table.Add({entry.form.text(), std::to_string(entry.rows), std::to_string(by_bisection.rows),
               std::to_string(by_tenth.rows), std::to_string(by_half.rows), cell(by_bisection),
               cell(by_tenth), cell(by_half)});
    bisected.Add(by_bisection);
    tenth.Add(by_tenth);
    half.Add(by_half);
    rows += entry.rows;
    for (const ModeProfile& mode : planned.profile().tasks.at(entry.form).modes) {
      ++modes;
      sizes = std::max(sizes, mode.whole.size());
    }
  }
  Say(table.ToText());
  const auto line = [&](const std::string& name, const Found& found) {
    Say(name + ": rows " + Percent(static_cast<double>(found.rows) / static_cast<double>(rows)) +
        " of the planned, " + std::to_string(found.steps) + " steps, " + std::to_string(found.overflows) +
        " OOMs, " + Seconds(found.seconds) + " (" + Ratio(found.seconds / planned.planning_seconds()) +
        " of the planner's)");
  };
  Say("planner: " + std::to_string(modes) + " modes of " + std::to_string(planned.plan().entries.size()) +
      " tasks, for each a row to warm up and at most " + std::to_string(sizes) +
      " sizes with the confirming one, in one forward and in two micro-batches; " +
      std::to_string(planned.prober().steps()) + " steps, " + std::to_string(planned.prober().overflows()) +
      " OOMs, " + Seconds(planned.planning_seconds()) + "   (goal: at most 3 and a confirming one; 0 OOMs)");
  line("bisected", bisected);
  line("x 0.9", tenth);
  line("x 0.5", half);
}

}  // namespace medley::bench

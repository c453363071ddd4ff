// What metering and the guard cost: their time beside that of a step, the counting allocator's beside that of
// libtorch's, and steps with and without them, in turn in one process.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include <medley/memory/cpu_allocator.h>
#include <medley/run/run.h>
#include <medley/train/memory_watch.h>
#include <medley/train/table_room.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One task's rows, sampled before: the time of a step is then the model's alone.
struct Drawn {
  LoadedTask* task;
  Batch batch;
  const Execution* execution;
};

std::vector<Drawn> DrawOfEach(Run& run, const PlanInForce& plan) {
  std::vector<Drawn> drawn;
  const auto seed = static_cast<std::uint64_t>(run.config.seed);
  for (const std::string& name : run.NamedTasks()) {
    const Form form = run.forms.Own(name);
    LoadedTask& task = run.host->Get(form);
    drawn.push_back({&task, task.Sample({TaskSeed(seed, name), 0, form.settings.rows}), &plan.Of(name)});
  }
  return drawn;
}

void Step(Run& run, const Drawn& drawn, StepObserver& observer) {
  run.executor->Run({{drawn.task, &drawn.batch, drawn.execution}}, observer);
  run.optimizer->Step(0);
}

void Step(Run& run, const Drawn& drawn) {
  StepObserver nobody;
  Step(run, drawn, nobody);
}

StepRecord RecordOf(const Drawn& drawn, std::int64_t number) {
  StepRecord record;
  record.step = number;
  record.draws = {{.task = drawn.task->info().name, .rows = drawn.batch.size()}};
  return record;
}

// Seconds of a step, watched or not.
double Watched(Run& run, const Drawn& drawn, MemoryWatch& watch, std::int64_t number) {
  const auto start = Clock::now();
  StepRecord record = RecordOf(drawn, number);
  watch.BeginStep();
  Step(run, drawn, watch);
  watch.EndStep(record);
  return Seconds(start);
}

double Unwatched(Run& run, const Drawn& drawn) {
  const auto start = Clock::now();
  Step(run, drawn);
  return Seconds(start);
}

// Of the watch's own work in a step of one draw.
double WatchAlone(MemoryWatch& watch, const Drawn& drawn, int steps) {
  const std::string& task = drawn.task->info().name;
  const auto start = Clock::now();
  for (int i = 1; i <= steps; ++i) {
    StepRecord record = RecordOf(drawn, i);
    watch.BeginStep();
    watch.DrawBegins(task);
    watch.DrawEnds(task);
    watch.EndStep(record);
  }
  return Seconds(start) / steps;
}

// Of a block of the sizes that a step asks for, taken and given back.
double Allocation(c10::Allocator& allocator) {
  constexpr int kBlocks = 200000;
  const auto start = Clock::now();
  for (int i = 0; i < kBlocks; ++i) {
    const c10::DataPtr block = allocator.allocate(std::size_t{1} << (6 + i % 12));
    static_cast<volatile char*>(block.get())[0] = 1;
  }
  return Seconds(start) / kBlocks;
}

void Measure(Run& run, int steps) {
  const PlanInForce plan = bench::ConfiguredPlan(run);
  TableRoom tables(run.device, *run.host, plan);
  const MemoryWatch::Setting watched_run{.device = run.device,
                                         .budget = run.budget,
                                         .model = *run.model,
                                         .optimizer = *run.optimizer,
                                         .references = run.references.get(),
                                         .host = *run.host,
                                         .plan = plan,
                                         .tables = tables};
  const std::vector<Drawn> drawn = DrawOfEach(run, plan);
  for (const Drawn& each : drawn) Step(run, each);
  const std::int64_t before = ReadCpuMemory().allocations;
  for (const Drawn& each : drawn) Step(run, each);
  const double blocks =
      static_cast<double>(ReadCpuMemory().allocations - before) / static_cast<double>(drawn.size());

  std::vector<double> plain, ratios;
  for (int i = 0; i < steps; ++i) {
    const Drawn& each = drawn[static_cast<std::size_t>(i) % drawn.size()];
    double watched = 0, unwatched = 0;
    for (const bool now : {i % 2 == 0, i % 2 != 0}) {  // either goes first as often as the other
      std::optional<MemoryWatch> watch;                // outside of the time: a run has one
      if (now) watch.emplace(watched_run);
      (now ? watched : unwatched) = now ? Watched(run, each, *watch, i + 1) : Unwatched(run, each);
    }
    plain.push_back(unwatched);
    ratios.push_back(watched / unwatched);
  }
  MemoryWatch watch(watched_run);
  const double step = bench::Median(plain), alone = WatchAlone(watch, drawn.front(), 2000);
  const double counting = Allocation(*c10::GetCPUAllocator()),
               stock = Allocation(*c10::GetDefaultCPUAllocator());
  std::printf("a step                   %9.3f ms (median of %d, %zu tasks in turn, optimizer included)\n",
              1e3 * step, steps, drawn.size());
  std::printf("meter and guard          %9.3f ms a step: %.4f %% of it\n", 1e3 * alone, 100 * alone / step);
  std::printf(
      "allocator, %5.0f blocks   %9.3f ms a step: %.4f %% of it (%.0f ns a block, libtorch's %.0f ns)\n",
      blocks, 1e3 * blocks * counting, 100 * blocks * counting / step, 1e9 * counting, 1e9 * stock);
  std::printf("watched over unwatched   %9.4f (median of %d pairs)\n", bench::Median(ratios), steps);
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: medley_bench_guard CONFIG STEPS [key=value...]\n");
    return 2;
  }
  try {
    const auto run =
        medley::BuildRun(medley::CheckInputs(argv[1], {argv + 3, argv + argc}), medley::Purpose::kTrain);
    medley::Measure(*run, std::max(1, std::atoi(argv[2])));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

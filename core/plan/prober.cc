#include <medley/plan/prober.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/base/random.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/gradients_at_peak.h>
#include <medley/memory/meter.h>
#include <medley/model/device.h>
#include <medley/step/abandon.h>
#include <medley/step/sample_rows.h>
#include <medley/step/work_counter.h>

namespace medley {
namespace {

// What a run may use is one question and what it would use another: probes answer the second, as far as the
// machine goes.
class LiftedBudget {
 public:
  explicit LiftedBudget(std::int64_t machine_bytes) : before_(CpuBudget()) { SetCpuBudget(machine_bytes); }
  ~LiftedBudget() { SetCpuBudget(before_); }
  LiftedBudget(const LiftedBudget&) = delete;
  LiftedBudget& operator=(const LiftedBudget&) = delete;

 private:
  std::int64_t before_;
};

std::string Words(const LoadedTask& task, const Execution& plan, std::int64_t rows) {
  return "measuring task '" + task.info().name + "' (mode " + std::string(ModeName(plan.way.mode)) +
         (plan.way.recomputed.any() ? ", " + plan.way.recomputed.Fraction() + " of the layers recomputed"
                                    : "") +
         ", " + std::to_string(rows) + " rows): ";
}

// Keeps the order of the rows; Measurement is a Probe or a StepTime.
template <typename Measurement>
void Insert(std::vector<Measurement>& all, Measurement one) {
  const auto after =
      std::ranges::find_if(all, [&](const Measurement& other) { return other.rows >= one.rows; });
  if (after != all.end() && after->rows == one.rows) {
    *after = one;
  } else {
    all.insert(after, one);
  }
}

// A single row of one kind is no wider than itself, two rows of two kinds may be: the curve has a step there,
// and its chord from the single row may lie too low. As wide as they ever get, no rows at all take no more
// than the single row; from there the chord is safe.
void BoundFewRows(std::vector<Probe>& probes) {
  if (probes.size() < 2) return;
  const Probe one = probes[0], second = probes[1];
  if (second.rows < 3 || second.bytes <= one.bytes) return;
  Insert(probes, {2, one.bytes + (2 * (second.bytes - one.bytes) + second.rows - 1) / second.rows});
}

}  // namespace

Prober::Prober(const Model& model, StepExecutor& executor, at::Device device, std::uint64_t run_seed,
               std::int64_t most_bytes, std::int64_t machine_bytes)
    : model_(model),
      executor_(executor),
      device_(device),
      seed_(run_seed),
      most_bytes_(most_bytes),
      machine_bytes_(machine_bytes) {}

bool Prober::CheckContract(ContractCheck& contract, LoadedTask& task, TaskProfile* profile) {
  if (before_step_) before_step_();
  const LiftedBudget lifted(machine_bytes_);  // the CPU's; a GPU's cannot be
  const std::int64_t floor = ReadMemory(device_).now;
  ResetPeak(device_);
  bool overflowed = false;
  try {
    contract.Check(task, {.seed = TaskSeed(seed_, task.info().name), .begin = 0, .count = 1});
  } catch (const c10::OutOfMemoryError&) {
    overflowed = true;
  }
  if (overflowed) {
    AbandonForward(device_);
    contract.Waive(task);
  }
  if (profile != nullptr)
    profile->contract =
        overflowed ? std::max<std::int64_t>(1, most_bytes_) : ReadMemory(device_).peak - floor;
  return !overflowed;
}

const ProbeRows& Prober::RowsOf(LoadedTask& task) {
  const auto known = rows_.find(&task);
  if (known != rows_.end()) return known->second;
  try {
    return rows_.emplace(&task, ProbeRows(task, TaskSeed(seed_, task.info().name))).first->second;
  } catch (const c10::OutOfMemoryError& error) {
    throw Error("sampling task '" + task.info().name +
                    "' to measure it: a few of its rows are more than this machine has: " +
                    error.what_without_backtrace(),
                ExitCode::kDoesNotFit);
  }
}

// Nothing where memory ran out.
std::optional<Prober::Measured> Prober::Try(LoadedTask& task, const Batch& rows, const Execution& plan,
                                            StepObserver& observer, Watch watch) {
  using Clock = std::chrono::steady_clock;
  if (before_step_) before_step_();
  const KeepGenerators keep(device_);
  const std::int64_t floor = ReadMemory(device_).now;
  bool overflowed = false;
  ResetPeak(device_);
  GradientsAtPeak gradients(model_.parameters(), device_);
  ++steps_;
  std::optional<WorkCounter> work;
  if (watch == Watch::kWork) work.emplace();
  const auto start = Clock::now();
  try {
    executor_.Run({{.task = &task, .batch = &rows, .execution = &plan}}, observer);
  } catch (const c10::OutOfMemoryError&) {
    overflowed = true;
  } catch (const c10::AcceleratorError&) {
    throw;  // whatever is asked of the device next would fail too
  } catch (const Interrupted&) {
    AbandonStep(model_, device_);
    throw;
  } catch (const std::exception& error) {
    AbandonStep(model_, device_);
    const auto* ours = dynamic_cast<const Error*>(&error);
    throw Error(Words(task, plan, rows.size()) + error.what(), ours ? ours->code() : ExitCode::kFailed);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (overflowed) AbandonStep(model_, device_);
  const MemoryReading after = ReadMemory(device_);
  const std::int64_t at_peak = gradients.bytes();
  ClearGradients(model_);
  if (!overflowed)
    return Measured{.bytes = after.peak - floor,
                    .gradients = after.now - floor,
                    .at_peak = at_peak,
                    .milliseconds = 1000 * seconds,
                    .operations = work ? work->operations() : 0};
  ++overflows_;
  return std::nullopt;
}

// Of the kinds of rows the one that takes the most, but of the work their mean. Work is counted in pieces,
// whose times are the second look at what a forward takes.
std::optional<Prober::Measured> Prober::Heaviest(LoadedTask& task, Execution plan, std::int64_t rows,
                                                 bool in_pieces) {
  const ProbeRows& source = RowsOf(task);
  const std::int64_t pieces = in_pieces ? 2 : 1;
  plan.micro_rows = in_pieces ? rows : 0;
  Measured heaviest;
  StepObserver nobody;
  for (std::int64_t kind = 0; kind < source.kinds(); ++kind) {
    const auto measured = Try(task, ReadyFor(device_, source.Make(kind, rows, pieces)), plan, nobody,
                              in_pieces ? Watch::kWork : Watch::kTime);
    if (!measured) return std::nullopt;
    if (measured->bytes > heaviest.bytes) heaviest.at_peak = measured->at_peak;
    heaviest.bytes = std::max(heaviest.bytes, measured->bytes);
    heaviest.gradients = std::max(heaviest.gradients, measured->gradients);
    heaviest.milliseconds =
        std::max(heaviest.milliseconds, measured->milliseconds / static_cast<double>(pieces));
    heaviest.operations += measured->operations;
  }
  heaviest.operations /= pieces * source.kinds();
  return heaviest;
}

// One row: tables, caches and workspaces are there afterwards, and it is known what a row saves.
bool Prober::WarmUp(LoadedTask& task, const Execution& plan, TaskProfile& profile, ModeProfile& mode) {
  class Count final : public StepObserver {
   public:
    Count(TaskProfile& profile, ModeProfile& mode) : profile_(profile), mode_(mode) {}
    bool WantsSavedBytes() const override { return true; }
    void PassRan(const PassRun& run) override {
      ++mode_.forwards;
      profile_.layers = std::max(profile_.layers, run.layers);
      if (!run.saved) return;
      const bool live_together = TraitsOf(mode_.way.mode).keeps == KeepsGraphs::kOfAllPasses;
      std::int64_t& bytes = mode_.saved_per_row;
      bytes = live_together ? bytes + *run.saved : std::max(bytes, *run.saved);
      mode_.saved_by_pass[run.pass] = *run.saved;
    }

   private:
    TaskProfile& profile_;
    ModeProfile& mode_;
  } count(profile, mode);
  return Try(task, ReadyFor(device_, RowsOf(task).Make(0, 1)), plan, count).has_value();
}

bool Prober::AddSize(LoadedTask& task, const Execution& plan, std::int64_t rows, bool in_pieces,
                     TaskProfile& profile, ModeProfile& mode) {
  const auto whole = Heaviest(task, plan, rows, /*in_pieces=*/false);
  if (!whole) return false;
  double milliseconds = whole->milliseconds;
  if (in_pieces) {
    const auto pieces = Heaviest(task, plan, rows, /*in_pieces=*/true);
    if (!pieces) return false;
    mode.pieces.push_back({rows, std::max(pieces->bytes, whole->bytes)});
    mode.gradients_pieces = pieces->at_peak;
    milliseconds = std::min(milliseconds, pieces->milliseconds);
    mode.work.push_back({rows, pieces->operations});
  }
  mode.whole.push_back({rows, whole->bytes});
  mode.gradients_whole = whole->at_peak;
  Insert(mode.times, {rows, milliseconds});
  profile.gradients = std::max(profile.gradients, whole->gradients);
  return true;
}

// Where a row's share of the peak clearly outweighs what does not depend on the rows, so that the steepest
// moment rules from there on. A small model's moments differ by less; its larger sizes cost little.
std::int64_t Prober::SecondSize(const TaskProfile& profile, const ModeProfile& mode) const {
  constexpr std::int64_t kLeast = 4, kMost = 24, kLeastBytes = 1 << 16;
  const std::int64_t per_row =
      mode.saved_per_row > 0 ? mode.saved_per_row : std::max<std::int64_t>(1, mode.whole.front().bytes);
  const std::int64_t rows = std::clamp(4 * profile.gradients / per_row + 4, kLeast, kMost);
  return std::max(rows, kLeastBytes / per_row);
}

void Prober::AddLargerSizes(LoadedTask& task, const Execution& plan, std::int64_t most_rows,
                            TaskProfile& profile, ModeProfile& mode) {
  const std::int64_t kinds = RowsOf(task).kinds(), half = most_rows / 2;
  // In proportion to the rows is an upper bound; with rows of several kinds, but for their widths.
  const std::int64_t room = kinds > 1 ? most_bytes_ / 2 : most_bytes_;
  const auto fits = [&](std::int64_t size) {
    return std::max(PeakLines({mode.pieces.back()}).At(size), PeakLines({mode.whole.back()}).At(size)) <=
           room;
  };
  const std::int64_t wanted = std::max(SecondSize(profile, mode), kinds + 1);
  const std::int64_t second = LargestThat(std::min(wanted, half), fits);
  if (second > 1 && !AddSize(task, plan, second, /*in_pieces=*/true, profile, mode)) return;
  // All rows that are ever drawn, where that is not far: then nothing is left to confirm.
  const std::int64_t third = LargestThat(most_rows <= 3 * second ? most_rows : 2 * second, fits);
  if (third > second) AddSize(task, plan, third, /*in_pieces=*/third <= half, profile, mode);
  if (kinds == 1) return;
  BoundFewRows(mode.whole);
  BoundFewRows(mode.pieces);
}

void Prober::Measure(LoadedTask& task, Execution plan, TaskProfile& profile, std::int64_t most_rows) {
  constexpr std::int64_t kNoBound = std::int64_t{1} << 40;
  const LiftedBudget lifted(machine_bytes_);
  ModeProfile mode;
  mode.way = plan.way;
  if (!WarmUp(task, plan, profile, mode) || !AddSize(task, plan, 1, /*in_pieces=*/true, profile, mode)) {
    mode.more_than = std::max<std::int64_t>(1, most_bytes_);
  } else {
    AddLargerSizes(task, plan, most_rows > 0 ? most_rows : kNoBound, profile, mode);
  }
  profile.constants = task.ConstantBytes(device_);
  profile.shared = task.SharedTableBytes();
  if (profile.modes.empty()) profile.rebuilding = BytesOfRebuilding(task);
  profile.batch_per_row = RowsOf(task).bytes_per_row();
  ModeProfile* const known = profile.Find(plan.way);
  known != nullptr ? void(*known = std::move(mode)) : profile.modes.push_back(std::move(mode));
}

std::optional<std::int64_t> Prober::MeasureRow(LoadedTask& task, const Execution& plan) {
  const LiftedBudget lifted(machine_bytes_);
  const auto measured = Heaviest(task, plan, 1, /*in_pieces=*/false);
  return measured ? std::optional(measured->bytes) : std::nullopt;
}

// Where tables are dropped, a draw begins with its own.
std::int64_t Prober::BytesOfRebuilding(LoadedTask& task) const {
  const std::int64_t floor = ReadMemory(device_).now, own = task.ConstantBytes(device_);
  task.DropConstants(device_);
  // What other tasks keep of them stays meanwhile, and would not where they dropped it too.
  const std::int64_t stays =
      task.SharesTables() ? std::max<std::int64_t>(0, own - (floor - ReadMemory(device_).now)) : 0;
  ResetPeak(device_);
  task.RebuildConstants(device_);
  return std::max<std::int64_t>(0, ReadMemory(device_).peak - floor - stays);
}

// Of as many rows that take `whole` bytes together. Not tried where it could be too large: a piece finds at
// most all gradients, and has copies of some of its rows' columns.
std::int64_t Prober::BytesOfPieces(LoadedTask& task, const Execution& plan, std::int64_t rows,
                                   std::int64_t whole, const TaskProfile& profile) {
  const std::int64_t most = whole + profile.gradients + rows * profile.batch_per_row;
  if (most > most_bytes_) return most;
  const auto measured = Heaviest(task, plan, rows, /*in_pieces=*/true);
  return measured ? std::max(measured->bytes, whole) : most;
}

bool Prober::Confirm(LoadedTask& task, const Execution& plan, std::int64_t rows, TaskProfile& profile) {
  const LiftedBudget lifted(machine_bytes_);
  const bool in_pieces = plan.micro_rows > 0;
  ModeProfile& mode = *profile.Find(plan.way);
  std::vector<Probe>& probes = in_pieces ? mode.pieces : mode.whole;
  const std::int64_t asked = rows, known = PeakLines(probes).largest_probe();
  auto measured = Heaviest(task, plan, rows, in_pieces);
  // Too many does not say by how much: a chord to them would lie anywhere. So fewer are tried, until some
  // fit.
  while (!measured && rows > known + 1) {
    rows = known + (rows - known) / 2;
    measured = Heaviest(task, plan, rows, in_pieces);
  }
  const std::int64_t bytes = measured ? measured->bytes : most_bytes_ + 1;
  // Rows that do not fit together after all may be cut, and then the line of the pieces is too low as well.
  if (!in_pieces && bytes > PeakLines(mode.whole).At(rows))
    Insert(mode.pieces, {rows, BytesOfPieces(task, plan, rows, bytes, profile)});
  Insert(probes, {rows, bytes});
  if (!measured) return true;
  Insert(mode.times, {rows, measured->milliseconds});
  (in_pieces ? mode.gradients_pieces : mode.gradients_whole) = measured->at_peak;
  return rows == asked;
}

}  // namespace medley

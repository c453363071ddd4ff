#include <medley/train/memory_watch.h>

#include <algorithm>
#include <utility>

#include <medley/base/clock.h>
#include <medley/data/item_stream.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/parameter_bytes.h>
#include <medley/step/accumulation.h>

namespace medley {

MemoryWatch::MemoryWatch(const Setting& setting)
    : setting_(setting),
      limited_(setting.device.is_cpu() && setting.budget.bytes > 0),
      copies_(WatchWeights(setting.model, setting.device)),
      gradients_(setting.model.parameters(), setting.device),
      meter_(
          setting.device, [this] { return GradientBytes(setting_.model.parameters()) + ConstantBytes(); },
          &gradients_),
      guard_({.budget = setting.budget.bytes,
              .expected = setting.plan.expected(),
              .weights = copies_.bytes(),
              .caches = !setting.device.is_cpu()}),
      optimizer_(setting.optimizer.StateBytes()),
      references_(setting.references == nullptr ? 0 : setting.references->Bytes()) {
  if (limited_) EnforceBudget(setting.budget, setting.device);
}

MemoryWatch::~MemoryWatch() {
  if (limited_) SetCpuBudget(0);
}

std::string MemoryWatch::Blindness() const { return BlindnessOf(copies_); }

// Asked several times a step, so nothing is copied on the way.
template <typename Fn>
void MemoryWatch::ForEachTable(const Fn& fn) const {
  CountedTables counted;
  for (const auto& [form, execution] : setting_.plan.executions()) {
    const LoadedTask* loaded = setting_.host.Find(form);
    if (loaded == nullptr) continue;
    const std::int64_t bytes =
        loaded->ConstantBytes(setting_.device, loaded->SharesTables() ? &counted : nullptr);
    if (bytes > 0) fn(loaded->info().name, bytes);
  }
}

std::int64_t MemoryWatch::ConstantBytes() const {
  std::int64_t sum = 0;
  ForEachTable([&](const std::string&, std::int64_t bytes) { sum += bytes; });
  return sum;
}

std::map<std::string, std::int64_t> MemoryWatch::ConstantsByTask() const {
  std::map<std::string, std::int64_t> constants;
  ForEachTable([&](const std::string& task, std::int64_t bytes) { constants[task] += bytes; });
  return constants;
}

void MemoryWatch::BeginStep() {
  running_.clear();
  in_backward_ = false;
  others_tables_.clear();
  draw_seconds_.clear();
  meter_.BeginStep();
}

void MemoryWatch::DrawBegins(const std::string& task) {
  running_ = task;
  in_backward_ = false;
  others_tables_.push_back(setting_.tables.MakeRoom(task));
  meter_.BeginDraw();
  setting_.tables.Restore(task);
  draw_began_ = SteadySeconds();
}

void MemoryWatch::DrawEnds(const std::string& task) {
  draw_seconds_.push_back(SteadySeconds() - draw_began_);
  meter_.EndDraw(task);
  running_.clear();
}

void MemoryWatch::PassRan(const PassRun& run) {
  Ran& ran = ran_[run.task];
  ran.tokens += run.tokens;
  ++ran.forwards;
}

void MemoryWatch::BeginDraws(const std::vector<StepExecutor::Piece>& pieces) {
  meter_.BeginDraws();
  bool first_draw = false;
  for (const StepExecutor::Piece& piece : pieces)
    first_draw = tasks_.insert(piece.task->info().name).second || first_draw;
  if (first_draw) SizesChange();  // sizes that nobody asked for yet
  copied_rows_ = 0;
  if (setting_.device.is_cpu()) return;
  for (const StepExecutor::Piece& piece : pieces) {
    const std::int64_t rows = piece.batch->size();
    const std::int64_t at_once = RowsAtOnce(piece.execution->micro_rows, rows);
    copied_rows_ = std::max(copied_rows_, BytesOf(*piece.batch) * at_once / std::max<std::int64_t>(1, rows));
  }
}

// The first of a task's draws in the step takes what all of them ran.
DrawReceipt MemoryWatch::ReceiptOf(const Draw& draw, std::int64_t peak, std::int64_t others) {
  const Execution& execution = setting_.plan.Of(draw.task);
  const std::int64_t micro_rows = RowsAtOnce(execution.micro_rows, draw.rows);
  const PeakPrediction predicted = setting_.plan.Predict(draw.task, micro_rows);
  const Ran ran = std::exchange(ran_[draw.task], {});
  return {.form = setting_.plan.IdOf(draw.task),
          .mode = execution.way.Words(),
          .micro_rows = micro_rows,
          .cut = setting_.plan.IsCut(draw.task),
          .predicted = predicted.peak,
          .margin = predicted.margin,
          .measured = peak - others,
          .rows = draw.rows,
          .tokens_run = ran.tokens,
          .forwards = ran.forwards,
          .operations = draw.rows * setting_.plan.OperationsOf(draw.task).value_or(0)};
}

// A GPU is still at it when a draw ends for the host: only a step of a single draw tells what that took.
double MemoryWatch::SecondsOf(std::size_t draw, const StepRecord& record) const {
  if (setting_.device.is_cpu()) return draw_seconds_.at(draw);
  constexpr double kMilli = 1e-3;
  return step_.draws.size() > 1 ? 0 : record.seconds - kMilli * (record.data_wait_ms + record.peer_wait_ms);
}

DrawReceipt MemoryWatch::Failed(const Draw& draw) {
  return ReceiptOf(draw, ReadMemory(setting_.device).peak,
                   others_tables_.empty() ? 0 : others_tables_.back());
}

void MemoryWatch::EndStep(StepRecord& record) {
  step_ = meter_.EndStep();
  verdict_ = {};
  if (setting_.budget.bytes > 0) verdict_ = guard_.Judge(record.step, step_, copies_.Count(step_.after.now));
  if (verdict_.clean_up) ReleaseCachedMemory(setting_.device);
  const MemoryLedger ledger = Ledger();
  if (ledger.total() > largest_.total()) largest_ = ledger;
  record.memory = {ledger, ConstantsByTask()};
  record.memory_now = step_.after.now;
  record.memory_peak = step_.after.peak;
  record.guard = verdict_.findings;
  const std::vector<Draw>& computed = record.Computed();
  for (std::size_t i = 0; i < std::min(computed.size(), step_.draws.size()); ++i) {
    record.receipts.push_back(ReceiptOf(computed[i], step_.draws[i].peak, others_tables_[i]));
    record.receipts.back().seconds = SecondsOf(i, record);
  }
  for (const Draw& draw : record.draws) {
    const LoadedTask& task = setting_.host.Get(setting_.plan.FormOf(draw.task));
    record.constant_bytes[draw.task] = task.ConstantBytes(setting_.device);
    if (task.Items() != nullptr) record.items[draw.task] = task.Items()->size(Split::kTraining);
  }
}

void MemoryWatch::SizesChange() {
  guard_.Expect(setting_.plan.expected());
  if (guard_.SizesChange().clean_up) ReleaseCachedMemory(setting_.device);
}

PhaseMemory MemoryWatch::Transition() {
  const MemoryReading before = ReadMemory(setting_.device);
  SizesChange();
  const MemoryReading after = ReadMemory(setting_.device);
  ResetPeak(setting_.device);
  return {.before = before.now,
          .after = after.now,
          .peak = before.peak,
          .held = after.reserved,
          .copies = copies_.Count(after.now)};
}

MemoryLedger MemoryWatch::Ledger() const {
  MemoryLedger ledger{.weights = ParameterBytes(setting_.model.parameters(), setting_.device),
                      .gradients = step_.gradients,
                      .optimizer = optimizer_,
                      .references = references_,
                      .constants = ConstantBytes(),
                      .inputs = step_.after.data + copied_rows_,
                      .unused = std::max<std::int64_t>(0, step_.after.reserved_peak - step_.after.peak)};
  const std::int64_t floor = step_.after.now;
  const std::int64_t known = ledger.weights + ledger.optimizer + ledger.references + ledger.constants;
  ledger.workspace = std::max<std::int64_t>(0, floor - known);
  ledger.activations = 0;
  ledger.activations = step_.after.peak + step_.after.data + ledger.unused - ledger.total();
  return ledger;
}

}  // namespace medley

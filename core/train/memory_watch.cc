#include <medley/train/memory_watch.h>

#include <algorithm>
#include <utility>

#include <medley/memory/batch_bytes.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/parameter_bytes.h>
#include <medley/step/accumulation.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

Guard::Setting SettingOf(const Run& run, std::int64_t weights) {
  return {
      .budget = run.budget.bytes, .plan = run.planned, .weights = weights, .caches = !run.device.is_cpu()};
}

ordered_json FindingsJson(const std::vector<GuardFinding>& findings) {
  ordered_json json;
  for (const GuardFinding& finding : findings) {
    json.push_back({{"level", finding.level == GuardLevel::kCritical ? "critical" : "warning"},
                    {"kind", finding.kind},
                    {"task", finding.task},
                    {"words", finding.words}});
  }
  return json;
}

}  // namespace

MemoryWatch::MemoryWatch(Run& run)
    : run_(run),
      limited_(run.device.is_cpu() && run.budget.bytes > 0),
      copies_(WatchWeights(*run.model, run.device)),
      gradients_(run.model->parameters(), run.device),
      meter_(
          run.device, [this] { return GradientBytes(run_.model->parameters()) + ConstantBytes(); },
          &gradients_),
      guard_(SettingOf(run, copies_.bytes())),
      optimizer_(ParameterBytes(run.optimizer->State(), run.device)) {
  if (limited_) EnforceBudget(run.budget, run.device);
  run_.executor->SetDrawObserver([this](const std::string& task) { BeginDraw(task); },
                                 [this](const std::string& task) { EndDraw(task); });
}

MemoryWatch::~MemoryWatch() {
  run_.executor->SetDrawObserver({}, {});
  if (limited_) SetCpuBudget(0);
}

std::int64_t MemoryWatch::ConstantBytes() const {
  std::int64_t bytes = 0;
  for (const auto& [task, plan] : run_.plans) {
    if (run_.is_loaded(task)) bytes += run_.task(task).ConstantBytes(run_.device);
  }
  return bytes;
}

std::map<std::string, std::int64_t> MemoryWatch::ConstantsByTask() const {
  std::map<std::string, std::int64_t> constants;
  for (const auto& [task, plan] : run_.plans) {
    const std::int64_t bytes = run_.is_loaded(task) ? run_.task(task).ConstantBytes(run_.device) : 0;
    if (bytes > 0) constants[task] = bytes;
  }
  return constants;
}

void MemoryWatch::BeginStep() {
  running_.clear();
  meter_.BeginStep();
}

void MemoryWatch::BeginDraw(const std::string& task) {
  running_ = task;
  meter_.BeginDraw();
}

void MemoryWatch::EndDraw(const std::string& task) {
  meter_.EndDraw(task);
  running_.clear();
}

void MemoryWatch::SeeRows(const std::vector<StepExecutor::Piece>& pieces) {
  bool first_draw = false;
  for (const StepExecutor::Piece& piece : pieces)
    first_draw = tasks_.insert(piece.task->info().name).second || first_draw;
  if (first_draw) PhaseChanges();  // sizes that nobody asked for yet
  copied_rows_ = 0;
  if (run_.device.is_cpu()) return;
  for (const StepExecutor::Piece& piece : pieces) {
    const std::int64_t rows = piece.batch->size(), micro_rows = piece.plan->micro_rows;
    const std::int64_t at_once = RowsAtOnce(micro_rows, rows);
    copied_rows_ = std::max(copied_rows_, BytesOf(*piece.batch) * at_once / std::max<std::int64_t>(1, rows));
  }
}

void MemoryWatch::EndStep(StepRecord& record) {
  step_ = meter_.EndStep();
  verdict_ = {};
  if (run_.budget.bytes > 0) verdict_ = guard_.Judge(record.step, step_, copies_.Count(step_.after.now));
  if (verdict_.clean_up) ReleaseCachedMemory(run_.device);
  const MemoryLedger ledger = Ledger();
  record.memory = ToJson(ledger, ConstantsByTask());
  if (ledger.total() > largest_.total()) largest_ = ledger;
  Note(record);
}

void MemoryWatch::Note(StepRecord& record) const {
  record.memory_now = step_.after.now;
  record.memory_peak = step_.after.peak;
  for (const DrawMemory& draw : step_.draws) {
    std::int64_t& peak = record.peak_bytes[draw.task];
    peak = std::max(peak, draw.peak);
    record.constant_bytes[draw.task] = run_.task(draw.task).ConstantBytes(run_.device);
  }
  if (!verdict_.findings.empty()) record.guard = FindingsJson(verdict_.findings);
}

void MemoryWatch::PhaseChanges() {
  if (guard_.PhaseChanges().clean_up) ReleaseCachedMemory(run_.device);
}

MemoryLedger MemoryWatch::Ledger() const {
  MemoryLedger ledger{.weights = ParameterBytes(run_.model->parameters(), run_.device),
                      .gradients = step_.gradients,
                      .optimizer = optimizer_,
                      .constants = ConstantBytes(),
                      .inputs = step_.after.data + copied_rows_,
                      .unused = std::max<std::int64_t>(0, step_.after.reserved_peak - step_.after.peak)};
  const std::int64_t floor = step_.after.now;
  ledger.workspace = std::max<std::int64_t>(0, floor - ledger.weights - ledger.optimizer - ledger.constants);
  ledger.activations = 0;
  ledger.activations = step_.after.peak + step_.after.data + ledger.unused - ledger.total();
  return ledger;
}

}  // namespace medley

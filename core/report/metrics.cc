#include <medley/report/metrics.h>

#include <algorithm>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/report/log_lines.h>
#include <medley/report/speeds.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

ordered_json OrNull(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

// JSON has no NaN and no infinity; nlohmann writes both as null.
ordered_json TermsJson(const StepLosses& losses) {
  ordered_json json = ordered_json::object();
  for (const auto& [task, terms] : losses) {
    for (const auto& [name, term] : terms) {
      json[task][name] = {{"mean", OrNull(term.mean())},
                          {"sum", term.sum},
                          {"count", term.count},
                          {"weighted", OrNull(term.weighted())}};
    }
  }
  return json;
}

// What the step made less: of the terms that had items.
double StepLoss(const StepLosses& losses) {
  double loss = 0;
  for (const auto& [task, terms] : losses) {
    for (const auto& [name, term] : terms) loss += term.weighted().value_or(0);
  }
  return loss;
}

ordered_json ToJson(const EvaluationRecord& evaluation) {
  ordered_json scores = ordered_json::object();
  for (const auto& [task, score] : evaluation.tasks) scores[task] = ToJson(score);
  return scores;
}

ordered_json TransitionJson(const PhaseRecord& record) {
  ordered_json json = {{"from", record.from}, {"to", record.to}};
  if (!record.why.empty()) json["why"] = record.why;
  return json;
}

ordered_json ToJson(const JumpRecord& jump) {
  ordered_json json = {
      {"direction", jump.direction},           {"steps", jump.steps},           {"gain", jump.gain},
      {"standard_error", jump.standard_error}, {"row_forwards", jump.forwards}, {"taken", jump.taken}};
  if (!jump.taken) json["why"] = jump.why;
  json["tasks"] = ordered_json::object();
  for (const auto& [task, change] : jump.tasks)
    json["tasks"][task] = {{"from", change.from}, {"to", change.to}};
  return json;
}

ordered_json ToJson(const std::vector<GuardFinding>& findings) {
  ordered_json json;
  for (const GuardFinding& finding : findings) {
    json.push_back({{"level", finding.level == GuardLevel::kCritical ? "critical" : "warning"},
                    {"kind", finding.kind},
                    {"task", finding.task},
                    {"words", finding.words}});
  }
  return json;
}

ordered_json ToJson(const std::vector<Overflow>& overflows) {
  ordered_json json;
  for (const Overflow& overflow : overflows) {
    if (overflow.task.empty()) {
      json.push_back({{"task", ""}, {"phase", "between draws"}});
    } else {
      json.push_back({{"task", overflow.task},
                      {"phase", overflow.in_backward ? "backward" : "forward"},
                      {"from", overflow.from},
                      {"to", overflow.to},
                      {"left_bytes", overflow.left_bytes}});
    }
  }
  return json;
}

std::string CsvHeader(const std::vector<std::string>& tasks) {
  std::string header = "step";
  for (const std::string& task : tasks) header += "," + task;
  return header + "\n";
}

std::string CsvRow(std::int64_t step, const std::vector<std::string>& tasks,
                   const std::map<std::string, double>& losses) {
  std::string row = std::to_string(step);
  for (const std::string& task : tasks) {
    row += ",";
    const auto loss = losses.find(task);
    if (loss != losses.end()) row += nlohmann::json(loss->second).dump();
  }
  return row + "\n";
}

struct PastStep {
  std::int64_t step = 0;
  std::map<std::string, double> losses;
};

std::vector<PastStep> ReadPast(const fs::path& metrics) {
  std::vector<PastStep> past;
  ForEachLine(metrics, DamagedLine::kPassedOver, [&](const nlohmann::json& line) {
    const bool is_step = !line.contains(kTransition) && line["step"] != 0;  // else before the first one
    if (is_step) past.push_back({line["step"].get<std::int64_t>(), LossesIn(line)});
  });
  return past;
}

// An edited log may name any number, and each costs every step a byte.
constexpr std::size_t kMostColumns = 256;

// All tasks that have a column: these, and those that the past knows.
std::vector<std::string> Columns(std::vector<std::string> tasks, const std::vector<PastStep>& past) {
  for (const PastStep& step : past) {
    for (const auto& [task, loss] : step.losses) {
      if (tasks.size() >= kMostColumns) return tasks;
      if (std::ranges::find(tasks, task) == tasks.end()) tasks.push_back(task);
    }
  }
  return tasks;
}

// A save goes on without it.
bool TrySync(AppendFile& file, LogWatch& watch) {
  try {
    file.Sync();
    watch.Synced();
    return true;
  } catch (const Error& error) {
    watch.Failed(error.what());
    return false;
  }
}

}  // namespace

ordered_json MetricsLine(const StepRecord& record) {
  ordered_json line = {{"step", record.step}, {"draws", ordered_json::array()}};
  for (const Draw& draw : record.draws) {
    line["draws"].push_back({{"task", draw.task}, {"begin", draw.begin}, {"rows", draw.rows}});
  }
  line["loss"] = StepLoss(record.losses);
  line["terms"] = TermsJson(record.losses);
  line["grad_norm"] = record.gradient_norm;
  line["lr"] = record.learning_rate;
  if (!record.phase.empty()) line["phase"] = record.phase;
  if (record.evaluation) line["eval"] = ToJson(*record.evaluation);
  return line;
}

ordered_json TimingLine(const StepRecord& record) {
  ordered_json line = {{"step", record.step}, {"seconds", record.seconds}};
  line["rows_per_second"] = record.seconds > 0 ? static_cast<double>(record.rows()) / record.seconds : 0.0;
  if (!record.phase.empty()) line["phase"] = record.phase;
  line["data_wait_ms"] = record.data_wait_ms;
  if (record.own) line["peer_wait_ms"] = record.peer_wait_ms;
  if (!record.rank_work_ms.empty()) line["rank_work_ms"] = record.rank_work_ms;
  line["memory_now"] = record.memory_now;
  line["memory_peak"] = record.memory_peak;
  ordered_json& tasks = line["tasks"] = ordered_json::object();
  for (const Draw& draw : record.draws) {
    ordered_json& task = tasks[draw.task];
    if (task.is_null()) task = ordered_json::object();
    task["rows"] = task.value("rows", std::int64_t{0}) + draw.rows;
    const auto bytes = record.constant_bytes.find(draw.task);
    task["constant_bytes"] = bytes == record.constant_bytes.end() ? 0 : bytes->second;
  }
  for (const DrawReceipt& receipt : record.receipts) {
    ordered_json& task = tasks[receipt.form.text()];
    if (task.is_null()) task = ordered_json::object();
    task["memory_peak"] = std::max(task.value("memory_peak", std::int64_t{0}), receipt.measured);
  }
  for (const auto& [task, speed] : SpeedsOf(record)) {
    tasks[task]["operations"] = speed.operations;
    tasks[task]["compute_seconds"] = speed.seconds;
    tasks[task]["operations_per_second"] = speed.per_second();
  }
  if (record.loss_scale > 0)
    line["loss_scale"] = {{"scale", record.loss_scale}, {"repeats", record.loss_repeats}};
  if (record.memory) line["memory"] = ToJson(record.memory->ledger, record.memory->constants);
  if (!record.guard.empty()) line["guard"] = ToJson(record.guard);
  if (!record.overflows.empty()) line["out_of_memory"] = ToJson(record.overflows);
  return line;
}

MetricsLog::MetricsLog(const fs::path& directory, const LogMarks& marks, Console& console)
    : file_(directory / kMetricsLog, MarkOf(marks, kMetricsLog).bytes),
      watch_(console, "no step can be saved") {}

void MetricsLog::Take(const EvaluationRecord& at_start) {
  file_.Append(JsonText(ordered_json{{"step", 0}, {"eval", ToJson(at_start)}}) + "\n");
  watch_.Look(file_);
}

void MetricsLog::Take(const StepRecord& record) {
  file_.Append(JsonText(MetricsLine(record)) + "\n");
  watch_.Look(file_);
}

void MetricsLog::Take(const PhaseRecord& record) {
  if (!record.jump) return;
  ordered_json line = {{"step", record.step}, {kTransition, TransitionJson(record)}};
  line["jump"] = ToJson(*record.jump);
  file_.Append(JsonText(line) + "\n");
  watch_.Look(file_);
}

void MetricsLog::Sync(LogMarks& marks) {
  file_.Sync();
  marks[kMetricsLog] = file_.mark();
}

TimingLog::TimingLog(const fs::path& directory, const LogMarks& marks, Console& console)
    : file_(directory / kTimingLog, MarkOf(marks, kTimingLog).bytes),
      watch_(console, "its newest lines are missing"),
      durable_(file_.mark()) {}

void TimingLog::Take(const StepRecord& record) {
  file_.Append(JsonText(TimingLine(record)) + "\n");
  watch_.Look(file_);
}

void TimingLog::Take(const PhaseRecord& record) {
  ordered_json line = {{"step", record.step}, {kTransition, TransitionJson(record)}};
  if (record.jump) line["seconds"] = record.seconds;
  line["memory_before"] = record.memory.before;
  line["memory_after"] = record.memory.after;
  line["memory_peak"] = record.memory.peak;
  line["memory_held"] = record.memory.held;
  line["weight_copies"] = record.memory.copies;
  file_.Append(JsonText(line) + "\n");
  watch_.Look(file_);
}

void TimingLog::Sync(LogMarks& marks) {
  if (TrySync(file_, watch_)) durable_ = file_.mark();
  marks[kTimingLog] = durable_;
}

LossesTable::LossesTable(const fs::path& directory, const std::vector<std::string>& tasks, Console& console)
    : directory_(directory), watch_(console, "its newest lines are missing") {
  Begin(tasks);
}

// The old table stays until the new one is whole.
void LossesTable::Begin(const std::vector<std::string>& tasks) {
  const std::vector<PastStep> past = ReadPast(directory_ / kMetricsLog);
  tasks_ = Columns(tasks, past);
  std::string text = CsvHeader(tasks_);
  for (const PastStep& step : past) text += CsvRow(step.step, tasks_, step.losses);
  ReplaceFile(directory_ / kLossesTable, text);
  file_.emplace(directory_ / kLossesTable, static_cast<std::int64_t>(text.size()));
}

void LossesTable::AddTasks(const std::vector<std::string>& named) {
  try {
    Begin(named);
  } catch (const Error& error) {
    watch_.Failed(error.what());
  }
}

void LossesTable::Take(const StepRecord& record) {
  file_->Append(CsvRow(record.step, tasks_, TotalLosses(record.losses)));
  watch_.Look(*file_);
}

void LossesTable::Sync(LogMarks&) { TrySync(*file_, watch_); }

}  // namespace medley

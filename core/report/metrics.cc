#include <medley/report/metrics.h>

#include <algorithm>
#include <fstream>

#include <medley/base/error.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kLosses = "losses.csv";

std::int64_t OffsetOf(const LogOffsets& offsets, const std::string& name) {
  const auto found = offsets.find(name);
  return found == offsets.end() ? 0 : found->second;
}

// A log that became shorter keeps the whole lines that it still has.
std::int64_t WholeLines(const fs::path& path, std::int64_t most) {
  std::ifstream file(path, std::ios::binary);
  std::int64_t kept = 0;
  for (std::string line; kept < most && std::getline(file, line) && !file.eof();)
    kept += static_cast<std::int64_t>(line.size()) + 1;
  return std::min(kept, most);
}

ordered_json OrNull(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

// JSON has no NaN and no infinity; nlohmann writes both as null.
ordered_json TermsJson(const LoggedLosses& losses) {
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
double StepLoss(const LoggedLosses& losses) {
  double loss = 0;
  for (const auto& [task, terms] : losses) {
    for (const auto& [name, term] : terms) loss += term.weighted().value_or(0);
  }
  return loss;
}

ordered_json MetricsLine(const StepRecord& record) {
  ordered_json line = {{"step", record.step}, {"draws", ordered_json::array()}};
  for (const Draw& draw : record.draws) {
    line["draws"].push_back({{"task", draw.task}, {"begin", draw.begin}, {"rows", draw.rows}});
  }
  line["loss"] = StepLoss(record.losses);
  line["terms"] = TermsJson(record.losses);
  line["grad_norm"] = record.gradient_norm;
  line["lr"] = record.learning_rate;
  if (!record.evaluation.is_null()) line["eval"] = record.evaluation;
  return line;
}

ordered_json TimingLine(const StepRecord& record) {
  ordered_json line = {{"step", record.step}, {"seconds", record.seconds}};
  line["rows_per_second"] = record.seconds > 0 ? static_cast<double>(record.rows()) / record.seconds : 0.0;
  line["data_wait_ms"] = record.data_wait_ms;
  line["memory_now"] = record.memory_now;
  line["memory_peak"] = record.memory_peak;
  ordered_json& tasks = line["tasks"] = ordered_json::object();
  for (const Draw& draw : record.draws) {
    ordered_json& task = tasks[draw.task];
    if (task.is_null()) task = ordered_json::object();
    task["rows"] = task.value("rows", std::int64_t{0}) + draw.rows;
    const auto bytes = record.constant_bytes.find(draw.task);
    task["constant_bytes"] = bytes == record.constant_bytes.end() ? 0 : bytes->second;
    const auto peak = record.peak_bytes.find(draw.task);
    if (peak != record.peak_bytes.end()) task["memory_peak"] = peak->second;
  }
  if (!record.memory.is_null()) line["memory"] = record.memory;
  if (!record.guard.is_null()) line["guard"] = record.guard;
  if (!record.overflows.is_null()) line["out_of_memory"] = record.overflows;
  return line;
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

// See TotalLoss.
std::optional<double> PastTotal(const nlohmann::json& terms) {
  double total = 0;
  for (const auto& term : terms) {
    const nlohmann::json& weighted = term.at("weighted");
    if (weighted.is_null()) return std::nullopt;
    total += weighted.get<double>();
  }
  return total;
}

std::vector<PastStep> ReadPast(const fs::path& metrics) {
  std::vector<PastStep> past;
  std::ifstream file(metrics);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("terms"))
      throw Error(metrics.string() + " has a line that is no step");
    past.push_back({json.at("step").get<std::int64_t>(), {}});
    for (const auto& [task, terms] : json.at("terms").items()) {
      if (const auto total = PastTotal(terms)) past.back().losses[task] = *total;
    }
  }
  return past;
}

}  // namespace

std::optional<double> TotalLoss(const std::map<std::string, LoggedTerm>& terms) {
  double total = 0;
  for (const auto& [name, term] : terms) {
    const std::optional<double> weighted = term.weighted();
    if (!weighted) return std::nullopt;
    total += *weighted;
  }
  return total;
}

std::int64_t StepRecord::rows() const {
  std::int64_t rows = 0;
  for (const Draw& draw : draws) rows += draw.rows;
  return rows;
}

Metrics::Metrics(const fs::path& directory, const std::vector<std::string>& tasks, const LogOffsets& offsets)
    : tasks_(tasks) {
  metrics_ = std::make_unique<AppendFile>(directory / kMetrics, OffsetOf(offsets, kMetrics));
  const std::int64_t kept = WholeLines(directory / kTimingLog, OffsetOf(offsets, kTimingLog));
  timing_ = std::make_unique<AppendFile>(directory / kTimingLog, kept);
  losses_ = std::make_unique<AppendFile>(directory / kLosses, 0);
  RewriteLosses();
}

// The tasks may be others than before the resume: the past gets their columns too.
void Metrics::RewriteLosses() {
  const std::vector<PastStep> past = ReadPast(metrics_->path());
  for (const PastStep& step : past) {
    for (const auto& [task, loss] : step.losses) {
      if (std::find(tasks_.begin(), tasks_.end(), task) == tasks_.end()) tasks_.push_back(task);
    }
  }
  std::string text = CsvHeader(tasks_);
  for (const PastStep& step : past) text += CsvRow(step.step, tasks_, step.losses);
  losses_->Append(text);
}

void Metrics::Record(const StepRecord& record) {
  metrics_->Append(MetricsLine(record).dump() + "\n");
  timing_->Append(TimingLine(record).dump() + "\n");
  std::map<std::string, double> losses;
  for (const auto& [task, terms] : record.losses) {
    if (const auto total = TotalLoss(terms)) losses[task] = *total;
  }
  losses_->Append(CsvRow(record.step, tasks_, losses));
}

LogOffsets Metrics::Sync() {
  LogOffsets offsets;
  losses_->Sync();
  for (AppendFile* file : {metrics_.get(), timing_.get()}) {
    file->Sync();
    offsets[file->path().filename()] = file->offset();
  }
  return offsets;
}

}  // namespace medley

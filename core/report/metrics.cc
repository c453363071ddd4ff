#include <medley/report/metrics.h>

#include <cmath>
#include <fstream>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kTiming = "timing.jsonl";
constexpr const char* kLosses = "losses.csv";

std::int64_t OffsetOf(const LogOffsets& offsets, const std::string& name) {
  const auto found = offsets.find(name);
  return found == offsets.end() ? 0 : found->second;
}

// JSON has no NaN and no infinity; nlohmann writes both as null.
ordered_json TermsJson(const LoggedLosses& losses) {
  ordered_json json = ordered_json::object();
  for (const auto& [task, terms] : losses) {
    for (const auto& [name, term] : terms) {
      json[task][name] = {
          {"mean", term.mean()}, {"sum", term.sum}, {"count", term.count}, {"weighted", term.weight * term.mean()}};
    }
  }
  return json;
}

ordered_json MetricsLine(const StepRecord& record) {
  ordered_json line = {{"step", record.step}, {"draws", ordered_json::array()}};
  for (const Draw& draw : record.draws) {
    line["draws"].push_back({{"task", draw.task}, {"begin", draw.begin}, {"rows", draw.rows}});
  }
  double loss = 0;
  for (const auto& [task, terms] : record.losses) loss += TotalLoss(terms);
  line["loss"] = loss;
  line["terms"] = TermsJson(record.losses);
  line["grad_norm"] = record.gradient_norm;
  line["lr"] = record.learning_rate;
  if (!record.evaluation.is_null()) line["eval"] = record.evaluation;
  return line;
}

ordered_json TimingLine(const StepRecord& record) {
  ordered_json line = {{"step", record.step}, {"seconds", record.seconds}};
  line["rows_per_second"] = record.seconds > 0 ? static_cast<double>(record.rows()) / record.seconds : 0.0;
  line["memory_now"] = record.memory_now;
  line["memory_peak"] = record.memory_peak;
  ordered_json& tasks = line["tasks"] = ordered_json::object();
  for (const Draw& draw : record.draws) {
    ordered_json& task = tasks[draw.task];
    task["rows"] = task.value("rows", std::int64_t{0}) + draw.rows;
    const auto bytes = record.constant_bytes.find(draw.task);
    task["constant_bytes"] = bytes == record.constant_bytes.end() ? 0 : bytes->second;
  }
  return line;
}

std::string CsvHeader(const std::vector<std::string>& tasks) {
  std::string header = "step";
  for (const std::string& task : tasks) header += "," + task;
  return header + "\n";
}

// A run whose mixture got new tasks goes on in a new file; the old one keeps its columns and a number.
bool HasColumns(const fs::path& path, const std::string& header) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && line + "\n" == header;
}

void SetAside(const fs::path& path) {
  for (int n = 1;; ++n) {
    const fs::path aside = path.parent_path() / ("losses." + std::to_string(n) + ".csv");
    if (fs::exists(aside)) continue;
    fs::rename(path, aside);
    return;
  }
}

}  // namespace

double TotalLoss(const std::map<std::string, LoggedTerm>& terms) {
  double total = 0;
  for (const auto& [name, term] : terms) total += term.weight * term.mean();
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
  timing_ = std::make_unique<AppendFile>(directory / kTiming, OffsetOf(offsets, kTiming));
  const std::string header = CsvHeader(tasks_);
  std::int64_t keep = OffsetOf(offsets, kLosses);
  if (keep > 0 && !HasColumns(directory / kLosses, header)) {
    SetAside(directory / kLosses);
    keep = 0;
  }
  losses_ = std::make_unique<AppendFile>(directory / kLosses, keep);
  if (keep == 0) losses_->Append(header);
}

void Metrics::Record(const StepRecord& record) {
  metrics_->Append(MetricsLine(record).dump() + "\n");
  timing_->Append(TimingLine(record).dump() + "\n");
  std::string row = std::to_string(record.step);
  for (const std::string& task : tasks_) {
    row += ",";
    const auto terms = record.losses.find(task);
    if (terms != record.losses.end()) row += nlohmann::json(TotalLoss(terms->second)).dump();
  }
  losses_->Append(row + "\n");
}

LogOffsets Metrics::Sync() {
  LogOffsets offsets;
  for (AppendFile* file : {metrics_.get(), timing_.get(), losses_.get()}) {
    file->Sync();
    offsets[file->path().filename()] = file->offset();
  }
  return offsets;
}

}  // namespace medley

// The readers of what a run writes while it goes on.
#include <filesystem>

#include <medley/base/json_count.h>
#include <medley/base/json_reader.h>
#include <medley/checkpoint/section.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plan/receipt.h>
#include <medley/report/console.h>
#include <medley/report/event_file.h>
#include <medley/report/log_repair.h>
#include <medley/report/metrics.h>
#include <medley/report/progress.h>
#include <medley/report/step_record_json.h>
#include <medley/train/run_hours.h>

#include "tests/fuzz/framing.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/written.h"

namespace medley::fuzz {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

// As a resume does it with logs of which a checkpoint says how long they are, and the run with its own.
void ReadLogs(const fs::path& directory, const LogMarks& marks) {
  const LogMarks ready = RepairLogs(directory, {kMetricsLog}, marks, 3, Quiet());
  const MetricsLog log(directory, ready, Quiet());
  const LossesTable table(directory, {"a"}, Quiet());
  fs::remove_all(directory);  // with what was set aside
}

void ReadMetrics(const std::string& bytes) {
  const LossesTable table(Written("metrics/metrics.jsonl", bytes).parent_path(), {"a"}, Quiet());
}

// An older checkpoint has no sum, so every line is looked at; and where it says more than there is, every
// line that can be read is taken over.
void RepairLog(const std::string& bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  ReadLogs(Written("logs/metrics.jsonl", bytes).parent_path(), {{kMetricsLog, {size + size % 2, ""}}});
}

void ReadEvents(const std::string& bytes) {
  const fs::path file = Written("events/few.tfevents", bytes);
  const EventFile events(file, static_cast<std::int64_t>(bytes.size()));
  fs::remove_all(file.parent_path());  // with what was set aside
}

void ReadEventRecords(const std::string& bytes) { ReadEvents(WithRecordSums(bytes)); }

// As a trainer writes down what it has not written yet.
void WriteDown(const StepRecord& record) {
  const fs::path directory = "unreported";
  fs::create_directories(directory);
  MetricsLog(directory, {}, Quiet()).Take(record);
  TimingLog(directory, {}, Quiet()).Take(record);
  LossesTable(directory, {"a"}, Quiet()).Take(record);
  Receipt receipt;
  for (const DrawReceipt& draw : record.receipts) receipt.Record(draw);
  ReceiptTable(receipt);
  Progress progress(0, 100);
  progress.Add(record);
  static_cast<void>(progress.Line(80));
  fs::remove_all(directory);
}

// What a trainer's section of its progress holds, but for what needs a model.
void ReadProgress(const std::string& bytes) {
  RunConfig config;
  config.steps = 100;
  config.hours = 1;
  const FormTable forms(config, OneStage({{"a", 1}, {"b", 1}}));
  PlanInForce plan(forms, {{FormId("a"), {}}, {FormId("b"), {.way = {}, .micro_rows = 4}}});
  RunHours hours(config, Quiet(), [] { return 0.0; });
  std::int64_t step = 0;
  std::optional<StepRecord> unreported;
  const auto load = [&](const json& state) {
    step = CountOf(state, "step");
    static_cast<void>(state.at("last_losses").get<std::map<std::string, double>>());
    plan.Load(state.value("overflows", json::object()));
    hours.Load(state);
    if (state.contains("unreported")) unreported = StepRecordFromJson(state.at("unreported"));
    static_cast<void>(state.at("dropped").get<std::map<std::string, std::string>>());
  };
  const ordered_json section = {{"version", 1}, {"state", ReadJson(bytes, "state.json")}};
  LoadSections({{"progress", 1, [] { return json(); }, load}}, {{"progress", section}});
  hours.Start(step);
  plan.Fitted({{"a", 0, 8}, {"b", 0, 8}});
  plan.Cut("b", 8);
  if (unreported) WriteDown(*unreported);
}

}  // namespace

std::vector<Reader> LogReaders() {
  return {{"metrics", true, ReadMetrics},
          {"log", true, RepairLog},
          {"progress", true, ReadProgress},
          {"events", false, ReadEvents},
          {"event_records", false, ReadEventRecords}};
}

}  // namespace medley::fuzz

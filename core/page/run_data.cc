#include <medley/page/run_data.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/curriculum/weight_log.h>
#include <medley/page/curve.h>
#include <medley/page/log_lines.h>
#include <medley/page/page_sheets.h>
#include <medley/page/run_logs.h>
#include <medley/plan/receipt.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMostMarks = 400;

json ReadIfThere(const fs::path& file) {
  if (!fs::exists(file)) return nullptr;
  return ReadJson<json>(ReadFile(file, std::int64_t{256} << 20), DisplayPath(file));
}

// Whether a score's whole interval is better than chance and than every answer that needs no learning.
std::optional<bool> IsClear(const json& score) {
  const bool lower = score.value("better", "higher") == "lower";
  const double worst = NumberAt(score, lower ? "high" : "low");
  std::vector<double> others = {NumberAt(score, "chance")};
  for (const auto& [name, value] : At(score, "trivial").items())
    if (value.is_number()) others.push_back(value.get<double>());
  std::erase_if(others, [](double other) { return !std::isfinite(other); });
  if (others.empty() || !std::isfinite(worst)) return std::nullopt;
  return std::all_of(others.begin(), others.end(),
                     [&](double other) { return lower ? worst < other : worst > other; });
}

// A list of what is there by name, each with its name first.
ordered_json Listed(const char* key, const std::map<std::string, ordered_json>& by_name) {
  ordered_json list = ordered_json::array();
  for (const auto& [name, one] : by_name) list.emplace_back(ordered_json{{key, name}}).update(one);
  return list;
}

// The last account of a task is that of the stage that it was in last.
ordered_json TasksOf(const json& receipt, const RunLogs& logs) {
  std::map<std::string, ordered_json> tasks;
  for (const json& stage : ListAt(receipt, "stages")) {
    for (const auto& [task, account] : At(stage, "tasks").items()) {
      ordered_json& one = tasks[task];
      if (NumberAt(account, "rows") > 0 && NumberAt(account, "charged") > 0)  // of what the weights count
        one["charge"] = NumberAt(account, "charged") / NumberAt(account, "rows");
      one["asked"] = At(account, "asked");
      one["delivered"] = At(account, "delivered");
      for (const char* sum : {"rows", "steps", "seconds"})
        one[sum] = one.value(sum, 0.0) + (At(account, sum).is_number() ? account[sum].get<double>() : 0);
      if (const json& items = At(account, "items"); items.is_number()) one["items"] = items;
    }
  }
  for (const auto& [task, loss] : logs.losses()) tasks[task]["loss"] = Rounded(loss);
  for (const auto& [task, score] : logs.scores().items()) {
    ordered_json& one = tasks[task]["score"];
    for (const char* key : {"metric", "better", "value", "low", "high", "chance", "trivial", "rows"})
      one[key] = At(score, key);
    if (const std::optional<bool> clear = IsClear(score)) one["clear"] = *clear;
  }
  return Listed("name", tasks);
}

// By form of a task: what the plan says, and what was measured under it.
ordered_json MemoryOf(const json& plan, const json& receipt) {
  std::map<std::string, ordered_json> forms;
  for (const json& form : ListAt(plan, "tasks")) {
    ordered_json& one = forms[form.value("task", "")];
    for (const char* key : {"mode", "rows", "micro_rows", "gradients", "saved", "transient", "margin"})
      one[key] = At(form, key);
    one["predicted"] = At(form, "predicted_peak");
  }
  for (const auto& [form, epochs] : At(receipt, "tasks").items()) {
    if (!epochs.is_array() || epochs.empty()) continue;
    ordered_json& one = forms[form];
    if (!one.contains("mode"))
      one["mode"] = At(epochs.back(), "mode"), one["micro_rows"] = At(epochs.back(), "micro_rows");
    one["measured"] = At(epochs.back(), "measured_peak", "largest");
    std::int64_t overflows = 0;
    for (const json& epoch : epochs)
      if (const json& count = At(epoch, "overflows", "count"); count.is_number_integer())
        overflows += count.get<std::int64_t>();
    one["overflows"] = overflows;
  }
  return {{"budget", At(plan, "budget")}, {"floor", At(plan, "floor")}, {"forms", Listed("task", forms)}};
}

// Of a run of several processes what each one took; null of another. The others' receipts are of the last
// start.
ordered_json RanksOf(const fs::path& run, const json& plan, const json& receipt, const RunLogs& logs) {
  const std::vector<fs::path> others = DirectoriesOfOthers(run);
  if (others.empty()) return nullptr;
  ordered_json ranks = ordered_json::array();
  const auto add = [&](const json& planned, const json& took) {
    const std::size_t rank = ranks.size();
    ranks.push_back({{"rank", rank}, {"worked", logs.WorkOf(rank)}, {"memory", MemoryOf(planned, took)}});
  };
  add(plan, receipt);
  for (const fs::path& other : others)
    add(ReadIfThere(other / "plan.json"), ReadIfThere(other / kReceiptFile));
  return ranks;
}

// Starts of the run but its first.
void AddResumes(const json& record, std::vector<ordered_json>& marks) {
  const json& starts = ListAt(record, "starts");
  for (std::size_t i = 1; i < starts.size(); ++i) {
    if (!At(starts[i], "step").is_number_integer()) continue;
    marks.push_back({{"step", starts[i]["step"]},
                     {"kind", "resume"},
                     {"words", starts[i].value("time", "") + " " + starts[i].value("config", "")}});
  }
}

// Changes of the weights, and with them their asked shares from then on.
void AddWeightMarks(const fs::path& run, std::vector<ordered_json>& marks) {
  ForEachLine(run / kWeightLog, [&](const json& line) {
    if (!line.contains("cause")) return;
    marks.push_back({{"step", line["step"]},
                     {"kind", line["cause"]},
                     {"words", (line.value("name", "") + " " + line.value("words", ""))},
                     {"shares", At(line, "after")}});
  });
}

}  // namespace

ordered_json RunData(const fs::path& run) {
  const json config = ReadIfThere(NewestConfig(run)), record = ReadRunRecord(run);
  if (!record.is_object() || !config.is_object())
    throw InputError(DisplayPath(run) +
                     " has no run.json, or its config is no object: a run's directory is expected");
  const json plan = ReadIfThere(run / "plan.json"), receipt = ReadIfThere(run / kReceiptFile);
  const RunLogs logs(run);
  ordered_json page = {{"name", fs::absolute(run).lexically_normal().filename().string()},
                       {"folder", DisplayPath(run)},
                       {"step", logs.step()},
                       {"steps", At(config, "steps")},
                       {"repeat", "medley train " + DisplayPath(run / "config.resolved.json") + " --replay " +
                                      DisplayPath(run) + " --out AGAIN"}};
  for (const char* key : {"medley", "revision", "libtorch", "cpu", "device", "threads", "seed", "model"})
    page["about"][key] = At(record, key);
  page["config"] = config;
  page["tasks"] = TasksOf(receipt, logs);
  const json& stages = ListAt(receipt, "stages");
  page["unit"] = stages.empty() ? json() : At(stages.back(), "unit");
  page["memory"] = MemoryOf(plan, receipt);
  page["ranks"] = RanksOf(run, plan, receipt, logs);
  logs.PutCurves(page);
  page["phases"] = logs.Phases();
  std::vector<ordered_json> marks = logs.marks();
  AddWeightMarks(run, marks);
  AddResumes(record, marks);
  std::stable_sort(marks.begin(), marks.end(),
                   [](const auto& a, const auto& b) { return a["step"] < b["step"]; });
  page["marks_left_out"] = marks.size() > kMostMarks ? marks.size() - kMostMarks : 0;
  marks.resize(std::min(marks.size(), kMostMarks));
  page["marks"] = marks;
  page["sheets"] = SheetsOf(run, At(ReadIfThere(run / "eval.json"), "step"));
  return page;
}

}  // namespace medley

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
#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/form_table.h>
#include <medley/curriculum/mixture.h>
#include <medley/curriculum/weight_log.h>
#include <medley/page/curve.h>
#include <medley/page/last_scores.h>
#include <medley/page/mixture_curves.h>
#include <medley/page/planned_end.h>
#include <medley/page/run_logs.h>
#include <medley/page/weight_marks.h>
#include <medley/plan/receipt.h>
#include <medley/report/log_lines.h>

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

// What the next start writes anew; without it the page lacks what is in it.
json ReadIfGood(const fs::path& file) try { return ReadIfThere(file); } catch (const InputError&) {
  return nullptr;
}

ordered_json LastScoreJson(const LastScore& last) {
  ordered_json json = ToJson(last.score);
  json["step"] = last.step;
  if (last.before) json["before"] = ToJson(*last.before);
  json["baseline"] = nullptr;
  if (const std::optional<Baseline> baseline = BestBaseline(last.score))
    json["baseline"] = {{"name", baseline->name}, {"value", baseline->value}};
  json["clear"] = nullptr;
  if (const std::optional<bool> clear = IsClear(last.score)) json["clear"] = *clear;
  return json;
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
  for (const auto& [task, score] : logs.scores()) tasks[task]["score"] = LastScoreJson(score);
  return Listed("name", tasks);
}

// By form that stages make of a task, the names of these stages. Nothing while weights or config cannot be
// read: they may be under work just now, and this is words only.
std::map<std::string, std::vector<std::string>> StagesOfForms(const fs::path& run) {
  std::map<std::string, std::vector<std::string>> stages;
  try {
    const fs::path file = run / kRunWeights;
    const Curriculum curriculum = ParseCurriculum(file, ReadFile(file, kLargestWeightsFile));
    const FormTable forms(ReadWrittenConfig(NewestConfig(run)), curriculum);
    for (const Stage& stage : curriculum.stages) {
      for (const auto& [task, change] : stage.set.tasks) {
        const Form& form = forms.Of(stage, task);
        if (!form.IsOwn()) stages[form.id.text()].push_back(stage.name);
      }
    }
    return stages;
  } catch (const Error&) {
    return {};
  }
}

// By form of a task: what the plan says, and what was measured under it.
ordered_json MemoryOf(const json& plan, const json& receipt) {
  std::map<std::string, ordered_json> forms;
  for (const json& form : ListAt(plan, "tasks")) {
    ordered_json& one = forms[form.value("task", "")];
    for (const char* key :
         {"mode", "rows", "micro_rows", "tables", "gradients", "saved", "transient", "margin"})
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
  for (const fs::path& other : others) add(ReadIfGood(other / "plan.json"), ReadIfGood(other / kReceiptFile));
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

double DrawsIn(const RunLogs& logs) {
  double draws = 0;
  for (const auto& [task, curve] : logs.draws()) draws += curve.back().value;
  return draws;
}

// What a task's rows count for in the unit of the weights, in which shares are asked.
std::map<std::string, Curve> AmountsOf(const RunLogs& logs, const json& unit, const ordered_json& tasks) {
  if (unit == "steps") return logs.draws();
  std::map<std::string, Curve> amounts = logs.rows();
  if (unit == "rows") return amounts;
  for (const ordered_json& task : tasks) {
    const auto found = amounts.find(task["name"].get<std::string>());
    if (found == amounts.end()) continue;
    for (CurvePoint& point : found->second) point.value *= task.value("charge", 1.0);
  }
  return amounts;
}

// How its tasks are just now, from the logs alone: before the first save and the first evaluation too. What a
// row counts for in tokens or passes stands in the receipt, so nothing is known of delivered shares in these
// before the first save.
ordered_json TasksNow(const RunLogs& logs, const std::vector<ordered_json>& marks, const ordered_json& unit,
                      const ordered_json& tasks) {
  const bool is_charged = unit == "tokens" || unit == "passes";
  const bool is_known = !is_charged || std::ranges::all_of(tasks, [&](const ordered_json& task) {
    return logs.drawn().count(task["name"].get<std::string>()) == 0 || task.contains("charge");
  });
  const auto shares =
      SharesSinceTheirChange(is_known ? AmountsOf(logs, unit, tasks) : std::map<std::string, Curve>(), marks);
  std::map<std::string, ordered_json> now;
  if (shares) {
    for (const auto& [task, asked] : shares->asked) now[task]["asked"] = Rounded(asked);
    for (const auto& [task, delivered] : shares->delivered) now[task]["delivered"] = Rounded(delivered);
  }
  for (const auto& [task, step] : logs.drawn()) {
    ordered_json& one = now[task];
    one["last_step"] = step;
    one["rows"] = static_cast<std::int64_t>(logs.rows().at(task).back().value);
    one["draws"] = static_cast<std::int64_t>(logs.draws().at(task).back().value);
    one["loss"] = Rounded(logs.smoothed().Of(task));
  }
  ordered_json all = {{"since", shares ? ordered_json(shares->since) : ordered_json()}, {"unit", unit}};
  ordered_json& by_task = all["tasks"] = ordered_json::object();
  for (const auto& [task, known] : now) {
    by_task[task] = {{"asked", shares ? ordered_json(0.0) : ordered_json()},
                     {"delivered", nullptr},
                     {"loss", nullptr},
                     {"last_step", nullptr},
                     {"rows", 0},
                     {"draws", 0}};
    by_task[task].update(known);
  }
  return all;
}

// Where it stands, and how long that took.
void PutProgress(const fs::path& run, const RunLogs& logs, const json& config, const json& record,
                 ordered_json& page) {
  page["step"] = logs.step();
  page["steps"] = At(config, "steps");
  page["ends"] = PlannedEnd(run, config);
  page["why"] = nullptr;
  if (const json& starts = ListAt(record, "starts"); !starts.empty()) {
    page["began"] = At(starts.front(), "time");
    const json& ended = At(starts.back(), "ended");
    if (NumberAt(ended, "step") >= logs.step() && EndOfRun(ended) == RunEnd::kEnded)
      page["ends"] = At(ended, "step"), page["why"] = At(ended, "why");
  }
  page["is_over"] = page["ends"].is_number() && page["step"] >= page["ends"];
  page["seconds"] = logs.seconds();
  page["seconds_left"] = nullptr;  // at the pace of the last hundred
  const double seconds = logs.SecondsOfAStep();
  if (!std::isfinite(seconds) || !page["ends"].is_number() || page["is_over"].get<bool>()) return;
  double left = seconds * (page["ends"].get<double>() - page["step"].get<double>());
  if (const double hours = NumberAt(config, "hours"); hours > 0) {  // which count from the last start
    const json& starts = ListAt(record, "starts");
    const double begun = starts.empty() ? 0 : NumberAt(starts.back(), "step");
    const double used = logs.SecondsAfter(std::isfinite(begun) ? static_cast<std::int64_t>(begun) : 0);
    left = std::clamp(3600 * hours - used, 0.0, left);
  }
  page["seconds_left"] = left;
}

}  // namespace

ordered_json RunData(const fs::path& run) {
  const json config = ReadIfThere(NewestConfig(run)), record = ReadRunRecord(run);
  if (!config.is_object())
    throw InputError(DisplayPath(run) + ": its config is no object: a run's directory is expected");
  const json plan = ReadIfGood(run / "plan.json"), receipt = ReadIfGood(run / kReceiptFile);
  const json scored = LastEvaluation(run);
  RunLogs logs(run);
  if (const json& scores = ScoresIn(scored); !scores.empty())
    logs.TakeScores(run / kEvaluationFile, scored["step"].get<std::int64_t>(), scores);
  const fs::path path = NormalPath(fs::absolute(run));
  ordered_json page = {{"name", path.filename().string()},
                       {"folder", DisplayPath(run)},
                       {"path", path.string()},
                       {"repeat", "medley train " + DisplayPath(run / "config.resolved.json") + " --replay " +
                                      DisplayPath(run) + " --out AGAIN"}};
  for (const char* key : {"medley", "revision", "libtorch", "cpu", "device", "threads", "seed", "model"})
    page["about"][key] = At(record, key);
  page["config"] = config;
  page["tasks"] = TasksOf(receipt, logs);
  page["verdict"] = VerdictWords(logs.scores());
  const json& stages = ListAt(receipt, "stages");
  const json& unit = stages.empty() ? stages : At(stages.back(), "unit");
  const bool has_unit = unit.is_string() && !unit.get_ref<const std::string&>().empty();
  const std::optional<Curriculum> curriculum = CurriculumOf(run);
  page["unit"] =
      has_unit
          ? unit
          : json(EnumName(curriculum ? curriculum->unit : ShareUnit::kRows));  // an older medley said none
  page["memory"] = MemoryOf(plan, receipt);
  const auto stages_of_forms = StagesOfForms(run);
  for (ordered_json& form : page["memory"]["forms"])
    if (const auto found = stages_of_forms.find(form["task"]); found != stages_of_forms.end())
      form["stages"] = found->second;
  page["ranks"] = RanksOf(run, plan, receipt, logs);
  logs.PutCurves(page);
  page["phases"] = logs.Phases();
  std::vector<ordered_json> marks = logs.marks();
  const std::string stage = AddWeightMarks(run, curriculum, logs.step(), DrawsIn(logs), marks);
  AddResumes(record, marks);
  std::ranges::stable_sort(marks, [](const auto& a, const auto& b) { return a["step"] < b["step"]; });
  PutProgress(run, logs, config, record, page);
  page["now"] = TasksNow(logs, marks, page["unit"], page["tasks"]);
  page["now"]["stage"] = stage;
  for (ordered_json& task : page["tasks"]) {  // of which no save says anything yet
    const json known = page["now"]["tasks"].value(task["name"].get<std::string>(), json());
    if (!task.contains("asked") && known.is_object())
      for (const char* key : {"asked", "delivered", "rows"}) task[key] = known[key];
  }
  page["mixture"] = MixtureCurves(AmountsOf(logs, page["unit"], page["tasks"]), marks, logs.step());
  page["marks_left_out"] = marks.size() > kMostMarks ? marks.size() - kMostMarks : 0;
  marks.resize(std::min(marks.size(), kMostMarks));
  page["marks"] = marks;
  if (const json& against = At(scored, "against"); against.is_object()) page["against"] = against;
  page["scored"] = At(scored, "step");
  return page;
}

}  // namespace medley

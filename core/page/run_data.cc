#include <medley/page/run_data.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/line_reader.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/curriculum/weight_log.h>
#include <medley/page/curve.h>
#include <medley/plan/receipt.h>
#include <medley/report/metrics.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kStretches = 120;            // of a panel's curve
constexpr std::int64_t kMostOfPictures = 1 << 20;  // bytes, before they are written as text
constexpr std::size_t kMostMarks = 400;

// A value at a path of keys; null where there is none.
template <typename... Keys>
const json& At(const json& value, const Keys&... keys) {
  static const json kNothing = nullptr;
  const json* at = &value;
  for (const char* key : {keys...}) {
    if (!at->is_object()) return kNothing;
    const auto found = at->find(key);
    if (found == at->end()) return kNothing;
    at = &*found;
  }
  return *at;
}

const json& ListAt(const json& value, const char* key) {
  static const json kNone = json::array();
  const json& found = At(value, key);
  return found.is_array() ? found : kNone;
}

double NumberAt(const json& value, const char* key) {
  const json& found = At(value, key);
  return found.is_number() ? found.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

json ReadIfThere(const fs::path& file) {
  if (!fs::exists(file)) return nullptr;
  return ReadJson<json>(ReadFile(file, std::int64_t{256} << 20), DisplayPath(file));
}

// Each whole line of a log that has a step; the last one may still be written.
template <typename Take>
void ForEachLine(const fs::path& file, const Take& take) {
  if (!fs::exists(file)) return;
  LineReader reader(file);
  std::int64_t number = 0;
  for (std::string line; reader.Next(line) && reader.whole();) {
    ++number;
    const json read = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!read.is_object())
      throw InputError(DisplayPath(file) + ":" + std::to_string(number) +
                       ": expected an object of JSON: the log is damaged");
    if (At(read, "step").is_number_integer()) take(read);
  }
}

std::string Base64(const std::string& bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? kLetters[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

// What metrics.jsonl and timing.jsonl tell, step by step.
class Logs {
 public:
  explicit Logs(const fs::path& run) {
    ForEachLine(run / kMetricsLog, [&](const json& line) { TakeMetrics(line); });
    ForEachLine(run / kTimingLog, [&](const json& line) { TakeTiming(line); });
  }

  std::int64_t step() const { return step_; }
  const json& scores() const { return last_scores_; }
  const std::map<std::string, double>& losses() const { return last_loss_; }

  void PutCurves(ordered_json& page) const {
    ordered_json& losses = page["losses"] = ordered_json::object();
    for (const auto& [task, terms] : terms_) {
      for (const auto& [term, curve] : terms) losses[task][term] = JsonOf(Thinned(curve, kStretches));
    }
    ordered_json& scores = page["scores"] = ordered_json::object();
    for (const auto& [task, points] : scores_) scores[task] = points;
    page["rate"] = JsonOf(Thinned(rate_, kStretches));
    page["norm"] = JsonOf(Thinned(norm_, kStretches));
    page["speed"] = JsonOf(Thinned(speed_, kStretches));
    page["floor"] = JsonOf(Thinned(floor_, kStretches));
    page["peak"] = JsonOf(Thinned(peak_, kStretches));
    ordered_json& rows = page["rows"] = ordered_json::object();
    for (const auto& [task, curve] : rows_) rows[task] = JsonOf(Thinned(curve, kStretches / 3));
  }
  const std::vector<ordered_json>& marks() const { return marks_; }

 private:
  void TakeMetrics(const json& line) {
    const auto step = line["step"].get<std::int64_t>();
    if (line.contains(kTransition)) {
      if (const json& jump = At(line, "jump"); jump.is_object()) TakeJump(step, jump);
      return;
    }
    step_ = step;
    for (const auto& [task, terms] : At(line, "terms").items()) {
      double sum = 0;
      for (const auto& [term, loss] : terms.items()) {
        terms_[task][term].push_back({step, NumberAt(loss, "mean")});
        sum += NumberAt(loss, "weighted");
      }
      if (std::isfinite(sum)) last_loss_[task] = sum;
    }
    for (const json& draw : ListAt(line, "draws")) {
      const std::string task = draw.value("task", "");
      rows_[task].push_back({step, total_[task] += NumberAt(draw, "rows")});
    }
    rate_.push_back({step, NumberAt(line, "lr")});
    norm_.push_back({step, NumberAt(line, "grad_norm")});
    if (const json& scores = At(line, "eval"); scores.is_object()) TakeScores(step, scores);
  }
  void TakeJump(std::int64_t step, const json& jump) {
    const bool taken = jump.value("taken", false);
    marks_.push_back({{"step", step},
                      {"kind", "prediction"},
                      {"words", jump.value("direction", "") + ": " +
                                    (taken ? "taken" : "not taken, " + jump.value("why", ""))},
                      {"gain", Rounded(NumberAt(jump, "gain"))}});
  }
  void TakeScores(std::int64_t step, const json& scores) {
    for (const auto& [task, score] : scores.items()) {
      ordered_json point = {step};
      for (const char* key : {"value", "low", "high", "loss"}) point.push_back(Rounded(NumberAt(score, key)));
      scores_[task].push_back(std::move(point));
      last_scores_[task] = score;
    }
  }
  void TakeTiming(const json& line) {
    const auto step = line["step"].get<std::int64_t>();
    if (line.contains(kTransition)) return;
    floor_.push_back({step, NumberAt(line, "memory_now")});
    peak_.push_back({step, NumberAt(line, "memory_peak")});
    speed_.push_back({step, NumberAt(line, "rows_per_second")});
    for (const json& finding : ListAt(line, "guard"))
      marks_.push_back({{"step", step}, {"kind", "memory"}, {"words", finding.value("words", "")}});
  }

  std::int64_t step_ = 0;
  std::map<std::string, std::map<std::string, Curve>> terms_;
  std::map<std::string, std::vector<ordered_json>> scores_;
  std::map<std::string, double> last_loss_, total_;
  std::map<std::string, Curve> rows_;
  json last_scores_ = json::object();
  Curve rate_, norm_, speed_, floor_, peak_;
  std::vector<ordered_json> marks_;
};

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
ordered_json TasksOf(const json& receipt, const Logs& logs) {
  std::map<std::string, ordered_json> tasks;
  for (const json& stage : ListAt(receipt, "stages")) {
    for (const auto& [task, account] : At(stage, "tasks").items()) {
      ordered_json& one = tasks[task];
      one["asked"] = At(account, "asked");
      one["delivered"] = At(account, "delivered");
      for (const char* sum : {"rows", "steps", "seconds"})
        one[sum] = one.value(sum, 0.0) + (At(account, sum).is_number() ? account[sum].get<double>() : 0);
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

// Of the run's last scoring (medley eval); what does not fit is named alone.
ordered_json SheetsOf(const fs::path& run) {
  ordered_json sheets = ordered_json::array();
  std::int64_t bytes = 0;
  std::set<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with("sheet-") && entry.path().extension() != ".part") files.insert(run / name);
  }
  for (const fs::path& file : files) {
    ordered_json sheet = {{"task", file.filename().string().substr(6)}};
    if (const fs::path picture = file.string() + ".png"; fs::exists(picture)) {
      const std::string read = ReadFile(picture);
      bytes += std::ssize(read);
      if (bytes <= kMostOfPictures)
        sheet["png"] = Base64(read);
      else
        sheet["left_out"] = picture.filename().string();
    }
    if (const fs::path words = file.string() + ".txt"; fs::exists(words))
      sheet["words"] = ReadFile(words).substr(0, 4000);
    sheets.push_back(std::move(sheet));
  }
  return sheets;
}

}  // namespace

ordered_json RunData(const fs::path& run) {
  const json config = ReadIfThere(NewestConfig(run)), record = ReadRunRecord(run);
  if (!record.is_object() || !config.is_object())
    throw InputError(DisplayPath(run) +
                     " has no run.json, or its config is no object: a run's directory is expected");
  const json plan = ReadIfThere(run / "plan.json"), receipt = ReadIfThere(run / kReceiptFile);
  const Logs logs(run);
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
  page["memory"] = MemoryOf(plan, receipt);
  logs.PutCurves(page);
  std::vector<ordered_json> marks = logs.marks();
  AddWeightMarks(run, marks);
  std::stable_sort(marks.begin(), marks.end(),
                   [](const auto& a, const auto& b) { return a["step"] < b["step"]; });
  page["marks_left_out"] = marks.size() > kMostMarks ? marks.size() - kMostMarks : 0;
  marks.resize(std::min(marks.size(), kMostMarks));
  page["marks"] = marks;
  const json scored = ReadIfThere(run / "eval.json");
  page["sheets_of"] = At(scored, "step");
  page["sheets"] = SheetsOf(run);
  return page;
}

}  // namespace medley

#include <medley/session/repeated_run.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_count.h>
#include <medley/base/line_reader.h>
#include <medley/config/config_values.h>
#include <medley/curriculum/draw_rule.h>
#include <medley/curriculum/weight_log.h>
#include <medley/run/config_change.h>
#include <medley/run/run_record.h>
#include <medley/run/run_rules.h>
#include <medley/run/weight_log_check.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Steps that were written down; after a power failure the last line may be half of one.
std::int64_t LastStep(const fs::path& directory) {
  LineReader lines(directory / "metrics.jsonl");
  std::string last, one_before;
  for (std::string line; lines.Next(line);) one_before = std::exchange(last, std::move(line));
  for (const std::string& line : {last, one_before}) {
    const nlohmann::json read = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (read.is_object() && read.contains("step")) return CountOf(read, "step");
  }
  return 0;
}

// As the run wrote it, with all that its newest checkpoint was saved after.
WeightLog WholeLog(const fs::path& directory) {
  const fs::path file = directory / kWeightLog;
  WeightLog log(directory);
  log.RequireKnownLines();
  std::string problem = WeightLogProblem(directory, log);
  if (problem.empty() && !log.entries().empty() && !IsWholeHistory(log.entries()))
    problem = "lacks changes of the weights, which it lost when it was damaged";
  if (problem.empty()) return log;
  throw InputError(
      DisplayPath(directory) + " cannot be repeated: " + DisplayPath(file) + " " + problem +
      ". Restore it from a copy; medley resume goes on without what is lost, but no run can repeat it");
}

// Mixers of all medleys draw the same up to the first change of the weights, not behind it.
void RequireThisDrawRule(const fs::path& directory, const WeightLog& log) {
  using Cause = WeightEntry::Cause;
  for (const WeightEntry& entry : log.entries()) {
    const bool changes_draws =
        entry.cause == Cause::kStage || entry.cause == Cause::kEdit || entry.cause == Cause::kDroppedTask;
    if (!changes_draws || entry.draw_rule == kDrawRule) continue;
    throw InputError(
        DisplayPath(directory) + " cannot be repeated: its weights changed at step " +
        std::to_string(entry.step) + " (" + std::string(WordOf(entry.cause)) +
        (entry.name.empty() ? "" : " " + entry.name) +
        "), and the medley that trained it draws otherwise after a change than this one. Repeat it " +
        (entry.draw_rule > kDrawRule ? "with that medley"
                                     : "with that medley; medley resume goes on with it as before"));
  }
}

}  // namespace

RepeatedRun::RepeatedRun(fs::path directory) : directory_(std::move(directory)) {
  NewestConfig(directory_);  // there is a run
  RequireOwnWeights(directory_);
  const ordered_json record = ReadRunRecord(directory_);
  const WeightLog log = WholeLog(directory_);
  RequireThisDrawRule(directory_, log);
  const std::string unknown =
      DisplayPath(directory_) + " cannot be repeated: it was trained by a medley that did not write down ";
  try {
    for (const auto& start : record.at("starts")) {
      const std::int64_t step = CountOf(start, "step");
      // A start that went back behind others takes their place, but for the first one, whose config it is.
      while (starts_.size() > 1 && starts_.back().step >= step) starts_.pop_back();
      starts_.push_back({.step = step,
                         .unevaluated = start.value("unevaluated", false),
                         .config = directory_ / start.at("config").get<std::string>()});
    }
    last_step_ = LastStep(directory_);
  } catch (const nlohmann::json::exception&) {
    throw InputError(unknown + "where it was resumed, and with which config");
  } catch (const std::out_of_range&) {
    throw InputError(unknown + "where it was resumed, and with which config");
  }
  if (log.entries().empty() || starts_.empty() || starts_.front().step > 0)
    throw InputError(unknown + "what its weights were from the first step on");
  weights_ = {.file = fs::absolute(directory_) / kRunWeights, .text = log.entries().front().text};
  last_text_ = log.LastText().value_or("");
  weight_log_ = log.FileText();
  log_has_sums_ = log.has_sums();
  for (const WeightEntry& entry : log.entries()) {
    const bool begins = entry.cause == WeightEntry::Cause::kEarlyDecay;
    if (begins || entry.cause == WeightEntry::Cause::kDecayRefit)
      decays_.push_back({.begins = begins,
                         .step = entry.step,
                         .ends = entry.ends,
                         .of_steps = entry.of_steps,
                         .words = entry.words});
    if (entry.cause == WeightEntry::Cause::kChangedFile && entry.step > 0)
      throw InputError(
          DisplayPath(directory_) + " cannot be repeated: a file that it is made from changed after step " +
          std::to_string(entry.step) + ", and what it was until then is not there: " + entry.words);
  }
}

void RepeatedRun::RequireSame(const RunInputs& inputs) const {
  const fs::path& file = starts_.front().config;
  const ordered_json record = ReadRunRecord(directory_);
  ordered_json config = ToJson(inputs.checked.run);
  ordered_json began =
      ToJson(ReadWrittenConfig(file, WithEarlierDefaults(file, {"weights=" + weights_.file.string()})));
  const ordered_json files = InputRecord(inputs.checked.run, inputs.registry);
  TakePaths(KeysOfSameInputs(record, files), config, began);
  if (!inputs.moved.uncompared.empty()) TakePaths(inputs.moved.uncompared, config, began);
  if (began.value("plugin_path", ordered_json()) != config.value("plugin_path", ordered_json())) {
    RequireSamePlugins(record, inputs);  // wherever they lie
    began["plugin_path"] = config.value("plugin_path", ordered_json());
  }
  for (ordered_json* const side : {&began, &config}) side->erase("on_event");  // which no replay runs
  const auto differences = ConfigDifferences(began, config);
  if (differences.empty()) return;
  std::string words = "this config is not the one that " + DisplayPath(directory_) +
                      " began with. Give the same KEY=VALUE; what differs, there -> here:";
  for (const std::string& difference : differences) words += "\n  " + difference;
  throw InputError(words);
}

RunScript RepeatedRun::ScriptOf(std::size_t start) const {
  RunScript script{.last_step = last_step_, .unevaluated = false, .decays = decays_};
  if (start + 1 >= starts_.size() || starts_[start + 1].step > last_step_ + 1) return script;
  script.last_step = starts_[start + 1].step;
  script.unevaluated = starts_[start + 1].unevaluated;
  return script;
}

// A start whose plan stayed that of the next one has no file of its own.
EarlierPlan RepeatedRun::PlanOf(std::size_t start) const {
  for (; start < starts_.size(); ++start) {
    if (fs::path plan = KeptPlanOf(starts_[start].config); fs::exists(plan)) return {directory_, plan};
  }
  return {directory_, directory_ / kPlanFile};
}

void RepeatedRun::GiveEditsTo(const fs::path& run, Console& console) const {
  if (!log_has_sums_)
    console.Say(
        DisplayPath(directory_ / kWeightLog) +
        " is of an older medley: the texts of its start and its edits are as they were written; whether "
        "steps and edits that were due are, and whether lines are missing at its end, cannot be told");
  ReplaceFile(run / kRunWeights, last_text_);
  ReplaceFile(run / kWeightLog, weight_log_);
}

}  // namespace medley

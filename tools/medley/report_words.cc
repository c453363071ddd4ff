#include "tools/medley/report_words.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <medley/base/clock.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/eval/score_report.h>
#include <medley/page/last_scores.h>
#include <medley/page/run_data.h>
#include <medley/page/run_verdict.h>
#include <medley/report/metrics.h>
#include <medley/report/phase_report.h>
#include <medley/report/screen.h>
#include <medley/report/speeds.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// Empty where there is none: a run writes it when it saves.
Receipt ReadReceipt(const std::filesystem::path& run) {
  const std::filesystem::path file = run / kReceiptFile;
  if (!std::filesystem::exists(file)) return {};
  const auto json = ReadJson(ReadFile(file), DisplayPath(file));
  try {
    return Receipt::FromJson(json, "move the file away: a report without it says less");
  } catch (const Error& error) {
    throw InputError(DisplayPath(file) + ": " + error.what());
  }
}

// Of the run's other processes that have one, by rank: since they were started last.
std::map<std::int64_t, Receipt> ReceiptsOfOthers(const std::filesystem::path& run) {
  std::map<std::int64_t, Receipt> receipts;
  std::int64_t rank = 0;
  for (const std::filesystem::path& other : DirectoriesOfOthers(run)) {
    ++rank;
    if (std::filesystem::exists(other / kReceiptFile)) receipts.emplace(rank, ReadReceipt(other));
  }
  return receipts;
}

std::string Titled(const std::string& title, const std::string& table) {
  return table.empty() ? "" : "\n" + title + "\n" + table;
}

ordered_json ProgressJson(const ordered_json& data) {
  ordered_json json = ordered_json::object();
  for (const char* key : {"step", "ends", "is_over", "why", "seconds", "seconds_left"})
    json[key] = data.at(key);
  return json;
}

std::string ProgressWords(const ordered_json& data) {
  const ordered_json &left = data.at("seconds_left"), &why = data.at("why");
  const std::string name = data.at("name"), steps = data.at("step").dump(),
                    took = " steps in " + FormatSeconds(data.at("seconds").get<double>());
  if (data.at("is_over").get<bool>())
    return name + " is done after " + steps + took + (why.is_null() ? "" : ": " + why.get<std::string>()) +
           "\n";
  return name + " has done " + steps + " of " + data.at("ends").dump() + took +
         (left.is_null() ? "" : "; about " + FormatSeconds(left.get<double>()) + " left") + "\n";
}

// By task, as the page has them.
ordered_json ScoresOf(const ordered_json& data) {
  ordered_json scores = ordered_json::object();
  for (const ordered_json& task : data.at("tasks"))
    if (task.contains("score")) scores[task.at("name").get<std::string>()] = task.at("score");
  return scores;
}

// The verdict first.
std::string ScoresWords(const LastScores& scores) {
  if (scores.empty()) return "";
  const RunVerdict verdict = VerdictOn(scores);
  return Titled("scores after step " + std::to_string(verdict.step) + ": " + verdict.words,
                ScoresTable(scores)) +
         Titled("held-out text", TextLossesTable(scores));
}

double NumberOf(const ordered_json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

// Of a run that goes on: what its logs tell, step by step. The accounts of its receipt are of its last save.
std::string TasksNowWords(const ordered_json& data, const LastScores& scores) {
  const ordered_json& now = data.at("now");
  Table table({"task", "loss", "asked", "delivered", "score", "value", "clear", "rows", "draws"});
  table.Spares({"draws", "rows"});
  const std::int64_t step = data.at("step").get<std::int64_t>();
  bool any_paused = false;
  for (const auto& [task, one] : now.at("tasks").items()) {
    std::string loss = FormatNumber(NumberOf(one.at("loss")));
    const bool is_paused =
        one.at("asked") == 0 && one.at("last_step").is_number() && one.at("last_step") < step;
    if (is_paused) loss += " *";
    any_paused = any_paused || is_paused;
    const auto last = scores.find(task);
    const bool has_score = last != scores.end();
    table.Add({task, loss, FormatShare(NumberOf(one.at("asked"))), FormatShare(NumberOf(one.at("delivered"))),
               has_score ? last->second.score.metric : "-",
               has_score ? FormatScore(last->second.score.score.value) : "-",
               has_score ? ClearWord(last->second.score) : "-", one.at("rows").dump(),
               one.at("draws").dump()});
  }
  if (now.at("tasks").empty()) return "";
  const auto stage = now.at("stage").get<std::string>();
  std::string title = "tasks now" + (stage.empty() ? "" : ", in stage " + stage) +
                      ": loss, smoothed; shares of " + now.at("unit").get<std::string>();
  if (now.at("since").is_number() && now.at("since") > 0)
    title += ", since they were last changed, after step " + now.at("since").dump();
  return Titled(title, table.ToText()) + (any_paused ? "* not drawn any more\n" : "");
}

// By task, smoothed.
std::map<std::string, double> LossesOf(const ordered_json& data) {
  std::map<std::string, double> losses;
  for (const auto& [task, one] : data.at("now").at("tasks").items()) losses[task] = NumberOf(one.at("loss"));
  return losses;
}

// What a form's name says to nobody: the stages that make it.
std::string FormsWords(const ordered_json& data) {
  std::string text;
  for (const ordered_json& form : data.at("memory").at("forms")) {
    if (!form.contains("stages")) continue;
    std::string stages;
    for (const ordered_json& stage : form.at("stages"))
      stages += (stages.empty() ? "" : ", ") + stage.get<std::string>();
    text += form.at("task").get<std::string>() + ": as set in " + stages + "\n";
  }
  return text;
}

bool HasDraws(const Receipt& receipt) {
  return std::any_of(receipt.forms().begin(), receipt.forms().end(), [](const auto& form) {
    return std::any_of(form.second.begin(), form.second.end(),
                       [](const PlanEpoch& epoch) { return epoch.draws > 0 || epoch.overflows > 0; });
  });
}

// The answer first: how far, what it learned, and only then what that took.
std::string WordsOf(const ordered_json& data, const Receipt& receipt, const std::filesystem::path& run) {
  const LastScores scores = LastScoresOf(run);
  const bool is_over = data.at("is_over").get<bool>();
  std::string text = ProgressWords(data);
  if (!is_over) text += TasksNowWords(data, scores);
  text += ScoresWords(scores);
  if (HasDraws(receipt)) {
    const std::string shares = "shares of " + data.at("unit").get<std::string>();
    text += is_over ? Titled(shares + ", and losses",
                             StagesTable(receipt.stages(), ScreenColumns(), LossesOf(data)))
                    : Titled(shares + ", at the last save", StagesTable(receipt.stages()));
    text += "what steps took, and what was planned\n" + ReceiptTable(receipt) + FormsWords(data);
  } else if (!is_over) {
    text += "\nWhat its steps took stands here once it has saved.\n";
  }
  return text + Titled("phases", PhasesTable(ReadPhases(run / kTimingLog))) +
         Titled("how fast they were computed", SpeedsTable(ReadSpeeds(run / kTimingLog)));
}

ordered_json JsonOf(const ordered_json& data, const Receipt& receipt, const std::filesystem::path& run) {
  ordered_json json = {{"run", std::filesystem::absolute(run).string()}};
  json["progress"] = ProgressJson(data);
  json["now"] = data.at("now");
  json["scores"] = ScoresOf(data);
  json.update(receipt.ToJson());
  json["phases"] = ToJson(ReadPhases(run / kTimingLog));
  json["speeds"] = ToJson(ReadSpeeds(run / kTimingLog));
  return json;
}

}  // namespace

ReportOfRun::ReportOfRun(const std::filesystem::path& run)
    : run_(run), receipt_(ReadReceipt(run)), others_(ReceiptsOfOthers(run)), data_(RunData(run)) {}

std::string ReportOfRun::Words() const {
  std::string text = WordsOf(data_, receipt_, run_);
  if (!others_.empty())
    text += "\nThese were the draws of rank 0; of the others since they were started last:\n";
  for (const auto& [rank, theirs] : others_)
    text += "\nrank " + std::to_string(rank) + "\n" + ReceiptTable(theirs);
  return Prose(text);
}

std::string ReportOfRun::Progress() const { return ProgressWords(data_); }

nlohmann::ordered_json ReportOfRun::Json() const {
  ordered_json json = JsonOf(data_, receipt_, run_);
  for (const auto& [rank, theirs] : others_) {
    ordered_json one = {{"rank", rank}};
    one.update(theirs.ToJson());
    json["other_ranks"].push_back(std::move(one));
  }
  return json;
}

}  // namespace medley

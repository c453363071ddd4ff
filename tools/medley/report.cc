#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/clock.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/eval/score_report.h>
#include <medley/page/run_data.h>
#include <medley/page/run_page.h>
#include <medley/plan/receipt.h>
#include <medley/report/metrics.h>
#include <medley/report/phase_report.h>
#include <medley/report/screen.h>
#include <medley/report/speeds.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

using nlohmann::ordered_json;

Receipt ReadReceipt(const std::filesystem::path& run) {
  const std::filesystem::path file = run / kReceiptFile;
  if (!std::filesystem::exists(file)) {
    throw InputError(run.string() + " has no " + kReceiptFile +
                     "; a run writes it when it saves, a directory of medley train is expected");
  }
  const auto json = ReadJson(ReadFile(file), DisplayPath(file));
  try {
    return Receipt::FromJson(json);
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

LastScores LastScoresOf(const ordered_json& data) {
  LastScores scores;
  const ordered_json last = ScoresOf(data);
  for (const auto& [task, json] : last.items())
    scores[task] = {.score = ScoreRecordFrom(json), .step = json.at("step").get<std::int64_t>()};
  return scores;
}

// The verdict first.
std::string ScoresWords(const LastScores& scores) {
  if (scores.empty()) return "";
  const std::string clear = ClearWords(scores);
  const std::string step = " after step " + std::to_string(NewestStep(scores));
  return Titled("scores" + step + (clear.empty() ? "" : ": " + clear), ScoresTable(scores));
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

void PrintReport(const std::filesystem::path& run, bool as_json) {
  const Receipt receipt = ReadReceipt(run);
  const std::map<std::int64_t, Receipt> others = ReceiptsOfOthers(run);
  const PhaseAccounts phases = ReadPhases(run / kTimingLog);
  const Speeds speeds = ReadSpeeds(run / kTimingLog);
  const ordered_json data = RunData(run);
  if (!as_json) {
    std::string text = ProgressWords(data) + ScoresWords(LastScoresOf(data)) + "\n" + StagesTable(receipt.stages()) +
                       "what steps took, and what was planned\n" + ReceiptTable(receipt) + FormsWords(data) +
                       Titled("phases", PhasesTable(phases)) +
                       Titled("how fast they were computed", SpeedsTable(speeds));
    if (!others.empty())
      text += "\nThese were the draws of rank 0; of the others since they were started last:\n";
    for (const auto& [rank, theirs] : others)
      text += "\nrank " + std::to_string(rank) + "\n" + ReceiptTable(theirs);
    std::cout << Prose(text);
    return;
  }
  ordered_json json = {{"run", std::filesystem::absolute(run).string()}};
  json["progress"] = ProgressJson(data);
  json["scores"] = ScoresOf(data);
  json.update(receipt.ToJson());
  json["phases"] = ToJson(phases);
  json["speeds"] = ToJson(speeds);
  for (const auto& [rank, theirs] : others) {
    ordered_json one = {{"rank", rank}};
    one.update(theirs.ToJson());
    json["other_ranks"].push_back(std::move(one));
  }
  std::cout << JsonText(json, 2) << '\n';
}

// Signals that somebody wants an end with, which wait from now on until they are asked for.
sigset_t HoldEnds() {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, signal);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return ends;
}

// Until it is over, or somebody wants an end: then the page is written once more, so that it stays as it is.
void FollowRun(const std::filesystem::path& page, PageRequest request, const sigset_t& ends) {
  const timespec pause{.tv_sec = request.refresh_seconds, .tv_nsec = 0};
  for (bool is_over = false; !is_over;) {
    if (::sigtimedwait(&ends, nullptr, &pause) > 0) request.refresh_seconds = 0;
    const RunPage now = MakeRunPage(request);
    ReplaceFile(page, now.text);
    is_over = now.is_over || request.refresh_seconds == 0;
  }
}

}  // namespace

int RunReport(int argc, char** argv) {
  CLI::App app(
      "Prints how far a run is, its last scores, what its tasks asked for and got, and what they took, "
      "against "
      "what was planned; or makes a page of it.",
      "medley report");
  std::filesystem::path directory, page;
  std::vector<std::filesystem::path> against;
  int live = 0;
  app.add_option("DIR", directory, "the run's directory")->required();
  auto* html = app.add_option(
      "--html", page, "write a page with curves, memory, scores, what happened and sheets to this file");
  app.add_option("--against", against, "other runs, on the same axes; may be repeated")->needs(html);
  app.add_option(
         "--live", live,
         "write the page anew every so many seconds, until the run is over or Ctrl-C; open, it follows")
      ->needs(html)
      ->check(CLI::Range(1, 3600));
  AddWide(app);
  bool as_json = false;
  AddJson(app, as_json)->excludes(html);
  if (!ParseArguments(app, argc, argv)) return 0;
  PageRequest request{.runs = {directory}, .refresh_seconds = live};
  request.runs.insert(request.runs.end(), against.begin(), against.end());
  for (const std::filesystem::path& run : request.runs) {
    if (const std::string problem = DirectoryProblem(run); !problem.empty())
      throw InputError(problem + "; a run directory is expected");
  }
  if (!page.empty()) {
    const sigset_t ends = live > 0 ? HoldEnds() : sigset_t{};
    const RunPage now = MakeRunPage(request);
    ReplaceFile(page, now.text);
    std::cout << "wrote " << DisplayPath(page) << std::endl;
    if (live > 0 && !now.is_over) FollowRun(page, request, ends);
    return 0;
  }
  PrintReport(directory, as_json);
  return 0;
}

}  // namespace medley

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/version.h>
#include <medley/eval/evaluator.h>
#include <medley/eval/score_comparison.h>
#include <medley/run/run.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

// The rows that both runs of a comparison are scored on.
struct HeldOut {
  std::uint64_t seed = 0;
  std::int64_t rows = 0;
};

TaskScore Score(const Run& run, const std::string& task, const HeldOut& rows, Console& console) {
  console.Status("scoring " + task);
  TaskScore score =
      ScoreTask(run.host->Get(task), run.Configured(task), {*run.model, run.device, rows.seed, rows.rows});
  if (score.rows_at_once < kEvalRows)
    console.Warn(task + " ran out of memory; it was scored " + std::to_string(score.rows_at_once) +
                 " rows at a time");
  return score;
}

TrainedRun OpenOther(const fs::path& directory, Console& console, const std::string& device) {
  try {
    return OpenTrainedRun(directory, console, device);
  } catch (const Error& error) {
    throw Error(std::string("--against: ") + error.what(), error.code());
  }
}

// What was scored, by what, and what came out.
ordered_json ResultsJson(const fs::path& directory, std::int64_t step, const HeldOut& rows,
                         const Scores& scores) {
  ordered_json json = {{"run", fs::absolute(directory).string()},
                       {"step", step},
                       {"seed", rows.seed},
                       {"rows", rows.rows},
                       {"revision", std::string(GitRevision())}};
  json.update(ScoresJson(scores));
  return json;
}

Comparison CompareWith(const Run& other, const Scores& scores, const HeldOut& rows, Console& console) {
  Scores other_scores;
  for (const std::string& task : other.NamedTasks()) {
    // Nothing to compare with: the name is enough.
    other_scores[task] = scores.count(task) > 0 ? Score(other, task, rows, console) : TaskScore();
  }
  return CompareScores(scores, other_scores);
}

void WriteResults(const fs::path& directory, const ordered_json& json, const Scores& scores,
                  Console& console) {
  ReplaceFile(directory / "eval.json", JsonText(json, 2) + "\n");
  console.Say("wrote " + (directory / "eval.json").string());
  for (const auto& sheet : WriteSheets(scores, directory)) console.Say("wrote " + sheet.string());
}

}  // namespace

int RunEval(int argc, char** argv) {
  CLI::App app(
      "Scores a run's newest checkpoint on rows that it never trained on. Writes into the run's directory "
      "eval.json and sheets of each task's first rows: sheet-TASK.png (input, target, output), and "
      "sheet-TASK.txt (question, reply, right reply) where it answers in words.",
      "medley eval");
  fs::path directory, against;
  HeldOut rows{.rows = 512};
  std::string device;
  app.add_option("DIR", directory, "the run's directory")->required();
  app.add_option("--rows", rows.rows, "examples of each task")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option(
      "--against", against,
      "another run's directory: scores it on the same examples and says, task by task, whether DIR "
      "is better; nothing is written there");
  AddDevice(app, device);
  if (!ParseArguments(app, argc, argv)) return 0;

  Console console(stderr);
  // First, so that this run's threads count for both.
  const TrainedRun other = app.count("--against") > 0 ? OpenOther(against, console, device) : TrainedRun();
  const auto [run, step] = OpenTrainedRun(directory, console, device);
  rows.seed = static_cast<std::uint64_t>(run->config.seed);

  Scores scores;
  for (const std::string& task : run->NamedTasks()) scores[task] = Score(*run, task, rows, console);
  std::cout << ScoresTable(scores);
  ordered_json json = ResultsJson(directory, step, rows, scores);
  if (other.run) {
    const Comparison comparison = CompareWith(*other.run, scores, rows, console);
    std::cout << "\n"
              << directory.string() << " (step " << step << ") against " << against.string() << " (step "
              << other.step << "), on the same " << rows.rows << " held-out rows of each task, seed "
              << rows.seed << ":\n"
              << ComparisonTable(comparison);
    json["against"] = {{"run", fs::absolute(against).string()}, {"step", other.step}, {"seed", rows.seed}};
    json["against"].update(ComparisonJson(comparison));
  }
  WriteResults(directory, json, scores, console);
  return 0;
}

}  // namespace medley

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <medley/base/error.h>
#include <medley/report/durable_file.h>
#include <medley/train/evaluator.h>
#include <medley/train/run.h>
#include <medley/train/score_comparison.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

using nlohmann::ordered_json;

TaskScore Score(const Run& run, const std::string& task, std::uint64_t seed, std::int64_t rows,
                Console& console) {
  console.Status("scoring " + task);
  return ScoreTask(run.task(task), run.plans.at(task), {*run.model, run.device, seed, rows});
}

std::unique_ptr<Run> OpenOther(const std::filesystem::path& directory, Console& console) {
  try {
    return OpenTrainedRun(directory, console);
  } catch (const Error& error) {
    throw Error(std::string("--against: ") + error.what(), error.code());
  }
}

}  // namespace

int RunEval(int argc, char** argv) {
  CLI::App app(
      "Scores a run's newest checkpoint on rows that it never trained on. Writes eval.json and a picture "
      "sheet for each task with pictures (a row each: input, target, output) into the run's directory.",
      "medley eval");
  std::filesystem::path directory, against;
  std::int64_t rows = 512;
  app.add_option("DIR", directory, "the run's directory")->required();
  app.add_option("--rows", rows, "examples of each task")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option(
      "--against", against,
      "another run's directory: scores it on the same examples and says, task by task, whether DIR "
      "is better; nothing is written there");
  if (!ParseArguments(app, argc, argv)) return 0;

  Console console(stderr);
  // First, so that this run's threads count for both.
  std::unique_ptr<Run> other;
  if (app.count("--against") > 0) other = OpenOther(against, console);
  const auto run = OpenTrainedRun(directory, console);
  const auto seed = static_cast<std::uint64_t>(run->config.seed);

  Scores scores, other_scores;
  for (const std::string& task : run->ActiveTasks()) scores[task] = Score(*run, task, seed, rows, console);
  std::cout << ScoresTable(scores);
  ordered_json json = ScoresJson(scores);
  if (other) {
    for (const std::string& task : other->ActiveTasks()) {
      // Nothing to compare with: the name is enough.
      other_scores[task] = scores.count(task) > 0 ? Score(*other, task, seed, rows, console) : TaskScore();
    }
    const Comparison comparison = CompareScores(scores, other_scores);
    std::cout << "\n"
              << directory.string() << " (step " << run->trained_steps << ") against " << against.string()
              << " (step " << other->trained_steps << "), on the same " << rows
              << " held-out rows of each task, seed " << seed << ":\n"
              << ComparisonTable(comparison);
    json["against"] = {
        {"run", std::filesystem::absolute(against).string()}, {"step", other->trained_steps}, {"seed", seed}};
    json["against"].update(ComparisonJson(comparison));
  }
  ReplaceFile(directory / "eval.json", json.dump(2) + "\n");
  console.Say("wrote " + (directory / "eval.json").string());
  for (const auto& sheet : WriteSheets(scores, directory)) console.Say("wrote " + sheet.string());
  return 0;
}

}  // namespace medley

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include <medley/report/durable_file.h>
#include <medley/train/evaluator.h>
#include <medley/train/run.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {

int RunEval(int argc, char** argv) {
  CLI::App app(
      "Scores a run's newest checkpoint on rows that it never trained on. Writes eval.json and a picture "
      "sheet "
      "for each task with pictures (a row each: input, target, output) into the run's directory.",
      "medley eval");
  std::filesystem::path directory;
  std::int64_t rows = 512;
  app.add_option("DIR", directory, "the run's directory")->required();
  app.add_option("--rows", rows, "examples of each task")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  if (!ParseArguments(app, argc, argv)) return 0;

  Console console(stderr);
  const auto run = OpenTrainedRun(directory, console);
  const EvalSetting setting{*run->model, run->device, static_cast<std::uint64_t>(run->config.seed), rows};
  Scores scores;
  for (const std::string& task : run->ActiveTasks()) {
    console.Status("scoring " + task);
    scores[task] = ScoreTask(run->task(task), run->plans.at(task), setting);
  }
  std::cout << ScoresTable(scores);
  ReplaceFile(directory / "eval.json", ScoresJson(scores).dump(2) + "\n");
  console.Say("wrote " + (directory / "eval.json").string());
  for (const auto& sheet : WriteSheets(scores, directory)) console.Say("wrote " + sheet.string());
  return 0;
}

}  // namespace medley

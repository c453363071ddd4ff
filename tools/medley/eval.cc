#include <c10/util/Exception.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/base/version.h>
#include <medley/base/work_progress.h>
#include <medley/data/item_stream.h>
#include <medley/eval/evaluator.h>
#include <medley/eval/row_items.h>
#include <medley/eval/score_comparison.h>
#include <medley/eval/score_report.h>
#include <medley/page/last_scores.h>
#include <medley/report/screen.h>
#include <medley/run/run.h>
#include <medley/session/session.h>
#include <medley/train/failure.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/run_end.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

// The rows that both runs of a comparison are scored on.
struct HeldOut {
  std::uint64_t seed = 0;  // eval.seed
  std::int64_t rows = 0;
  bool once = true;              // of finite data, no item again
  const Scores* same = nullptr;  // that were scored already: as many rows as there

  std::int64_t Of(const std::string& name, const LoadedTask& task) const {
    if (same != nullptr) return same->at(name).rows;
    return once ? RowsOnce(task, rows) : rows;
  }
};

// `progress` is told the share of its rows.
TaskScore Score(const Run& run, const std::string& name, const HeldOut& held_out, Console& console,
                const std::function<void(double share)>& progress) {
  const Form form = run.forms.Own(name);
  LoadedTask& task = run.host->Get(form);
  for (const std::string& words : run.rules->TakeWords()) console.Say(words);  // of its files
  const std::int64_t rows = held_out.Of(name, task);
  const std::string overlap = OverlapWarning(
      task, {.training = static_cast<std::uint64_t>(run.config.seed), .evaluation = held_out.seed}, rows);
  if (!overlap.empty()) console.Warn(overlap);
  TaskScore score = ScoreTask(task, run.Configured(form),
                              {.model = *run.model,
                               .device = run.device,
                               .seed = held_out.seed,
                               .rows = rows,
                               .progress = progress,
                               .tokenizer = run.tokenizer.get(),
                               .references = run.references.get()});
  if (score.rows_at_once < kEvalRows)
    console.Warn(name + " ran out of memory; it was scored " + std::to_string(score.rows_at_once) +
                 " rows at a time");
  return score;
}

// What became of a run's tasks.
struct Scored {
  Scores scores;
  std::map<std::string, std::string> failed;  // why
  ExitCode first_code = ExitCode::kFailed;    // of what failed

  std::string Words() const {
    std::string words = "no task could be scored";
    for (const auto& [task, why] : failed) words += "\n  " + task + ": " + why;
    return words;
  }
  void Fail(const std::string& task, const Failure& failure, Console& console) {
    if (failed.empty()) first_code = failure.code;
    failed[task] = failure.reason;
    console.Warn(task + " could not be scored: " + failure.reason);
  }
};

// A task that fails costs its own row, not those of the others.
Scored ScoreAll(const Run& run, const std::vector<std::string>& tasks, const HeldOut& rows,
                Console& console) {
  Scored scored;
  WorkProgress progress;
  double begun = 0;
  for (const std::string& task : tasks) {
    const auto tell = [&](double share) {
      progress.Say("scoring " + task, begun + share, static_cast<double>(tasks.size()));
    };
    try {
      scored.scores[task] = Score(run, task, rows, console, tell);
    } catch (const c10::AcceleratorError&) {
      throw;  // what is asked of the device from now on fails too: no task is to blame
    } catch (const std::exception& error) {
      scored.Fail(task, Failure::Of(error), console);
    }
    ++begun;
  }
  return scored;
}

// A "-" in a table is easily overlooked.
bool AllHaveScores(const Scores& scores, Console& console) {
  bool all = true;
  for (const auto& [task, score] : scores) {
    if (!std::isnan(score.score.value)) continue;
    all = false;
    console.Warn(NoScoreWords(task, score));
  }
  return all;
}

// Without those that the run dropped while it was trained: they would fail here again.
std::vector<std::string> TasksToScore(const TrainedRun& trained, bool all, Console& console) {
  const std::map<std::string, std::string> dropped =
      all ? std::map<std::string, std::string>() : trained.dropped;
  std::vector<std::string> tasks;
  for (const std::string& task : trained.run->NamedTasks()) {
    const auto found = dropped.find(task);
    if (found == dropped.end()) {
      tasks.push_back(task);
    } else {
      console.Say("left out: " + task + ", which the run dropped (" + found->second + "); --all asks it too");
    }
  }
  return tasks;
}

// Other rows are asked of both. What else replaces a value of a config is that config's own.
TrainedRun OpenOther(const fs::path& directory, Console& console, const std::string& device,
                     const NamedPlugins& plugins, std::vector<std::string> overrides, bool of_config,
                     SavedWeights kind) {
  if (of_config) std::erase_if(overrides, [](const std::string& given) { return !IsTaskOption(given); });
  try {
    return OpenTrainedRun(directory, console, device, plugins, overrides, kind);
  } catch (const Error& error) {
    throw Error(std::string("--against: ") + error.what(), error.code());
  }
}

// The model as a run of that config begins.
TrainedRun OpenBeginning(const fs::path& config, Console& console, const std::string& device,
                         const NamedPlugins& plugins, std::vector<std::string> overrides) {
  if (!device.empty()) overrides.push_back("device=" + device);
  TrainedRun beginning;
  beginning.run =
      BuildBeginning({.config = config, .overrides = std::move(overrides), .plugins = plugins}, console);
  return beginning;
}

// Beside each score that of the evaluation before the first step, of as many rows.
void AddBefore(const std::map<std::string, ScoreRecord>& before, LastScores& scores) {
  for (auto& [task, now] : scores) {
    const auto found = before.find(task);
    if (found != before.end() && now.step > 0 && found->second.rows == now.score.rows)
      now.before = found->second;
  }
}

// What was scored, by what, and what came out.
ordered_json ResultsJson(const char* what, const fs::path& path, std::int64_t step, const HeldOut& rows,
                         const Scored& scored) {
  ordered_json json = {{what, fs::absolute(path).string()},
                       {"step", step},
                       {"seed", rows.seed},
                       {"rows", rows.rows},
                       {"revision", std::string(GitRevision())}};
  json.update(ScoresJson(scored.scores));
  if (!scored.failed.empty()) json["failed"] = scored.failed;
  return json;
}

void PrintScores(const Scored& scored, const LastScores& scores) {
  const std::string figures = FiguresTable(scores);
  std::cout << ScoresTable(scores);
  if (const std::string text = TextLossesTable(scores); !text.empty()) std::cout << '\n' << text;
  if (!figures.empty()) std::cout << '\n' << figures;
  for (const auto& [task, why] : scored.failed)
    std::cout << Prose("failed: " + task + " (" + why + ")") << '\n';
}

// The tasks that hold out other items in the other run, and why: their scores are not of one thing. One that
// cannot be made is told when it is scored.
std::map<std::string, std::string> UnlikeTasks(const Run& run, const Run& other) {
  std::map<std::string, std::string> unlike;
  const auto held_out = [](const Run& of, const std::string& task) -> std::string {
    const ItemStream* items = of.host->Get(of.forms.Own(task)).Items();
    return items == nullptr ? "" : items->rows_held_out();
  };
  const std::vector<std::string> theirs = other.NamedTasks();
  for (const std::string& task : run.NamedTasks()) {
    if (std::find(theirs.begin(), theirs.end(), task) == theirs.end()) continue;
    try {
      if (held_out(run, task) == held_out(other, task)) continue;
    } catch (const std::exception&) {
      continue;
    }
    unlike[task] = "it holds out other items there (" + other.rules->HeldOutWords(task) + ", here " +
                   run.rules->HeldOutWords(task) + "), so its scores are of other rows";
  }
  return unlike;
}

Comparison CompareWith(const Run& other, const std::vector<std::string>& asked, const Scores& scores,
                       const HeldOut& rows, Scored& theirs, Console& console) {
  std::vector<std::string> shared;
  std::copy_if(asked.begin(), asked.end(), std::back_inserter(shared),
               [&](const std::string& task) { return scores.count(task) > 0; });
  HeldOut same = rows;
  same.same = &scores;
  theirs = ScoreAll(other, shared, same, console);
  Scores all = theirs.scores;
  for (const std::string& task : other.NamedTasks()) all.try_emplace(task);  // the name is enough
  Comparison comparison = CompareScores(scores, all);
  for (const std::string& task : other.NamedTasks()) {
    if (scores.count(task) == 0 || theirs.scores.count(task) > 0) continue;
    comparison.skipped[task] = theirs.failed.count(task) > 0 ? "it could not be scored in the other run"
                                                             : "the other run dropped it";
  }
  return comparison;
}

constexpr const char* kScoresFile = "eval.json";

OutputKind KindOfSheet(const std::string& name) {
  return name.ends_with(".png") ? OutputKind::kSheet : OutputKind::kAnswers;
}

// Before the minutes that it takes to score them.
void CheckOutputs(const OutputFolderOption& out, const std::vector<std::string>& tasks) {
  for (const std::string& task : tasks) {
    for (const char* kind : {".png", ".txt"}) {
      const std::string name = "sheet-" + task + kind;
      out.Check(KindOfSheet(name), name);
    }
  }
}

// What was computed is on the screen by now: where it cannot be kept, that is said, and no error.
void WriteResults(const OutputFolderOption& out, const ordered_json& json, const Scores& scores,
                  Console& console) {
  try {
    console.Say("wrote " + out.Write(OutputKind::kScores, kScoresFile, JsonText(json, 2) + "\n").string());
    for (const auto& [name, bytes] : SheetFiles(scores))
      console.Say("wrote " + out.Write(KindOfSheet(name), name, bytes).string());
  } catch (const std::exception& error) {
    console.Warn(std::string("the scores were not written down: ") + error.what());
  }
}

}  // namespace

int RunEval(int argc, char** argv) {
  CLI::App app(
      "Scores a run's newest checkpoint, or the model as a run of a config begins, on rows that are never "
      "trained on. Writes into the run's directory "
      "eval.json and sheets of each task's first rows: sheet-TASK.png (input, target, output), and "
      "sheet-TASK.txt (question, reply, right reply) where it answers in words.",
      "medley eval");
  fs::path directory, against;
  HeldOut rows;
  std::string device;
  app.add_option("DIR", directory,
                 "the run's directory; or a run config, whose model is scored as it begins: with --out")
      ->required();
  const CLI::Option* const asked =
      app.add_option(
             "--rows", rows.rows,
             "examples of each task. Not given: eval.rows of the run's config, and of finite data each "
             "item once at most")
          ->check(WholeNumber(1, 10'000'000));
  bool all = false;
  app.add_flag("--all", all, "ask also the tasks that the run dropped while it was trained");
  app.add_option(
      "--against", against,
      "another run's directory: scores it on the same examples and says, task by task, whether DIR "
      "is better; nothing is written there");
  AddDevice(app, device);
  bool raw = false;
  AddRawWeights(app, raw);
  NamedPlugins plugins;
  AddPlugins(app, plugins);
  OutputFolderOption out;
  out.AddTo(app, "--out", "a directory for eval.json and the sheets, in place of the run's");
  std::vector<std::string> overrides;
  app.add_option(
      "KEY=VALUE", overrides,
      "other rows than the run's own: tasks.NAME.options.OPTION=VALUE; what is found is written with "
      "--out only. Of a config any of its keys");
  AddWide(app);
  bool as_json = false;
  AddJson(app, as_json);
  if (!ParseArguments(app, argc, argv)) return 0;
  const SavedWeights kind = raw ? SavedWeights::kTrained : SavedWeights::kAveraged;
  std::error_code ignored;
  const bool begins = fs::is_regular_file(directory, ignored);
  if (begins && !out.is_named())
    throw InputError(
        Printable(directory) +
        " is a run config: its model is scored as it begins, and no run's directory is there for "
        "what is found. Say where: --out DIR");
  if (begins && raw) throw InputError("--raw: nothing is averaged before the first step. Leave it out");
  if (!begins) out.BelongsIn(directory);
  const bool is_asked = out.is_named();  // the run's own cannot be in the way of an answer
  if (is_asked) out.Check(OutputKind::kScores, kScoresFile);

  Console console(stderr);
  // First, so that this run's threads count for both.
  const TrainedRun other =
      against.empty() ? TrainedRun() : OpenOther(against, console, device, plugins, overrides, begins, kind);
  const TrainedRun trained = begins ? OpenBeginning(directory, console, device, plugins, overrides)
                                    : OpenTrainedRun(directory, console, device, plugins, overrides, kind);
  const Run& run = *trained.run;
  rows.seed = static_cast<std::uint64_t>(run.config.eval.seed);
  if (asked->empty()) rows.rows = run.config.eval.rows;
  rows.once = asked->empty();

  const std::vector<std::string> tasks = TasksToScore(trained, all, console);
  if (is_asked) CheckOutputs(out, tasks);
  const std::map<std::string, std::string> unlike =
      other.run ? UnlikeTasks(run, *other.run) : std::map<std::string, std::string>();
  for (const auto& [task, why] : unlike)
    console.Warn("'" + Printable(task) + "' is not compared with " + Printable(against) + ": " + why);
  // The run's own rows; read before hours of scoring, which nothing that is damaged there may cost.
  const auto before =
      begins || !overrides.empty() ? std::map<std::string, ScoreRecord>() : ScoresAtStart(directory);
  const Scored scored = ScoreAll(run, tasks, rows, console);
  ordered_json json = ResultsJson(begins ? "config" : "run", directory, trained.step, rows, scored);
  if (trained.averaged) json["averaged"] = true;
  if (!overrides.empty()) json["overrides"] = overrides;
  if (scored.scores.empty()) {
    if (as_json) std::cout << JsonText(json, 2) << '\n';
    throw Error(scored.Words(), scored.first_code);
  }
  LastScores scores = ScoresAfter(trained.step, scored.scores);
  AddBefore(before, scores);
  if (!as_json) PrintScores(scored, scores);
  bool whole = AllHaveScores(scored.scores, console) && scored.failed.empty();
  if (other.run) {
    Scored theirs;
    Scores alike = scored.scores;
    for (const auto& [task, why] : unlike) alike.erase(task);
    Comparison comparison =
        CompareWith(*other.run, TasksToScore(other, all, console), alike, rows, theirs, console);
    for (const auto& [task, why] : unlike) comparison.skipped[task] = why;
    whole = AllHaveScores(theirs.scores, console) && theirs.failed.empty() && whole;
    if (!as_json) {
      std::cout << "\n"
                << directory.string() << " (step " << trained.step << ") against " << against.string()
                << " (step " << other.step << "), on the same held-out rows, seed " << rows.seed << ":\n"
                << ComparisonTable(comparison);
    }
    json["against"] = {{"run", fs::absolute(against).string()}, {"step", other.step}, {"seed", rows.seed}};
    json["against"].update(ComparisonJson(comparison));
  }
  if (as_json) std::cout << JsonText(json, 2) << std::endl;
  if (!is_asked && overrides.empty()) out.Name(directory);
  if (!as_json) std::cout << std::endl;
  if (out.is_named()) WriteResults(out, json, scored.scores, console);
  // What stays on the screen is the answer.
  if (begins) {
    if (!as_json) std::cout << Prose("before the first step: " + VerdictOn(scores).words) << std::endl;
  } else if (!as_json) {
    std::cout << WordsAfterScoring(directory, VerdictOn(scores), console) << std::endl;
  }
  return static_cast<int>(whole ? ExitCode::kDone : ExitCode::kSomethingDropped);
}

}  // namespace medley

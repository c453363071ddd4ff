#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/clock.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/user_directories.h>
#include <medley/checkpoint/run_lock.h>
#include <medley/report/console.h>
#include <medley/report/screen.h>
#include <medley/runs/group_report.h>
#include <medley/runs/groups_page.h>
#include <medley/runs/job_share.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/sweep_items.h"
#include "tools/medley/sweep_request.h"
#include "tools/medley/sweep_runner.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string CommandWords(const std::vector<std::string>& arguments) {
  std::string command;
  for (const std::string& argument : arguments) command += (command.empty() ? "" : " ") + ShellWord(argument);
  return command;
}

std::string Counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// "9 runs in sweeps/rates: 3 values of optimizer.learning_rate, 3 seeds (1, 2, 3)"
std::string WhatItIs(const SweepRecord& record, const fs::path& directory) {
  std::vector<std::string> parts, seeds;
  for (const SweptKey& key : record.keys)
    parts.push_back(Counted(key.values.size(), "value") + " of " + key.key);
  for (const std::int64_t seed : record.seeds) seeds.push_back(std::to_string(seed));
  parts.push_back(Counted(seeds.size(), "seed") + " (" + JoinFew(seeds) + ")");
  return Counted(record.groups.size() * seeds.size(), "run") + " in " + DisplayPath(directory) + ": " +
         JoinNames(parts);
}

std::string TimeWords(const std::vector<SweepItem>& items, std::int64_t jobs) {
  const double left = SecondsLeft(items, jobs);
  if (!std::isfinite(left)) return "how long they take is known once one of them has trained";
  return left > 0 ? "about " + FormatSeconds(left) + " of training left" : "nothing is left to train";
}

ordered_json SweepJson(const SweepRecord& record, const std::vector<SweepItem>& items,
                       const fs::path& directory) {
  ordered_json json = ToJson(record);
  json.erase("format");
  json.erase("files");
  json.erase("groups");
  json["directory"] = directory.string();
  json["runs"] = ItemsJson(items, record);
  const double left = SecondsLeft(items, record.jobs);
  json["seconds_left"] = std::isfinite(left) ? ordered_json(left) : ordered_json();
  return json;
}

void SayWhatWouldRun(const SweepRequest& request, const CheckedSweep& sweep, bool as_json) {
  const std::vector<SweepItem> items = ItemsOf(sweep, request.directory);
  std::vector<std::string> commands;
  for (const SweepItem& item : items)
    commands.push_back(
        item.state >= ItemState::kDone ? "" : CommandWords(CommandOf(item, request, sweep.record, "")));
  if (as_json) {
    ordered_json json = SweepJson(sweep.record, items, request.directory);
    for (std::size_t i = 0; i < items.size(); ++i) json["runs"][i]["command"] = commands[i];
    std::cout << JsonText(json, 2) << '\n';
    return;
  }
  for (std::size_t i = 0; i < items.size(); ++i)
    std::cout << items[i].run.name << "  " << EnumName(items[i].state) << '\n'
              << (commands[i].empty() ? "" : "  " + commands[i] + "\n");
  std::cout << WhatItIs(sweep.record, request.directory) << "; " << TimeWords(items, request.jobs) << '\n';
}

// Of the groups that have a run that can be compared: the first of these is what the others are compared
// with.
std::optional<GroupComparison> Compare(const SweepRecord& record, const fs::path& directory,
                                       Console& console) {
  std::vector<RunGroup> groups;
  for (const SweepGroup& group : record.groups) {
    try {
      RunGroup read = ReadGroup(directory / group.folder);
      if (!read.runs.empty()) {
        groups.push_back(std::move(read));
        continue;
      }
      for (const std::string& words : read.told) console.Warn(words);
    } catch (const InputError& error) {
      console.Warn(error.what());
    }
  }
  if (groups.empty()) return std::nullopt;
  return CompareGroups(groups);
}

// The runs are there: what cannot be written of them is said, and no error.
std::string MakePage(const GroupComparison& comparison, const fs::path& directory, Console& console) {
  try {
    return WriteSweepPage(directory, GroupsPage(comparison)).string();
  } catch (const Error& error) {
    console.Warn(std::string("the page was not written: ") + error.what());
    return "";
  }
}

void ShowResult(const SweepRecord& record, const SweepRunner& runner, const fs::path& directory, bool as_json,
                Console& console) {
  const std::optional<GroupComparison> comparison = Compare(record, directory, console);
  const std::string page = comparison ? MakePage(*comparison, directory, console) : "";
  if (as_json) {
    ordered_json json = SweepJson(record, runner.items(), directory);
    json["compared"] = comparison ? GroupsJson(*comparison) : ordered_json();
    json["page"] = page.empty() ? ordered_json() : ordered_json(page);
    std::cout << JsonText(json, 2) << '\n';
    return;
  }
  if (comparison) console.Say(GroupsWords(*comparison));
  for (const SweepItem& item : runner.items())
    if (item.state == ItemState::kFailed) console.Say(item.run.name + " failed: " + item.why);
  if (!page.empty()) console.Say("wrote " + DisplayPath(page));
}

void RequireOneProcess() {
  if (Environment("WORLD_SIZE").value_or("1") == "1") return;
  throw InputError(
      "WORLD_SIZE says that several processes are to train one run, and each run of a sweep is one "
      "process's: "
      "start the sweep itself, without medley launch or torchrun");
}

ExitCode Sweep(const SweepRequest& request, bool as_json) {
  CreateDirectories(request.directory);
  const RunLock lock(request.directory);
  const CheckedSweep sweep = CheckSweep(request);  // another one may have been there since it was looked at
  WriteSweep(request.directory, sweep.record);
  Console console(as_json ? stderr : stdout);
  for (const std::string& words : sweep.warnings) console.Warn(words);
  console.Say(WhatItIs(sweep.record, request.directory));
  if (sweep.record.jobs > 1) console.Say(ShareWords(sweep.record.jobs, sweep.record.share));
  SweepRunner runner(request, sweep.record, ItemsOf(sweep, request.directory), console);
  const ExitCode code = runner.Run();
  if (code != ExitCode::kInterrupted) ShowResult(sweep.record, runner, request.directory, as_json, console);
  return code;
}

}  // namespace

int RunSweep(int argc, char** argv) {
  CLI::App app(
      "Trains a run for each of several values of a config's keys and each of several seeds, and compares "
      "them. The same command goes on with what is not over.",
      "medley sweep");
  SweepRequest request;
  NewFolderOption out;
  app.add_option("CONFIG", request.config, "the run config")->required();
  app.add_option("KEY=VALUES", request.arguments,
                 "values that replace the config's; of several, parted by commas, each gets runs of its own: "
                 "optimizer.learning_rate=1e-3,3e-4. Quotes or brackets hold a value with commas together; "
                 "seed=1,5 names the seeds");
  out.AddTo(app, "--out", "the sweep's directory, in which each run has one")->required();
  app.add_option("--seeds", request.seeds, "how many seeds, from the config's on")
      ->check(WholeNumber(1, 1000));
  app.add_option("--jobs", request.jobs,
                 "how many runs train at a time; each gets its part of budget and threads (default: 1)")
      ->check(WholeNumber(1, 1000));
  AddPlugins(app, request.plugins);
  AddOnEvent(app, request.allow_on_event);
  bool dry_run = false, as_json = false;
  app.add_flag("--dry-run", dry_run, "list what it would run, and how long that takes; run nothing");
  AddWide(app);
  AddJson(app, as_json);
  if (!ParseArguments(app, argc, argv)) return 0;
  std::signal(SIGPIPE, SIG_IGN);  // a sweep outlives whoever reads its lines
  RequireOneProcess();
  out.Check();
  request.directory = out.path();
  request.command = "medley " + CommandWords({argv, argv + argc});
  const CheckedSweep sweep = CheckSweep(request);
  if (dry_run) {
    SayWhatWouldRun(request, sweep, as_json);
    return 0;
  }
  SetNextCommand(request.command);
  const ExitCode code = Sweep(request, as_json);
  if (code == ExitCode::kDone) return 0;
  std::cerr << NextCommandLines(code);
  return static_cast<int>(code);
}

}  // namespace medley

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/suggest.h>
#include <medley/runs/run_list.h>
#include <medley/runs/runs_below.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// Where runs lie that nobody gave a place.
std::vector<fs::path> UsualDirectories() { return {fs::is_directory("runs") ? "runs" : "."}; }

std::string NoRunsWords(const RunsRequest& request, bool none_at_all) {
  std::vector<std::string> names;
  for (const fs::path& directory : request.directories) names.push_back(DisplayPath(directory));
  return (none_at_all ? "no runs below " : "none of the runs is asked for that lie below ") +
         JoinNames(names) + "\n";
}

}  // namespace

int RunRuns(int argc, char** argv) {
  CLI::App app(
      "Lists the runs below directories: what became of each, how far it is, its scores (the best, and the "
      "last in parentheses where that is worse), and what differs between their configs.",
      "medley runs");
  RunsRequest request;
  std::int64_t last = 0;
  app.add_option("DIR", request.directories, "where they are looked for (default: runs, else .)");
  app.add_option("--where", request.where,
                 "only runs with KEY=VALUE (with * and ?), KEY<VALUE or KEY>VALUE; may be repeated. A KEY is "
                 "name, state, step, when, took (seconds), a task (its best score), or a key of the config, "
                 "by its last part where no other ends so")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
  app.add_option("--sort", request.sort,
                 "by this KEY, of a score the best first (default: when, the newest last)")
      ->type_name("KEY");
  app.add_flag("--reverse", request.reverse, "the other way round");
  app.add_option("--last", last, "only so many, the newest")->type_name("N")->check(WholeNumber(1, 1 << 30));
  AddWide(app);
  bool as_json = false;
  AddJson(app, as_json);
  if (!ParseArguments(app, argc, argv)) return 0;
  if (request.directories.empty()) request.directories = UsualDirectories();
  request.last = static_cast<std::size_t>(last);
  std::vector<RunSummary> runs = RunsBelow(request.directories);
  const bool none_at_all = runs.empty();
  const RunList list = none_at_all ? RunList() : ListRuns(std::move(runs), request);
  if (as_json)
    std::cout << JsonText(RunsJson(list), 2) << '\n';
  else
    std::cout << (list.runs.empty() ? NoRunsWords(request, none_at_all) : RunsText(list));
  return 0;
}

}  // namespace medley

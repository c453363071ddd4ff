#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/runs/run_summary.h>

namespace medley {

// What a user wants to see of many runs. A KEY is "name", "state", "step", "when", "took" (seconds), a task
// (its best score), or a key of the config: "optimizer.learning_rate", or "learning_rate" where one of their
// configs' keys alone ends so.
struct RunsRequest {
  std::vector<std::filesystem::path> directories = {};  // in which they were found
  std::vector<std::string> where = {};  // "KEY=VALUE" (with * and ?), "KEY<VALUE", "KEY>VALUE": all must hold
  std::string sort = {};                // KEY, of a score the best first; "": the newest last
  bool reverse = false;
  std::size_t last = 0;  // the newest ones alone; 0: all
};

struct ListedRun {
  std::string name;  // relative to the one directory where they were found, else as DisplayPath
  RunSummary run;
};

// Runs as they were asked for.
struct RunList {
  std::vector<ListedRun> runs;
  std::vector<std::string> differs;  // keys of their configs
  std::vector<std::string> tasks;    // that any of them scored
  std::vector<std::string> asked;    // keys of the request, whole
};
// An InputError for a KEY that none of them has, or a condition that is none.
RunList ListRuns(std::vector<RunSummary> runs, const RunsRequest& request);

// A run a line, in as many columns as fit, and below it why some did not end.
std::string RunsText(const RunList& list);
// {"runs": [{name, path, state, host, since, why, began, step, ends, seconds, scores, config}], "differs"}:
// see configs/schema/runs-output.schema.json.
nlohmann::ordered_json RunsJson(const RunList& list);

}  // namespace medley

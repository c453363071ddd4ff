#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <medley/checkpoint/run_directory.h>
#include <medley/plugin/confirmed_paths.h>
#include <medley/report/console.h>
#include <medley/train/run_hours.h>

namespace medley {

// How a run goes on.
struct ResumeRequest {
  std::filesystem::path config = {};        // "": its newest
  std::vector<std::string> overrides = {};  // of the config
  std::optional<RunScript> script = {};     // where it repeats another one
  NamedPlugins plugins = {};
};

// Goes on with the run from its newest whole checkpoint; returns the exit code.
int GoOn(const RunDirectory& directory, const ResumeRequest& request, Console& console);

}  // namespace medley

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/plugin/confirmed_paths.h>
#include <medley/runs/sweep_record.h>

namespace medley {

// What a command line asks for.
struct SweepRequest {
  std::filesystem::path config, directory;
  std::vector<std::string> arguments;  // KEY=V1,V2
  std::int64_t seeds = 0;              // how many; 0: those of the arguments, or the config's alone
  std::int64_t jobs = 1;
  NamedPlugins plugins;
  bool allow_on_event = false;
  std::string command;  // as it was given, for a shell
};

// What of a group's runs must be known before they begin.
struct GroupFacts {
  std::int64_t steps = 0;
  double hours = 0;  // 0: no limit
  // Runs of one plan share a profile; "": none is made.
  std::string plan = {};
};

struct CheckedSweep {
  SweepRecord record;
  std::vector<GroupFacts> groups;     // by group of the record
  std::vector<std::string> warnings;  // of what the runs say and what does nothing, each once
};

// Reads and checks all that can be known before anything runs, without tensors and without a trace: the
// directory, that the command asks for what was begun there, and every combination of values as medley train
// does. An InputError with the mistakes of all of them.
CheckedSweep CheckSweep(const SweepRequest& request);

}  // namespace medley

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace medley {

// The word of the user for the program that a run's on_event names.
struct EventWord {
  std::vector<std::string> overrides =
      {};                     // of the command line: what on_event=... names there is the user's own
  bool allow_config = false;  // what the config names, too
};

// A run config's on_event as it is to be run: the program with its path. `config`: where it stands, for the
// words. An InputError where that cannot be run, or where this user did not confirm it, with its arguments,
// once
// ($XDG_STATE_HOME/medley/on-event-programs): a run directory or config from somebody else must not run
// programs. What was confirmed is remembered by real paths, of arguments that are files too. Nothing of an
// on_event that is empty.
std::vector<std::string> ConfirmOnEvent(const std::vector<std::string>& on_event,
                                        const std::filesystem::path& config, const EventWord& word);

}  // namespace medley

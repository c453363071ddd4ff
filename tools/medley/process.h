#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace medley {

// What makes a process that of the command, whoever's executable it is: the medley program, or Python where a
// run has a task in it.

// What the command starts itself in a child process.
inline constexpr std::string_view kHiddenVerb = "check";

// First of all: the standard streams are there and print what is printable, and a crash says its words.
void BeginProcess();

// From the first line of a verb to the last: a signal that comes while libtorch is opened is heeded then, and
// one that comes when the run is over ends nothing.
void HandleSignals(const std::string& verb);

// From before a process becomes Python's until it has handled signals there: one that comes meanwhile waits.
void BlockRunSignals(bool on);

// Runs it and ends the process with its exit code; what it throws is said, and decides the code. Nothing else
// of the process ends in order.
[[noreturn]] void EndProcess(const std::function<int()>& run);

}  // namespace medley

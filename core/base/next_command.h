#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <medley/base/error.h>

namespace medley {

// An argument as a shell takes it: as it is, or in single quotes.
std::string ShellWord(std::string_view argument);

// A command of medley that trains, for as many processes as train here: where `medley launch` started this
// one, by it.
std::string WithAsManyProcesses(const std::string& command);

// That which goes on with a run.
std::string ResumeCommand(const std::filesystem::path& run);

// The command that goes on with what this process does, which stands last on the screen however the process
// ends. "": there is none so far, or no more. One that is longer than 4 KiB is none: half of it would be
// another.
void SetNextCommand(std::string_view command) noexcept;
std::string NextCommand();
// From here on it is another process's to say, but where that one may be gone.
void LeaveNextCommandToTheFirst() noexcept;
// NextCommand in the lines that end a command's words; "" where there is none, or another process says it.
// `code`: how this one ends.
std::string NextCommandLines(ExitCode code);
// Those of a process that a signal ends, on stderr. For its handler.
void WriteNextCommand() noexcept;

}  // namespace medley

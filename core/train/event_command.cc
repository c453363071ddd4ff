#include <medley/train/event_command.h>

#include <algorithm>
#include <system_error>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/base/run_program.h>
#include <medley/plugin/confirmed_lines.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNone = "; on_event=[] runs none";

fs::path Found(const std::string& program, const fs::path& config) {
  const std::string where = DisplayPath(config) + ": on_event: ";
  if (program.find('/') == program.npos) {
    fs::path found = FindProgram(program);
    if (found.empty())
      throw InputError(where + "no directory of PATH has a program '" + Printable(program) +
                       "'. A program that is nowhere there is named by its path, with a '/'" + kNone);
    return found;
  }
  if (const std::string problem = ProgramProblem(program); !problem.empty())
    throw InputError(where + problem + kNone);
  return program;
}

// Where a link leads, too: it is told apart from what it leads to, as an interpreter may be by its own place.
std::string WithRealPath(const fs::path& path) {
  std::error_code gone;
  const fs::path real = fs::canonical(path, gone);
  return ShellWord(path.string()) + (gone || real == path ? "" : " -> " + ShellWord(real.string()));
}

// What a shell would be given; a file that an argument names is one and the same wherever this process runs.
std::string Line(const std::vector<std::string>& command) {
  std::string line = WithRealPath(command.front());
  for (std::size_t i = 1; i < command.size(); ++i) {
    std::error_code gone;
    const bool is_file = fs::is_regular_file(command[i], gone);
    line += " " + (is_file ? ShellWord(fs::canonical(command[i], gone).string()) : ShellWord(command[i]));
  }
  return line;
}

std::string ShellLine(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + ShellWord(word);
  return line;
}

}  // namespace

std::vector<std::string> ConfirmOnEvent(const std::vector<std::string>& on_event, const fs::path& config,
                                        const EventWord& word) {
  if (on_event.empty()) return {};
  std::vector<std::string> command = on_event;
  command.front() = Found(command.front(), config).string();
  const std::string line = Line(command);
  ConfirmedLines confirmed("on-event-programs");
  const bool is_own = std::ranges::any_of(
      word.overrides, [](const std::string& given) { return given.starts_with("on_event="); });
  if (!is_own && !word.allow_config && !confirmed.Has(line))
    throw InputError(
        DisplayPath(config) +
        ": on_event names a program that you have not confirmed. It would run with your rights, and a "
        "config may come from anybody:\n  " +
        Printable(ShellLine(command)) + "\nIf you trust it, give --allow-on-event, or name it yourself (" +
        ShellWord("on_event=" + JsonText(nlohmann::json(command))) + ")" + confirmed.Remembers("it") + kNone);
  confirmed.Add({line});
  return command;
}

}  // namespace medley

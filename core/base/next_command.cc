#include <medley/base/next_command.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include <medley/base/user_directories.h>

namespace medley {
namespace {

constexpr std::string_view kBeginning = "next:\n  ";

// The lines as they are written: a handler must not allocate.
std::array<char, 4096> g_lines;
std::atomic<std::size_t> g_lines_size = 0;
std::atomic<bool> g_is_left_to_the_first = false;

bool IsPlainInAShell(char c) {
  constexpr std::string_view kPlain = "%+,-./:=@_";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kPlain.find(c) != std::string_view::npos;
}

}  // namespace

std::string ShellWord(std::string_view argument) {
  if (!argument.empty() && std::ranges::all_of(argument, IsPlainInAShell)) return std::string(argument);
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string WithAsManyProcesses(const std::string& command) {
  const auto processes = Environment("WORLD_SIZE");
  if (!Environment("MEDLEY_LAUNCH") || !processes || *processes == "1") return command;
  return "medley launch -n " + *processes + " -- " + command;
}

std::string ResumeCommand(const std::filesystem::path& run) {
  return WithAsManyProcesses("medley resume " + ShellWord(run.string()));
}

void SetNextCommand(std::string_view command) noexcept {
  g_lines_size = 0;
  if (command.empty() || kBeginning.size() + command.size() + 1 > g_lines.size()) return;
  char* end = std::copy(kBeginning.begin(), kBeginning.end(), g_lines.begin());
  end = std::copy(command.begin(), command.end(), end);
  *end++ = '\n';
  g_lines_size = static_cast<std::size_t>(end - g_lines.data());
}

std::string NextCommand() {
  const std::string_view lines(g_lines.data(), g_lines_size);
  if (lines.empty()) return "";
  return std::string(lines.substr(kBeginning.size(), lines.size() - kBeginning.size() - 1));
}

void LeaveNextCommandToTheFirst() noexcept { g_is_left_to_the_first = true; }

std::string NextCommandLines(ExitCode code) {
  if (g_is_left_to_the_first && code != ExitCode::kPeerFailed) return "";
  return {g_lines.data(), g_lines_size};
}

void WriteNextCommand() noexcept {
  if (g_is_left_to_the_first) return;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, g_lines.data(), g_lines_size);
}

}  // namespace medley

#include <medley/report/screen.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace medley {
namespace {

constexpr std::size_t kFewestColumns = 20, kTerminalColumns = 80;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

bool is_wide = false;

// 0: it does not say.
std::size_t ColumnsOfEnvironment() {
  const char* words = std::getenv("COLUMNS");
  const long columns = words == nullptr ? 0 : std::strtol(words, nullptr, 10);
  return columns > 0 ? std::max(static_cast<std::size_t>(columns), kFewestColumns) : 0;
}

// Where a list's words begin behind its term ("  --rows N   how many"); npos where there is no term.
std::size_t BehindTerm(const std::string& line, std::size_t begin) {
  const std::size_t gap = line.find("  ", begin);
  return gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
}

bool IsOfATable(const std::string& line) {
  std::size_t gaps = 0;
  for (std::size_t at = line.find_first_not_of(' '); (at = line.find("  ", at)) != std::string::npos; ++gaps)
    at = line.find_first_not_of(' ', at);
  return gaps > 1;
}

std::string WrappedLine(const std::string& line, std::size_t columns, std::size_t hang) {
  std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  std::string indent(begin + hang, ' ');
  if (const std::size_t words = BehindTerm(line, begin); words != std::string::npos && words <= columns / 2) {
    begin = words;
    indent.assign(TextWidth(line.substr(0, begin)), ' ');
  }
  std::string text, last = line.substr(0, begin), word;
  std::istringstream words(line.substr(begin));
  for (bool first = true; words >> word; first = false) {
    if (!first && TextWidth(last) + 1 + TextWidth(word) > columns) {
      text += last + "\n";
      last = indent + word;
    } else {
      last += (first ? "" : " ") + word;
    }
  }
  return text + last;
}

}  // namespace

std::size_t ColumnsOf(std::FILE* out) {
  if (const std::size_t asked = ColumnsOfEnvironment(); asked > 0) return asked;
  winsize size{};
  if (::isatty(::fileno(out)) != 1) return kPageColumns;
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kTerminalColumns;
  return std::max<std::size_t>(size.ws_col, kFewestColumns);
}

std::size_t ScreenColumns() { return is_wide ? kNoLimit : ColumnsOf(stdout); }

void ShowWide() { is_wide = true; }

bool IsWide() { return is_wide; }

std::size_t TextWidth(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string CutText(const std::string& text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t width = 0; end < text.size(); ++end) {
    const bool begins = (text[end] & 0xC0) != 0x80;
    if (begins && width == columns) break;
    width += begins ? 1 : 0;
  }
  return text.substr(0, end);
}

std::string Wrapped(const std::string& text, std::size_t columns, std::size_t hang) {
  std::string wrapped;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    wrapped +=
        (TextWidth(line) <= columns || IsOfATable(line) ? line : WrappedLine(line, columns, hang)) + "\n";
  if (!text.ends_with('\n') && !wrapped.empty()) wrapped.pop_back();
  return wrapped;
}

std::string Prose(const std::string& text, std::size_t hang) {
  return Wrapped(text, ColumnsOf(stdout), hang);
}

}  // namespace medley

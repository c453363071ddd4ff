#include <medley/report/log_repair.h>

#include <cerrno>
#include <cstdio>

#include <medley/base/durable_file.h>
#include <medley/base/line_reader.h>
#include <medley/base/printable.h>
#include <medley/report/log_lines.h>
#include <medley/report/metrics.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// The lines that are whole and tell of steps in order, up to `step`.
struct Readable {
  std::string text;
  std::int64_t lines = 0;
};

Readable ReadLines(const fs::path& path, std::int64_t step) {
  Readable found;
  LineReader file(path);
  std::int64_t last = -1;  // 0: what was scored before the first step
  for (std::string line; file.Next(line);) {
    const LogLine read = file.whole() ? ReadLogLine(line) : LogLine();
    const std::int64_t at = read.step;
    const bool is_in_order = at > last || (at == last && at > 0 && read.json.contains(kTransition));
    if (!is_in_order || at > step) continue;  // those after it are done again
    last = at;
    found.text += line + "\n";
    ++found.lines;
  }
  return found;
}

// Without a sum a changed byte shows only where it breaks a line.
bool IsUnreadable(const fs::path& path, const LogMark& mark, std::int64_t step) {
  return mark.bytes > 0 && mark.xxh3_128.empty() &&
         static_cast<std::int64_t>(ReadLines(path, step).text.size()) < mark.bytes;
}

// Under a second name, so that whoever is killed here has left the first one; what is no file has none.
fs::path Keep(const fs::path& path, fs::file_type type) {
  const std::string name = path.filename().string();
  if (type != fs::file_type::regular) return RenameAside(path, name);
  return LinkAside(path, name);
}

LogMark MakeAnew(const fs::path& path, const std::string& problem, std::int64_t step, Console& console) {
  const Readable kept = TypeOf(path) == fs::file_type::regular ? ReadLines(path, step) : Readable();
  const std::string name = ReplaceDamaged(path, kept.text);
  std::string words = Printable(path) + " " + problem + "; ";
  if (!name.empty()) words += "it is now " + name + ", and ";
  words += kept.lines == 0
               ? "a new one begins here"
               : "the " + std::to_string(kept.lines) + " lines of it that can be read were taken over";
  console.Warn(words + ". The parameters do not depend on it");
  return {static_cast<std::int64_t>(kept.text.size()), HashText(kept.text)};
}

}  // namespace

LogMarks RepairLogs(const fs::path& directory, const std::vector<std::string>& logs, const LogMarks& marks,
                    std::int64_t step, Console& console) {
  std::map<std::string, std::string> problems;
  for (const std::string& log : logs) {
    const LogMark mark = MarkOf(marks, log);
    problems[log] = MarkProblem(directory / log, mark);
    if (problems[log].empty() && IsUnreadable(directory / log, mark, step))
      problems[log] = "was damaged: it has lines that tell of no step";
  }
  LogMarks ready = marks;
  for (const std::string& log : logs) {
    if (!problems[log].empty()) ready[log] = MakeAnew(directory / log, problems[log], step, console);
  }
  return ready;
}

// The new log is whole before the old one gives up its name.
std::string ReplaceDamaged(const fs::path& path, const std::string& text) {
  const fs::path anew = path.parent_path() / (".tmp-new-" + path.filename().string());
  ReplaceFile(anew, text);
  const fs::file_type found = TypeOf(path);
  const std::string name = found == fs::file_type::not_found ? "" : Keep(path, found).filename().string();
  if (::rename(anew.c_str(), path.c_str()) != 0) ThrowFileError("replace", path, errno);
  SyncDirectory(path.parent_path());
  return name;
}

void MakeWayForLog(const fs::path& path, Console& console) {
  if (MarkProblem(path, LogMark()).empty()) return;
  console.Warn(Printable(path) + " is no plain file; it is now " +
               RenameAside(path, path.filename().string()).filename().string());
}

}  // namespace medley

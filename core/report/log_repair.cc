#include <medley/report/log_repair.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include <medley/base/durable_file.h>
#include <medley/base/json_reader.h>

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
  std::ifstream file(path, std::ios::binary);
  std::int64_t last = 0;
  for (std::string line; std::getline(file, line);) {
    const std::int64_t at = file.eof() ? -1 : StepOfLine(line);
    if (at <= last || at > step) continue;  // those after it are done again
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

// The new log is whole before the old one gives up its name.
LogMark MakeAnew(const fs::path& path, const std::string& problem, std::int64_t step, Console& console) {
  std::string words = path.string() + " " + problem + "; ";
  std::error_code missing;
  const fs::file_status status = fs::symlink_status(path, missing);
  const Readable kept = fs::is_regular_file(status) ? ReadLines(path, step) : Readable();
  const fs::path anew = path.parent_path() / (".tmp-new-" + path.filename().string());
  ReplaceFile(anew, kept.text);
  if (fs::exists(status)) {
    words += "it is now " + RenameAside(path, path.filename().string()).filename().string() + ", and ";
  }
  RenameNoReplace(anew, path);
  SyncDirectory(path.parent_path());
  words += kept.lines == 0
               ? "a new one begins here"
               : "the " + std::to_string(kept.lines) + " lines of it that can be read were taken over";
  console.Warn(words + ". The weights do not depend on it");
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

void MakeWayForLog(const fs::path& path, Console& console) {
  if (MarkProblem(path, LogMark()).empty()) return;
  console.Warn(path.string() + " is no plain file; it is now " +
               RenameAside(path, path.filename().string()).filename().string());
}

std::int64_t StepOfLine(const std::string& line) {
  try {
    const auto json = ReadJson<nlohmann::json>(line, "");
    const auto step = json.find("step");  // the end where it is no object
    return step != json.end() && step->is_number_integer() ? step->get<std::int64_t>() : -1;
  } catch (const InputError&) {
    return -1;
  }
}

}  // namespace medley

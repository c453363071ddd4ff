#include "python_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include <medley/base/descriptor.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/sha256.h>
#include <medley/task/abi.h>

#include "python_source.h"
#include "python_task.h"
#include "rejection.h"
#include "trust.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20;
constexpr std::size_t kMostModules = 512;

struct ReadSource {
  FileIdentity identity;
  std::string text;
};

// Of a real path: a link means a race.
ReadSource ReadPythonText(const fs::path& path) {
  const Descriptor file(path, O_RDONLY | kPlainOnly);
  struct stat info {};
  if (!file.ok() || fstat(file.get(), &info) != 0) throw Rejection{"unreadable", std::strerror(errno)};
  if (!S_ISREG(info.st_mode)) throw Rejection{"not a plugin", "not a regular file"};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > kMostBytes) throw Rejection{"not a plugin", "larger than 4 MiB", false};
  ReadSource read{
      .identity = {info.st_dev, info.st_ino, size, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec,
                   info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec},
      .text = std::string(size, '\0')};
  std::size_t done = 0;
  while (done < read.text.size()) {
    const ssize_t got =
        pread(file.get(), read.text.data() + done, read.text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  read.text.resize(done);
  return read;
}

// Whether a line begins with it: it says itself that it is for medley.
bool ImportsMedley(std::string_view text) {
  for (const std::string_view word : {"import medley", "from medley"}) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
      if (at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r') return true;
    }
  }
  return false;
}

bool IsPlainFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Every module of a package.
void AddPackage(const fs::path& folder, std::set<fs::path>& found) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (found.size() > kMostModules) return;
    if (IsPythonFile(entry->path()) && entry->is_regular_file(error)) found.insert(entry->path());
  }
}

// A link beside a plugin is followed: its permissions are those of the file that it names.
std::string TextOfModule(const fs::path& module) {
  std::error_code error;
  const fs::path real = fs::canonical(module, error);
  const std::string reason = error ? Printable(module) + ": " + error.message() : WhyUnsafe(real);
  if (!reason.empty()) throw Rejection{"bad permissions", "it imports a module beside it: " + reason};
  try {
    return ReadPythonText(real).text;
  } catch (const Rejection& rejection) {
    throw Rejection{"unreadable",
                    "it imports a module beside it, " + Printable(module) + ": " + rejection.reason};
  }
}

PythonModules ModulesOf(const fs::path& file, std::set<std::string> waiting) {
  const fs::path folder = file.parent_path();
  PythonModules found;
  std::set<std::string> seen;
  while (!waiting.empty()) {
    const std::string name = waiting.extract(waiting.begin()).value();
    const std::string first = name.substr(0, name.find('.'));
    if (first == "medley" || !seen.insert(first).second) continue;
    std::set<fs::path> more;
    if (IsPlainFile(folder / first / "__init__.py"))
      AddPackage(folder / first, more);
    else if (IsPlainFile(folder / (first + ".py")))
      more.insert(folder / (first + ".py"));
    for (const fs::path& module : more) {
      if (module == file || found.contains(module)) continue;
      if (found.size() == kMostModules)
        throw Rejection{"bad spec", "it imports more than 512 modules beside it"};
      waiting.merge(ImportsOf(found[module] = TextOfModule(module)));
    }
  }
  return found;
}

std::string IdOf(const fs::path& file, const std::string& text, const PythonModules& modules) {
  const std::string own = Sha256Of(text);
  if (modules.empty()) return own;
  std::string sums = own + "\n";
  for (const auto& [module, source] : modules)
    sums += Sha256Of(source) + "  " + module.lexically_relative(file.parent_path()).string() + "\n";
  return Sha256Of(sums);
}

// The literals of the specs, one a line.
std::string NoteOfSpecs(const std::vector<PythonValue>& specs) {
  nlohmann::ordered_json tasks = nlohmann::ordered_json::array();
  for (const PythonValue& spec : specs) tasks.push_back(spec.ToJson());
  return nlohmann::ordered_json({{"python", 1}, {"tasks", std::move(tasks)}}).dump();
}

std::vector<TaskInfo> TasksOfSpecs(const std::vector<PythonValue>& specs) {
  std::vector<TaskInfo> tasks;
  std::map<std::string, int> lines;
  for (const PythonValue& spec : specs) {
    tasks.push_back(TaskOf(spec));
    const auto [before, is_new] = lines.emplace(tasks.back().name, spec.line);
    if (!is_new)
      throw PythonProblem{spec.line, "the task '" + tasks.back().name + "' is that of line " +
                                         std::to_string(before->second) + " again"};
  }
  return tasks;
}

}  // namespace

bool IsPythonFile(const fs::path& path) { return path.extension() == ".py"; }

PluginFile ReadPythonFile(const fs::path& path) {
  const ReadSource read = ReadPythonText(path);
  if (!ImportsMedley(read.text))
    throw Rejection{"not a plugin", "no line of it begins with `import medley` or `from medley`", false};
  try {
    const PythonSource source = ReadPythonSource(read.text);
    if (source.specs.empty()) throw Rejection{"not a plugin", "none of its classes has a spec", false};
    PluginFile file{.path = path,
                    .identity = read.identity,
                    .build_id = {},
                    .note = NoteOfSpecs(source.specs),
                    .tasks = TasksOfSpecs(source.specs),
                    .models = {},
                    .is_python = true};
    if (file.note.size() > kMaxNoteBytes)
      throw PythonProblem{source.specs.front().line, "the specs of a file may take 64 KiB: shorten or split"};
    file.build_id = IdOf(path, read.text, ModulesOf(path, source.imports));
    return file;
  } catch (const PythonProblem& problem) {
    throw Rejection{"bad spec",
                    Printable(path.filename()) + ":" + std::to_string(problem.line) + ": " + problem.words};
  }
}

PythonSources SourcesOf(const PluginFile& file) {
  constexpr const char* kChanged = "the file has changed since this run began. Start medley again";
  try {
    if (std::string reason = WhyUnsafe(file.path); !reason.empty()) throw Error(reason);
    ReadSource read = ReadPythonText(file.path);
    PythonModules modules = ModulesOf(file.path, ImportsOf(read.text));
    if (IdOf(file.path, read.text, modules) != file.build_id)
      throw Error(modules.empty()
                      ? kChanged
                      : "the file, or a module beside it that it imports, has changed since this run "
                        "began. Start medley again");
    return {std::move(read.text), std::move(modules)};
  } catch (const Rejection& rejection) {
    throw Error(std::string(kChanged) + ": " + rejection.reason);
  }
}

std::vector<fs::path> ModulesBeside(const fs::path& file) {
  std::vector<fs::path> paths;
  try {
    for (const auto& [path, text] : ModulesOf(file, ImportsOf(ReadPythonText(file).text)))
      paths.push_back(path);
  } catch (const Rejection&) {  // who loads it is told
  }
  return paths;
}

}  // namespace medley

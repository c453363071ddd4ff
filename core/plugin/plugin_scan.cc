#include "plugin_scan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/user_directories.h>
#include <medley/base/version.h>
#include <medley/model/built_in_models.h>
#include <medley/task/abi.h>

#include "elf_file.h"
#include "python_file.h"
#include "rejection.h"
#include "spec_reader.h"
#include "trust.h"

namespace medley {
namespace {

// "2.11.0+cu130" and "2.11.0+cpu" have one ABI, and plugins know their headers' version, which has no suffix.
std::string Release(std::string_view version) { return std::string(version.substr(0, version.find('+'))); }

std::string Text(const std::string& value) { return Printable(value); }
std::string Text(int value) { return std::to_string(value); }
std::string Text(bool value) { return value ? "on" : "off"; }

class Comparison {
 public:
  template <typename T>
  void Add(const std::string& what, const T& plugin, const T& host) {
    if (plugin == host) return;
    plugin_ += (plugin_.empty() ? "" : ", ") + what + Text(plugin);
    host_ += (host_.empty() ? "" : ", ") + what + Text(host);
  }
  std::string Sentence() const {
    if (plugin_.empty()) return "";
    return "was built for " + plugin_ + "; this medley uses " + host_ + kRebuild;
  }

  static constexpr const char* kRebuild =
      ". Rebuild the plugin with this medley: cmake --build BUILD_DIRECTORY --clean-first";

 private:
  std::string plugin_;
  std::string host_;
};

AbiInfo HostAbi() {
  AbiInfo abi;
  abi.kind = "c++";
  abi.api = kPluginApi;
  abi.medley = MEDLEY_HEADERS_VERSION;
  abi.headers = MEDLEY_HEADERS_DIGEST;
  abi.torch = Release(Torch().version);
  abi.cxx11 = detail::kCxx11Abi;
  abi.standard_library = detail::kStandardLibrary;
  abi.pointer = sizeof(void*);
  abi.glibcxx_debug = detail::kDebugContainers;
  abi.sanitizer = detail::kSanitizer;
  abi.compiler = detail::kCompiler;
  return abi;
}

// All differences in one sentence, with both sides and the cure; "" where there is none.
std::string AbiDifferences(const AbiInfo& plugin, const AbiInfo& host) {
  Comparison comparison;
  comparison.Add("plugin kind ", plugin.kind, host.kind);
  comparison.Add("plugin API ", plugin.api, host.api);
  if (plugin.api != host.api) return comparison.Sentence();
  comparison.Add("libtorch ", Release(plugin.torch), host.torch);
  comparison.Add("_GLIBCXX_USE_CXX11_ABI ", plugin.cxx11, host.cxx11);
  comparison.Add("the standard library ", plugin.standard_library, host.standard_library);
  comparison.Add("pointers of bytes ", plugin.pointer, host.pointer);
  comparison.Add("_GLIBCXX_DEBUG ", plugin.glibcxx_debug, host.glibcxx_debug);
  comparison.Add("sanitizer ", plugin.sanitizer, host.sanitizer);
  if (const std::string sentence = comparison.Sentence(); !sentence.empty()) return sentence;
  if (plugin.headers == host.headers) return "";
  return "was built against other headers: those of medley " + Text(plugin.medley) + " (" +
         Text(plugin.headers) + "), this one is " + host.medley + " (" + host.headers + ")" +
         Comparison::kRebuild;
}

namespace fs = std::filesystem;

std::vector<SearchPath> FromEnvironment() {
  std::vector<SearchPath> paths;
  const std::optional<std::string> value = Environment("MEDLEY_PLUGIN_PATH");
  if (!value) return paths;
  for (std::size_t begin = 0; begin <= value->size();) {
    const std::size_t end = std::min(value->find(':', begin), value->size());
    const fs::path path = value->substr(begin, end - begin);
    begin = end + 1;
    if (path.empty()) continue;  // as "$MORE:" leaves it where MORE is empty
    if (!path.is_absolute()) {
      throw InputError("MEDLEY_PLUGIN_PATH: '" + Printable(path.string()) +
                       "' is not an absolute path; the variable holds absolute paths with ':' between them");
    }
    paths.push_back({path, true});
  }
  return paths;
}

std::optional<fs::path> UserPlugins() {
  const std::optional<fs::path> data = UserDirectory(UserFiles::kData);
  return data ? std::optional(*data / kPluginFolder) : std::nullopt;
}

// A module that is no plugin is nobody's business, whoever may write to it.
PluginFile ReadSafePython(const fs::path& path) {
  PluginFile file = ReadPythonFile(path);
  if (std::string reason = WhyUnsafe(path); !reason.empty()) throw Rejection{"bad permissions", reason};
  return file;
}

PluginFile ReadPlugin(const fs::path& candidate) {
  std::error_code error;
  const fs::path path = fs::canonical(candidate, error);
  if (error) {
    throw Rejection{"missing", fs::is_symlink(candidate) ? "a link that leads nowhere" : error.message()};
  }
  if (IsPythonFile(path)) return ReadSafePython(path);
  if (std::string reason = WhyUnsafe(path); !reason.empty()) throw Rejection{"bad permissions", reason};
  ElfFile elf = ReadElfFile(path);
  PluginNote note = ReadPluginNote(elf.note);
  if (std::string differences = AbiDifferences(note.abi, HostAbi()); !differences.empty()) {
    throw Rejection{"bad abi", differences};
  }
  for (const ModelInfo& model : note.models) {
    for (const ModelSpec* own : kBuiltInModels) {
      if (model.name == own->name)
        throw Rejection{"bad note",
                        "its model '" + model.name + "' has the name of one of medley's own; rename it"};
    }
  }
  return PluginFile{path,
                    elf.identity,
                    std::move(elf.build_id),
                    std::move(elf.note),
                    std::move(note.tasks),
                    std::move(note.models),
                    /*is_python=*/false};
}

// The *.so and *.py of a directory, or the file itself.
std::vector<fs::path> Candidates(const fs::path& where) {
  if (!fs::is_directory(where)) return {where};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(where)) {
    if (entry.path().extension() == ".so" || IsPythonFile(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<SearchPath> SearchPaths(const PluginSearch& search) {
  std::vector<SearchPath> paths;
  for (const fs::path& path : search.paths) {
    if (!path.is_absolute()) {
      throw InputError("plugin path '" + Printable(path.string()) + "' must be absolute");
    }
    paths.push_back({path, true});
  }
  if (search.environment) {
    for (SearchPath& path : FromEnvironment()) paths.push_back(std::move(path));
  }
  if (search.user_directory) {
    if (std::optional<fs::path> user = UserPlugins()) paths.push_back({*user, false});
  }
  if (search.own_directory) paths.push_back({OwnPluginDirectory(), false});
  return paths;
}

ScannedDirectory ScanPlugins(const SearchPath& where) {
  ScannedDirectory scanned;
  std::error_code error;
  const fs::path real = fs::canonical(where.path, error);
  if (error) {
    const bool silent = !where.expected && error == std::errc::no_such_file_or_directory;
    if (!silent) scanned.rejected.push_back({where.path, "missing", error.message(), where.expected});
    return scanned;
  }
  try {
    if (std::string reason = fs::is_directory(real) ? WhyUnsafe(real) : ""; !reason.empty()) {
      scanned.rejected.push_back({real, "bad permissions", reason, where.expected});
      return scanned;
    }
    for (const fs::path& candidate : Candidates(real)) {
      try {
        scanned.files.push_back(ReadPlugin(candidate));
      } catch (const Rejection& rejection) {
        const bool named = where.expected && (rejection.claims || candidate == real);
        scanned.rejected.push_back({candidate, rejection.state, rejection.reason, named});
      }
    }
  } catch (const fs::filesystem_error& e) {
    scanned.rejected.push_back({real, "unreadable", e.code().message(), where.expected});
  }
  return scanned;
}

}  // namespace medley

#include "libraries_beside.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>

#include "elf_file.h"
#include "python_file.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLibraries = 512;

// The directories of a run path that lie where the file does.
std::vector<fs::path> DirectoriesBeside(const fs::path& file, std::string_view run_path) {
  std::vector<fs::path> directories;
  while (!run_path.empty()) {
    const std::string_view part = run_path.substr(0, run_path.find(':'));
    run_path.remove_prefix(std::min(run_path.size(), part.size() + 1));
    for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
      if (part.starts_with(origin))
        directories.push_back(file.parent_path() / fs::path(part.substr(origin.size())).relative_path());
    }
  }
  return directories;
}

// Which lie beside an installed plugin, too, and of which its note speaks.
bool IsOfMedley(const std::string& name) {
  return name.starts_with("libmedley") || name.starts_with("libtorch") || name.starts_with("libc10");
}

}  // namespace

std::vector<fs::path> LibrariesBeside(const fs::path& of) {
  if (IsPythonFile(of)) return ModulesBeside(of);
  std::vector<fs::path> found, waiting = {of};
  while (!waiting.empty() && found.size() < kMostLibraries) {
    const fs::path file = waiting.back();
    waiting.pop_back();
    const ElfFile elf = ReadNeeds(file);
    for (const std::string& name : elf.needed) {
      if (IsOfMedley(name)) continue;
      for (const fs::path& directory : DirectoriesBeside(file, elf.run_path)) {
        std::error_code error;
        const fs::path library = fs::canonical(directory / name, error);
        if (error) continue;
        if (std::ranges::find(found, library) == found.end())
          found.push_back(library), waiting.push_back(library);
        break;
      }
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace medley

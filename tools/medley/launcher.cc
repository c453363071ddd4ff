// The command `medley` of an installation by pip, which lies among the scripts of a virtual environment, far
// from the package: it becomes the one in there, whose libraries lie beside it. No Python is started for it.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

bool IsCommand(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

// 11 of python3.11, 0 of python3, -1 of what is none.
int MinorOf(const std::string& folder) {
  const std::string name = "python3";
  if (!folder.starts_with(name)) return -1;
  int minor = 0;
  if (folder.size() > name.size() + 1)
    std::from_chars(folder.data() + name.size() + 1, folder.data() + folder.size(), minor);
  return minor;
}

// The command of the package below a folder of libraries, of the highest Python 3 that has one; "" without.
fs::path CommandBelow(const fs::path& libraries) {
  fs::path best;
  int highest = -1;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(libraries, ignored)) {
    const int minor = MinorOf(entry.path().filename().string());
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const fs::path command = entry.path() / packages / "medley/bin/medley";
      if (minor > highest && IsCommand(command)) best = command, highest = minor;
    }
  }
  return best;
}

// Of the folder of scripts `here`: a prefix has both, and `pip install --target` has the package beside it.
fs::path CommandOf(const fs::path& here) {
  for (const char* libraries : {"lib", "lib64"}) {
    const fs::path found = CommandBelow(here.parent_path() / libraries);
    if (!found.empty()) return found;
  }
  const fs::path beside = here.parent_path() / "medley/bin/medley";
  return IsCommand(beside) ? beside : fs::path();
}

}  // namespace

int main(int, char** arguments) {
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path command = CommandOf(here);
  if (command.empty()) {
    std::fprintf(stderr,
                 "medley: no Python package medley beside %s: expected "
                 "../lib/python3.*/site-packages/medley. Install it "
                 "again: pip install --force-reinstall --no-deps and the wheel\n",
                 here.c_str());
    return 1;
  }
  ::execv(command.c_str(), arguments);
  std::fprintf(stderr, "medley: cannot start %s: %s\n", command.c_str(), std::strerror(errno));
  return 1;
}

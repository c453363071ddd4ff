#include <medley/base/files.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/descriptor.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

std::string NearFile(const fs::path& file) {
  std::vector<std::string> names;
  std::error_code ignored;
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  for (auto entry = fs::directory_iterator(directory, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    names.push_back(entry->path().filename().string());
    if (names.size() > 1000) break;
  }
  return DidYouMean(file.filename().string(), names);
}

const char* KindOf(mode_t mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

std::string Problem(const fs::path& path, bool wants_directory) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return std::string(wants_directory ? "no such directory: " : "no such file: ") + DisplayPath(path) +
             NearFile(path);
    }
    return "cannot look at " + DisplayPath(path) + ": " + std::strerror(errno);
  }
  if (wants_directory ? !S_ISDIR(status.st_mode) : !S_ISREG(status.st_mode)) {
    return DisplayPath(path) + " is " + KindOf(status.st_mode) + "; expected " +
           (wants_directory ? "a directory" : "a file");
  }
  if (::access(path.c_str(), wants_directory ? R_OK | X_OK : R_OK) != 0) {
    return "cannot read " + DisplayPath(path) + ": " + std::strerror(errno);
  }
  return "";
}

}  // namespace

std::string FileProblem(const fs::path& file) { return Problem(file, false); }
std::string DirectoryProblem(const fs::path& directory) { return Problem(directory, true); }

std::string ReadFile(const fs::path& file, std::int64_t most_bytes) {
  if (const std::string problem = FileProblem(file); !problem.empty()) throw InputError(problem);
  // O_NONBLOCK: were the file swapped for a FIFO since it was looked at, opening it would wait for ever.
  const Descriptor descriptor(file, O_RDONLY | O_NONBLOCK);
  const auto fail = [&] {
    throw InputError("cannot read " + DisplayPath(file) + ": " + std::strerror(errno));
  };
  if (!descriptor.ok()) fail();

  std::string bytes;
  std::vector<char> piece(1 << 16);
  while (true) {
    const ssize_t got = ::read(descriptor.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail();
    if (got == 0) return bytes;
    bytes.append(piece.data(), static_cast<std::size_t>(got));
    if (static_cast<std::int64_t>(bytes.size()) > most_bytes) {
      throw InputError(DisplayPath(file) + " is longer than " + FormatBytes(most_bytes) +
                       ", the most that is read of such a file");
    }
  }
}

std::string DisplayPath(const fs::path& path) {
  std::error_code failed;
  const fs::path here = fs::current_path(failed);
  if (failed || !path.is_absolute()) return Printable(path);
  const fs::path relative = path.lexically_normal().lexically_relative(here);
  return Printable(relative.empty() || *relative.begin() == ".." ? path : relative);
}

fs::path NormalPath(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
}

}  // namespace medley

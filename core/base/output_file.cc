#include <medley/base/output_file.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <system_error>
#include <thread>

#include <medley/base/descriptor.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel
constexpr std::chrono::milliseconds kReaderPause{20};
constexpr int kReaderPauses = 500;

[[noreturn]] void RefuseOutput(const fs::path& path, const std::string& why) {
  throw InputError(DisplayPath(path) + " " + why);
}

// The number of a descriptor of this process that the link stands for, as /dev/stdout leads to; < 0: none. To
// open such a link again would give another place in the file than where the process writes.
int OwnDescriptor(const fs::path& link) {
  std::error_code error_of_own, error_of_link;
  const fs::path own = fs::canonical("/proc/self/fd", error_of_own);
  if (fs::canonical(link.parent_path(), error_of_link) != own || error_of_own || error_of_link) return -1;
  const std::string name = link.filename().string();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : -1;
}

// Of a file that is to be made or replaced in it.
void RequireOpenFolder(const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (const std::string problem = DirectoryProblem(folder); !problem.empty()) throw InputError(problem);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    RefuseOutput(folder, std::string("cannot be written to: ") + std::strerror(errno));
}

// A reader that goes away is an error of the write, and ends no command.
class BrokenPipesAreErrors {
 public:
  BrokenPipesAreErrors() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~BrokenPipesAreErrors() { std::signal(SIGPIPE, before_); }
  BrokenPipesAreErrors(const BrokenPipesAreErrors&) = delete;
  BrokenPipesAreErrors& operator=(const BrokenPipesAreErrors&) = delete;

 private:
  void (*before_)(int);
};

// Its reader may be started after its writer; one that never comes must not hold a command for ever.
Descriptor OpenStream(const fs::path& path, bool is_fifo) {
  for (int waits = 0;; ++waits) {
    Descriptor stream(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    if (stream.ok()) {
      ::fcntl(stream.get(), F_SETFL, 0);  // a slow reader is waited for
      return stream;
    }
    if (!is_fifo || errno != ENXIO) ThrowFileError("open", path, errno);
    if (waits == kReaderPauses) RefuseOutput(path, "is a FIFO that nobody reads; start its reader first");
    std::this_thread::sleep_for(kReaderPause);
  }
}

}  // namespace

OutputFile::OutputFile(const fs::path& named) try {
  Follow(named);
  if (is_stream()) return;
  if (S_ISDIR(info_.st_mode) || !path_.has_filename())
    RefuseOutput(named, "is a directory, a file is expected");
  if (S_ISSOCK(info_.st_mode)) RefuseOutput(named, "is a socket, a file is expected");
  if (S_ISBLK(info_.st_mode)) return;
  RequireOpenFolder(path_);
  path_ = fs::canonical(path_.parent_path()) / path_.filename();
} catch (const FileError& error) {
  throw InputError(error.what());  // another place is what helps
}

// By hand: what a link leads to need not be there, and canonical() would pass a descriptor's link by.
void OutputFile::Follow(const fs::path& named) {
  path_ = fs::absolute(named);
  for (int links = 0; links < kMostLinks; ++links) {
    info_ = {};
    if (::lstat(path_.c_str(), &info_) != 0) {
      if (errno == ENOENT) return;
      ThrowFileError("look at", named, errno);
    }
    if (!S_ISLNK(info_.st_mode)) return;
    descriptor_ = OwnDescriptor(path_);
    if (descriptor_ >= 0) return;
    path_ = path_.parent_path() / fs::read_symlink(path_);  // the parent falls away where it is absolute
  }
  ThrowFileError("look at", named, ELOOP);
}

// By its mode too: for root every file is writable.
bool OutputFile::is_read_only() const {
  if (!is_plain()) return false;
  return (info_.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0 || ::access(path_.c_str(), W_OK) != 0;
}

void OutputFile::Write(std::string_view bytes) const {
  try {
    is_stream() || S_ISBLK(info_.st_mode) ? WriteToStream(bytes) : Replace(bytes);
  } catch (const FileError& error) {
    throw InputError(error.what());
  }
}

void OutputFile::WriteToStream(std::string_view bytes) const {
  const BrokenPipesAreErrors while_written;
  if (descriptor_ >= 0) {
    std::cout.flush();  // what was printed before comes before
    std::fflush(stdout);
    return WriteAll(descriptor_, bytes.data(), bytes.size(), path_);
  }
  Descriptor stream = OpenStream(path_, S_ISFIFO(info_.st_mode));
  WriteAll(stream.get(), bytes.data(), bytes.size(), path_);
  if (stream.Close() != 0 && errno != EINTR) ThrowFileError("close", path_, errno);
}

void OutputFile::Replace(std::string_view bytes) const {
  ReplaceFile(path_, [&](NewFile& file) {
    file.Write(bytes.data(), bytes.size());
    if (!is_plain()) return;
    // Of another owner only root can be, who may give it back; where nobody may, it is the writer's.
    const bool is_given = ::lchown(file.path().c_str(), info_.st_uid, info_.st_gid) == 0;
    const mode_t kept = info_.st_mode & (is_given ? 0777 : 0755);
    if (::chmod(file.path().c_str(), kept) != 0) ThrowFileError("set the permissions of", path_, errno);
  });
}

}  // namespace medley

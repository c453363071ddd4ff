#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>

#include <medley/report/console.h>

namespace medley::test {

// A console that nobody reads, and its words; another thread may read them meanwhile.
class SilentConsole {
 public:
  SilentConsole() {
    console_.emplace(file_);
    console_->ShowDetails();
  }
  ~SilentConsole() {
    console_.reset();  // it writes until then
    std::fclose(file_);
  }
  SilentConsole(const SilentConsole&) = delete;
  SilentConsole& operator=(const SilentConsole&) = delete;

  Console& operator*() { return *console_; }
  std::string words() const {
    struct stat status {};
    ::fstat(::fileno(file_), &status);
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    const ssize_t read = ::pread(::fileno(file_), text.data(), text.size(), 0);
    text.resize(read > 0 ? static_cast<std::size_t>(read) : 0);
    return text;
  }

 private:
  std::FILE* file_ = std::tmpfile();
  std::optional<Console> console_;
};

}  // namespace medley::test

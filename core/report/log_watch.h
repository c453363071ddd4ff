#pragma once

#include <string>

#include <medley/base/append_file.h>
#include <medley/report/console.h>

namespace medley {

// Says at once when a log cannot be written, and when it can be again. The run goes on meanwhile.
class LogWatch {
 public:
  // `costs`: what the trouble means, as the end of a sentence. Keeps the reference.
  LogWatch(Console& console, std::string costs) : console_(console), costs_(std::move(costs)) {}

  // To be called after every append.
  void Look(const AppendFile& log);
  // A sync failed that a save goes on without; said once, until one did not.
  void Failed(const std::string& reason);
  void Synced() { failed_ = false; }

 private:
  Console& console_;
  std::string costs_;
  bool waiting_ = false, failed_ = false;
};

}  // namespace medley

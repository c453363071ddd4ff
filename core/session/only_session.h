#pragma once

#include <filesystem>

namespace medley {

// That this process trains a run: its budget, its peaks and its interrupts are the process's, so a second one
// at the same time would be the first one's, too.
class OnlySession {
 public:
  // An InputError that names the run that is there already.
  explicit OnlySession(const std::filesystem::path& run);
  ~OnlySession();
  OnlySession(const OnlySession&) = delete;
  OnlySession& operator=(const OnlySession&) = delete;
};

}  // namespace medley

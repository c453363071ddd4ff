#pragma once

#include <filesystem>

#include <medley/base/passing_files.h>

namespace medley {

// A folder that is filled beside its place and is there only once it is whole: one that never gets there
// leaves nothing.
class NewFolder {
 public:
  // Makes those above it that are missing.
  explicit NewFolder(const std::filesystem::path& folder);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  // Where it is filled.
  const std::filesystem::path& path() const { return path_; }
  // It takes the place of an empty folder; a FileError where anything else is there.
  void Commit() const;

 private:
  std::filesystem::path folder_, path_;
  PassingFile passing_;
};

}  // namespace medley

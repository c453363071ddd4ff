#include <medley/base/new_folder.h>

#include <unistd.h>

#include <string>
#include <system_error>

#include <medley/base/durable_file.h>

namespace medley {

namespace fs = std::filesystem;

namespace {

// "out/", as shells complete it, is the folder "out".
fs::path WithoutSlash(const fs::path& folder) {
  const fs::path plain = fs::absolute(folder).lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();
}

}  // namespace

NewFolder::NewFolder(const fs::path& folder)
    : folder_(WithoutSlash(folder)),
      path_(folder_.parent_path() /
            std::string(".").append(folder_.filename().string() + "." + std::to_string(::getpid()))),
      passing_(path_) {
  RemoveAll(path_);
  CreateDirectories(path_);
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void NewFolder::Commit() const {
  SyncDirectory(path_);
  if (TypeOf(folder_) == fs::file_type::directory) fs::remove(folder_);  // an empty one
  RenameNoReplace(path_, folder_);
  SyncDirectory(folder_.parent_path());
}

}  // namespace medley

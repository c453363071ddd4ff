#include <medley/base/new_folder.h>

#include <unistd.h>

#include <string>
#include <system_error>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>

namespace medley {

namespace fs = std::filesystem;

NewFolder::NewFolder(const fs::path& folder)
    : folder_(NormalPath(fs::absolute(folder))),
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

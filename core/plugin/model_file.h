#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/config/config_file.h>
#include <medley/config/key_table.h>
#include <medley/model/model_config.h>
#include <medley/model/model_info.h>
#include <medley/plugin/registry.h>

namespace medley {

// A file of configs/models, read: which model it is of, and with which values.
struct ModelFile {
  ModelInfo info;
  ModelConfig config;
  std::set<std::string> left_out{};  // fields that the file does not give

  // Nothing where the model sees none.
  std::optional<ImageGeometry> Pictures() const;
};

// Reports every mistake to the file's diagnostics; nothing where the kind is not known. `whose`: the keys of
// a pretrained folder.
std::optional<ModelFile> ReadModelFile(ConfigFile& file, const Registry& registry,
                                       KeysOf whose = KeysOf::kUser);
// The published folders that a file names, and at which keys: its language's, then its tower's. Whatever else
// is wrong with the file, and whether they are there, is not looked at.
struct NamedFolder {
  std::string key{};
  std::filesystem::path path{};
  bool is_tower = false;
};
std::vector<NamedFolder> NamedFoldersIn(const ConfigFile& file, const Registry& registry);
// Throws InputError with every mistake of the file.
ModelFile ReadModelFile(const std::filesystem::path& file, const Registry& registry);

}  // namespace medley

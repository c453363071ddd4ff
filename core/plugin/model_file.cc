#include <medley/plugin/model_file.h>

#include <utility>

#include <medley/base/suggest.h>
#include <medley/model/tower_fields.h>
#include <medley/weights/model_config_file.h>

namespace medley {

std::optional<ImageGeometry> ModelFile::Pictures() const {
  if (info.pictures.size.empty()) return std::nullopt;
  return ImageGeometry{.size = config.Integer(info.pictures.size),
                       .patch = config.Integer(info.pictures.patch),
                       .rule = TowerOf(config, info).rule};
}

std::optional<ModelFile> ReadModelFile(ConfigFile& file, const Registry& registry, KeysOf whose) {
  if (file.root() == nullptr) return std::nullopt;  // reported
  const std::string kind = KindOfModel(file);
  if (const ModelInfo* info = registry.FindModel(kind)) {
    ModelFile model{*info, ReadModelConfig(file, *info, whose)};
    for (const FieldInfo& field : info->fields) {
      if (file.Find(SplitPath(field.name)) == nullptr) model.left_out.insert(field.name);
    }
    return model;
  }
  std::vector<std::string> known;
  for (const ModelInfo* info : registry.models()) known.push_back(info->name);
  file.FailAt({"kind"}, kind.empty()
                            ? "expected the name of a model (" + JoinNames(known) + ")"
                            : NoSuchName("model", kind, known) + " (" + registry.SearchedWords() + ")");
  return std::nullopt;
}

std::vector<NamedFolder> NamedFoldersIn(const ConfigFile& file, const Registry& registry) {
  const ModelInfo* info = registry.FindModel(KindOfModel(file));
  std::vector<NamedFolder> folders;
  if (info == nullptr) return folders;
  for (const std::string& group : {info->pretrained.group, info->tower.group}) {
    const JsonNode* folder = group.empty() ? nullptr : file.Find({group, "pretrained"});
    if (folder == nullptr || !folder->IsString() || folder->scalar.get_ref<const std::string&>().empty())
      continue;
    folders.push_back({.key = group + ".pretrained",
                       .path = file.Resolve(*folder),
                       .is_tower = group == info->tower.group});
  }
  return folders;
}

ModelFile ReadModelFile(const std::filesystem::path& path, const Registry& registry) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  std::optional<ModelFile> read = ReadModelFile(file, registry);
  diagnostics.Throw();
  return std::move(*read);
}

}  // namespace medley

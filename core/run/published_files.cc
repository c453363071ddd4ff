#include <medley/run/published_files.h>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/suggest.h>
#include <medley/base/version.h>
#include <medley/config/run_config.h>
#include <medley/weights/pretrained_config.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

bool IsInFolder(const fs::path& file) { return TypeOf(file) != fs::file_type::not_found; }

// That a group of a model's file names; "" where none does.
fs::path PublishedFolderOf(const fs::path& model) {
  Diagnostics ignored;
  const ConfigFile file(model, ignored);
  if (file.root() == nullptr) return {};
  for (const auto& member : file.root()->members) {
    if (!member.value.IsObject()) continue;
    const JsonNode* folder = member.value.Find("pretrained");
    if (folder != nullptr && folder->IsString() && !folder->scalar.get_ref<const std::string&>().empty())
      return file.Resolve(*folder);
  }
  return {};
}

}  // namespace

PublishedFiles PublishedFilesOf(const fs::path& config, const std::vector<std::string>& overrides) try {
  Diagnostics ignored;
  ConfigFile file(config, ignored);
  file.Override(overrides);
  RunConfig run;
  ReadConfig(file, run);
  PublishedFiles files{.folder = PublishedFolderOf(run.model)};
  if (files.folder.empty()) return files;
  files.lacks_tokenizer = run.tokenizer.lexically_normal().parent_path() ==
                              (files.folder / "").lexically_normal().parent_path() &&
                          !IsInFolder(run.tokenizer);
  files.lacks_weights =
      !IsInFolder(files.folder / kPretrainedWeightsFile) && !IsInFolder(files.folder / kPretrainedIndexFile);
  return files;
} catch (const std::exception&) {
  return {};
}

void PublishedFiles::Require() const {
  std::vector<std::string> lacking;
  if (folder.empty()) return;
  if (!IsInFolder(folder / kPretrainedConfigFile)) lacking.emplace_back(kPretrainedConfigFile);
  if (lacks_tokenizer) lacking.emplace_back("tokenizer.json");
  if (lacks_weights)
    lacking.push_back(std::string(kPretrainedWeightsFile) + " (or " + kPretrainedIndexFile +
                      " and its shards)");
  if (lacking.empty()) return;
  throw InputError(DisplayPath(folder) + ": the published folder that the model begins with lacks " +
                   JoinNames(lacking) + ". Put the published files there (docs/flagship.md)");
}

std::string PublishedFiles::CountBySmallModel(std::vector<std::string>& overrides) const {
  if (!lacks_tokenizer) return "";
  const fs::path small = ConfigDirectory() / "tokenizers" / "small.model";
  overrides.push_back("tokenizer=" + small.string());
  overrides.emplace_back("allow_unknown_vocabulary=true");
  return DisplayPath(folder) +
         " has no tokenizer.json: texts have the widths of the tasks' specs here, and their tables are "
         "counted by " +
         DisplayPath(small) + "; medley train needs the file";
}

}  // namespace medley

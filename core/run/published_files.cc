#include <medley/run/published_files.h>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/suggest.h>
#include <medley/base/version.h>
#include <medley/config/run_config.h>
#include <medley/plugin/model_file.h>
#include <medley/weights/pretrained_config.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

bool IsInFolder(const fs::path& file) { return TypeOf(file) != fs::file_type::not_found; }

bool HasConfig(const fs::path& folder) { return IsInFolder(folder / kPretrainedConfigFile); }

bool HasWeights(const fs::path& folder) {
  return IsInFolder(folder / kPretrainedWeightsFile) || IsInFolder(folder / kPretrainedIndexFile);
}

[[noreturn]] void Refuse(const PublishedFiles& files) {
  std::vector<std::string> lacking;
  if (!HasConfig(files.folder)) lacking.emplace_back(kPretrainedConfigFile);
  if (!files.lacks_tokenizer.empty()) lacking.push_back(files.lacks_tokenizer);
  if (!HasWeights(files.folder))
    lacking.push_back(std::string(kPretrainedWeightsFile) + " (or " + kPretrainedIndexFile +
                      " and its shards)");
  throw InputError(DisplayPath(files.folder) + ": the published folder that the model begins with lacks " +
                   JoinNames(lacking) + ". Put the published files there (docs/flagship.md)");
}

}  // namespace

PublishedFiles PublishedFilesOf(const fs::path& config, const RunFiles& files, const Registry& registry) try {
  Diagnostics ignored;
  ConfigFile file(config, ignored);
  file.Override(files.overrides());
  RunConfig run;
  ReadConfig(file, run);
  ConfigFile model(run.model, ignored);
  model.Override(files.of_model());
  PublishedFiles published;
  for (const NamedFolder& named : NamedFoldersIn(model, registry)) {
    if (published.folder.empty() || !HasConfig(named.path)) published.folder = named.path;
  }
  const fs::path vocabulary = run.tokenizer.lexically_normal();
  if (vocabulary.parent_path() == (published.folder / "").lexically_normal().parent_path() &&
      !IsInFolder(vocabulary))
    published.lacks_tokenizer = vocabulary.filename().string();
  return published;
} catch (const std::exception&) {
  return {};
}

void PublishedFiles::Require() const {
  if (!folder.empty() && (!lacks_tokenizer.empty() || !HasConfig(folder))) Refuse(*this);
}

void PublishedFiles::RequireWeights() const {
  if (!folder.empty() && !HasWeights(folder)) Refuse(*this);
}

std::string PublishedFiles::CountBySmallModel(std::vector<std::string>& overrides) const {
  if (lacks_tokenizer.empty()) return "";
  const fs::path small = ConfigDirectory() / "tokenizers" / "small.model";
  overrides.push_back("tokenizer=" + small.string());
  overrides.emplace_back("allow_unknown_vocabulary=true");
  return DisplayPath(folder) + " has no " + lacks_tokenizer +
         ": texts have the widths of the tasks' specs here, and their tables are "
         "counted by " +
         DisplayPath(small) + "; medley train needs the file";
}

}  // namespace medley

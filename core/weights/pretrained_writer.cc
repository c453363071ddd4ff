#include <medley/weights/pretrained_writer.h>

#include <ATen/Functions.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include <medley/base/durable_file.h>
#include <medley/base/printable.h>
#include <medley/base/work_progress.h>
#include <medley/model/adapters.h>
#include <medley/weights/pretrained_files.h>
#include <medley/weights/safetensors.h>

namespace medley {
namespace {

using nlohmann::ordered_json;
using Parameters = std::vector<Parameter>;

const std::map<std::string, std::string> kMetadata = {{"format", "pt"}};

// Tells how many bytes of all files are written, one file behind the other.
class WritingProgress {
 public:
  explicit WritingProgress(double all) : all_(all) {}
  void Wrote(const std::filesystem::path& file, std::size_t bytes) {
    done_ += static_cast<double>(bytes);
    progress_.Say("writing " + Printable(file.filename()), done_, all_);
  }

 private:
  WorkProgress progress_;
  double done_ = 0, all_;
};

double BytesOf(const Parameters& parameters, std::optional<at::ScalarType> type) {
  return static_cast<double>(SafetensorsSize(parameters, kMetadata, type));
}

void Write(const std::filesystem::path& path, const Parameters& parameters,
           std::optional<at::ScalarType> type, WritingProgress& progress) {
  NewFile file(path, SafetensorsSize(parameters, kMetadata, type));
  const auto write = [&](const void* data, std::size_t size) {
    file.Write(data, size);
    progress.Wrote(path, size);
  };
  WriteSafetensors(parameters, kMetadata, write, type);
  file.Commit();
}

std::vector<Parameters> Shards(const Parameters& parameters, at::ScalarType type, std::int64_t most) {
  std::vector<Parameters> shards(1);
  std::int64_t bytes = 0;
  for (const Parameter& parameter : parameters) {
    const std::int64_t more = SafetensorsBytes(parameter.tensor, type);
    if (!shards.back().empty() && bytes + more > most) shards.emplace_back(), bytes = 0;
    shards.back().push_back(parameter);
    bytes += more;
  }
  return shards;
}

std::string ShardName(std::size_t number, std::size_t count) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "model-%05zu-of-%05zu.safetensors", number, count);
  return name.data();
}

void WriteShards(const std::filesystem::path& directory, const std::vector<Parameters>& shards,
                 at::ScalarType type) {
  ordered_json files = ordered_json::object();
  std::int64_t bytes = 0, numbers = 0;
  double all = 0;
  for (const Parameters& shard : shards) all += BytesOf(shard, type);
  WritingProgress progress(all);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = ShardName(i + 1, shards.size());
    Write(directory / name, shards[i], type, progress);
    for (const Parameter& parameter : shards[i]) {
      files[parameter.name] = name;
      bytes += SafetensorsBytes(parameter.tensor, type), numbers += parameter.tensor.numel();
    }
  }
  const ordered_json index = {{"metadata", {{"total_parameters", numbers}, {"total_size", bytes}}},
                              {"weight_map", files}};
  ReplaceFile(directory / kPretrainedIndexFile, index.dump(2) + "\n");
}

// As published LLaVAs have them: transformers 4 reads no others, 5 reads these too.
constexpr const char *kTowerInside = "vision_tower.vision_model.", *kLanguageInside = "language_model.";

// The norm that a tower ends with in transformers, which LLaVA does not look at: one that changes nothing.
void AddClosingNorm(const PublishedRoots& roots, const Parameters& parameters, Parameters& published) {
  const std::string norm = roots.tower + "encoder.layers.0.layer_norm1.weight";
  for (const Parameter& parameter : parameters) {
    if (parameter.name != norm) continue;
    const std::string name = std::string(kTowerInside) + "post_layernorm.";
    published.push_back({name + "weight", at::ones_like(parameter.tensor, at::kCPU)});
    published.push_back({name + "bias", at::zeros_like(parameter.tensor, at::kCPU)});
  }
}

}  // namespace

std::string PublishedRoots::NameOf(const std::string& parameter) const {
  if (!projector.empty() && parameter.starts_with(projector))
    return kProjectorNames + parameter.substr(projector.size());
  if (!tower.empty() && parameter.starts_with(tower)) return kTowerInside + parameter.substr(tower.size());
  const std::string name = PublishedName(parameter, language);
  return tower.empty() || name.empty() ? name : kLanguageInside + name;
}

void WritePretrainedWeights(const std::filesystem::path& directory, const Parameters& parameters,
                            const PublishedRoots& roots, at::ScalarType type, std::int64_t shard_bytes) {
  Parameters language;
  for (const Parameter& parameter : parameters) {
    const std::string name = roots.NameOf(parameter.name);
    if (!name.empty()) language.push_back({name, parameter.tensor});
  }
  if (!roots.tower.empty()) AddClosingNorm(roots, parameters, language);
  const std::vector<Parameters> shards = Shards(language, type, shard_bytes);
  if (shards.size() == 1) {
    WritingProgress progress(BytesOf(language, type));
    Write(directory / kPretrainedWeightsFile, language, type, progress);
  } else {
    WriteShards(directory, shards, type);
  }
  WriteImageWeights(directory, parameters, roots);
}

void WriteImageWeights(const std::filesystem::path& directory, const Parameters& parameters,
                       const PublishedRoots& roots) {
  Parameters others;
  for (const Parameter& parameter : parameters) {
    if (IsAdapter(parameter.name) || !roots.NameOf(parameter.name).empty()) continue;
    others.push_back({parameter.name, parameter.tensor});
  }
  if (others.empty()) return;
  WritingProgress progress(BytesOf(others, std::nullopt));
  Write(directory / kImageWeightsFile, others, std::nullopt, progress);
}

}  // namespace medley

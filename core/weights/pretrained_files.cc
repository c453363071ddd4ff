#include <medley/weights/pretrained_files.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/utf8.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kLargestIndex = 16 << 20;
constexpr std::size_t kMostLines = 1000;
constexpr std::size_t kLongestName = 256;

bool IsThere(const fs::path& file) { return TypeOf(file) != fs::file_type::not_found; }

// A file of the folder itself: an index from a stranger leads nowhere else.
bool IsFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

bool BeginsWithAny(const std::string& name, std::initializer_list<const char*> begins) {
  return std::ranges::any_of(begins, [&](const char* begin) { return name.starts_with(begin); });
}

// `name` without what stands in front of it; "" where it is not there.
std::string Behind(const std::string& name, std::initializer_list<const char*> begins) {
  for (const std::string begin : begins) {
    if (name.starts_with(begin)) return name.substr(begin.size());
  }
  return "";
}

// The name of a tensor that a file calls `name`, as PretrainedFiles has it.
std::string LongName(const std::string& name) {
  if (const std::string rest = Behind(name, {"model.multi_modal_projector."}); !rest.empty())
    return kProjectorNames + rest;
  if (const std::string rest = Behind(name, {"model.vision_tower.vision_model.", "vision_tower.vision_model.",
                                             "model.vision_tower.", "vision_tower.", "vision_model."});
      !rest.empty())
    return kTowerNames + rest;
  if (const std::string rest = Behind(name, {"model.language_model.", "language_model."}); !rest.empty())
    return LongName(rest);
  if (BeginsWithAny(name, {"embed_tokens.", "layers.", "norm."})) return "model." + name;
  const bool is_tower =
      BeginsWithAny(name, {"embeddings.", "encoder.layers.", "pre_layrnorm.", "post_layernorm.", "head."});
  return is_tower ? kTowerNames + name : name;
}

}  // namespace

PretrainedFiles::PretrainedFiles(fs::path directory) : directory_(std::move(directory)) {
  Problems problems;
  if (IsThere(directory_ / kPretrainedWeightsFile)) {
    Open(kPretrainedWeightsFile, problems);
  } else if (IsThere(directory_ / kPretrainedIndexFile)) {
    OpenShards(ReadIndex(directory_ / kPretrainedIndexFile), problems);
  } else {
    throw InputError(DisplayPath(directory_) + " has neither " + kPretrainedWeightsFile + " nor " +
                     kPretrainedIndexFile + "; expected a Hugging Face folder with weights as safetensors");
  }
  if (IsThere(directory_ / kImageWeightsFile)) {
    Open(kImageWeightsFile, problems);
    has_image_ = true;
  }
  ThrowProblems(directory_, problems);
}

const SafetensorsFile::Entry* PretrainedFiles::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second.file->entries().at(found->second.name);
}

at::Tensor PretrainedFiles::Map(const std::string& name) const {
  const Place& place = tensors_.at(name);
  return place.file->Map(place.name);
}

at::Tensor PretrainedFiles::MapFinite(const std::string& name) const {
  const Place& place = tensors_.at(name);
  return place.file->MapFinite(place.name);
}

PretrainedFiles::Index PretrainedFiles::ReadIndex(const fs::path& file) const {
  const auto root = ReadJson<json>(ReadFile(file, kLargestIndex), DisplayPath(file));
  const auto map = root.is_object() ? root.find("weight_map") : root.end();
  if (!root.is_object() || map == root.end() || !map->is_object())
    throw InputError(DisplayPath(file) + ": expected an object with a weight_map, the file of each tensor");
  Index index;
  for (const auto& [name, shard] : map->items()) {
    if (!shard.is_string() || !IsFileName(shard.get<std::string>()))
      throw InputError(DisplayPath(file) + ": weight_map: expected the name of a file beside it for '" +
                       CutText(name, kLongestName) + "'");
    index.emplace(name, shard.get<std::string>());
  }
  return index;
}

void PretrainedFiles::OpenShards(const Index& index, Problems& problems) {
  std::set<std::string> shards;
  for (const auto& [name, shard] : index) shards.insert(shard);
  for (const std::string& shard : shards) Open(shard, problems);
  for (const auto& [name, shard] : index) {
    const auto found = tensors_.find(LongName(name));
    const bool is_in = found != tensors_.end() && found->second.name == name &&
                       found->second.file->path().filename() == shard;
    if (!is_in && IsThere(directory_ / shard))
      problems.push_back(CutText(name, kLongestName) + ": the index says that it is in " + shard +
                         ", which has no such tensor");
  }
  for (const auto& [name, place] : tensors_) {
    if (index.count(place.name) == 0)
      problems.push_back(CutText(place.name, kLongestName) + ": it is in " +
                         place.file->path().filename().string() + ", and not in the index");
  }
}

void PretrainedFiles::Open(const std::string& file, Problems& problems) try {
  const SafetensorsFile& opened = files_.emplace_back(directory_ / file);
  for (const auto& [name, entry] : opened.entries()) {
    const bool is_image = file == kImageWeightsFile;
    const auto [place, is_new] =
        tensors_.emplace(is_image ? name : LongName(name), Place{.file = &opened, .name = name});
    if (is_new) continue;
    const Place& other = place->second;
    problems.push_back(CutText(name, kLongestName) + ": it is in " + other.file->path().filename().string() +
                       (other.name == name ? "" : " as " + CutText(other.name, kLongestName)) + " and in " +
                       file);
  }
} catch (const InputError& error) {
  problems.emplace_back(error.what());
}

std::string PublishedName(const std::string& parameter, const std::string& root) {
  if (!parameter.starts_with(root)) return "";
  const std::string name = parameter.substr(root.size());
  return name.starts_with("model.") || name == "lm_head.weight" ? name : "";
}

bool IsTokenTable(const std::string& published) {
  return published == "model.embed_tokens.weight" || published == "lm_head.weight";
}

void ThrowProblems(const fs::path& directory, const std::vector<std::string>& problems) {
  if (problems.empty()) return;
  std::string text = "the weights in " + DisplayPath(directory) + " cannot be used: ";
  if (problems.size() == 1) throw InputError(text + problems.front());
  text += std::to_string(problems.size()) + " problems";
  for (std::size_t i = 0; i < std::min(problems.size(), kMostLines); ++i) text += "\n  " + problems[i];
  if (problems.size() > kMostLines)
    text += "\n  and " + std::to_string(problems.size() - kMostLines) + " more";
  throw InputError(text);
}

}  // namespace medley

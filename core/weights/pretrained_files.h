#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <medley/weights/pretrained_config.h>
#include <medley/weights/safetensors_file.h>

namespace medley {

// The parameters of a model that are none of its language's, which no other software knows.
inline constexpr const char* kImageWeightsFile = "medley_image.safetensors";

// The tensors of a Hugging Face folder by name, in model.safetensors, or in the shards of its index where
// that file is not there; and in kImageWeightsFile where it is. As in transformers, a folder of the model
// without its head (Qwen3-Embedding) may call them "layers.0..." for "model.layers.0...": here they have the
// long names. A LLaVA's language is called as one alone, its tower and a tower alone
// "vision_tower.embeddings..." and "vision_tower.encoder...", its projector
// "multi_modal_projector.linear_1...", whichever transformers wrote it.
class PretrainedFiles {
 public:
  struct Place {
    const SafetensorsFile* file;
    std::string name;  // in the file
  };
  // Reads headers alone. Throws one InputError with every file that is missing and everything in which index
  // and shards disagree.
  explicit PretrainedFiles(std::filesystem::path directory);

  bool has_image() const { return has_image_; }
  const std::map<std::string, Place>& tensors() const { return tensors_; }
  // Null where there is none of that name.
  const SafetensorsFile::Entry* Find(const std::string& name) const;
  at::Tensor Map(const std::string& name) const;
  at::Tensor MapFinite(const std::string& name) const;

 private:
  using Problems = std::vector<std::string>;
  using Index = std::map<std::string, std::string>;  // the file of each tensor

  Index ReadIndex(const std::filesystem::path& file) const;
  void OpenShards(const Index& index, Problems& problems);
  void Open(const std::string& file, Problems& problems);

  std::filesystem::path directory_;
  std::list<SafetensorsFile> files_;
  std::map<std::string, Place> tensors_;
  bool has_image_ = false;
};

inline constexpr const char *kTowerNames = "vision_tower.", *kProjectorNames = "multi_modal_projector.";

// What the published checkpoint calls a parameter whose name has `root` in front; "" for another part of the
// model.
std::string PublishedName(const std::string& parameter, const std::string& root);

// Whether that is a table with a row for every token.
bool IsTokenTable(const std::string& published);

// "2 problems" and a line each, as an InputError about the folder; nothing where there are none.
void ThrowProblems(const std::filesystem::path& directory, const std::vector<std::string>& problems);

}  // namespace medley

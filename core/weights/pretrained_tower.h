#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <medley/config/key_table.h>
#include <medley/model/blocks/tower_config.h>

namespace medley {

inline constexpr const char* kPreprocessorFile = "preprocessor_config.json";

// The vision tower of a Hugging Face folder, and how pictures come to it.
struct PretrainedTower {
  TowerConfig tower;      // its layers are those that run
  bool in_llava = false;  // a projector is in the folder, and a token stands for a picture
  // The file that says how pictures are prepared; "": it is as the tower's class does by default.
  std::string rule_file{};

  bool has_rule() const { return !rule_file.empty(); }
};
// Whether a folder's config.json is of a class that has a tower; what is in it may be refused all the same.
bool SaysItHasATower(const std::filesystem::path& directory);
// That file of a folder; "" where it has neither.
std::filesystem::path RuleFileIn(const std::filesystem::path& directory);

// Reads DIR/config.json of a LLaVA, of a CLIP or a SigLIP whole, or of the vision tower of one, and
// DIR/preprocessor_config.json (or the image_processor of processor_config.json). What runs is what LLaVA
// takes: of a LLaVA the layers that its vision_feature_layer says; of a CLIP all but the last one, of a
// SigLIP all. Throws one InputError with every mistake, with everything that a VisionTower cannot do, and
// with every key that medley does not know, but for `ignored_keys`.
PretrainedTower ReadPretrainedTower(const std::filesystem::path& directory,
                                    const std::vector<std::string>& ignored_keys = {},
                                    KeysOf whose = KeysOf::kUser);

// The config.json of a LLaVA of the tower and of a language, whose config `text` is; transformers reads it,
// and ReadPretrainedTower to the same tower. `dtype`: of the weights, as torch calls it.
nlohmann::ordered_json LlavaJson(const TowerConfig& tower, nlohmann::ordered_json text,
                                 const std::string& dtype);
// Its preprocessor_config.json.
nlohmann::ordered_json PreprocessorJson(const TowerConfig& tower);

}  // namespace medley

#pragma once

#include <string>

#include <medley/config/option_value.h>
#include <medley/model/blocks/tower_config.h>
#include <medley/model/model_config.h>
#include <medley/model/model_info.h>

namespace medley {

// What the fields of a spec's tower say, as kTowerFields names them, or of its layers alone; one of no kind
// where it has none.
TowerConfig TowerOf(const ModelConfig& config, const ModelInfo& info);
// The same by the names of the group and of the fields of a picture's and a patch's sides.
TowerConfig TowerOf(const ModelConfig& config, const std::string& group, const std::string& size,
                    const std::string& patch);
// Of its layers alone: kTowerLayerFields.
TowerConfig TowerLayersOf(const ModelConfig& config, const std::string& group);
// The group's fields; those of the pictures' sizes are none of it.
OptionValues FieldsOf(const TowerConfig& tower);

// The names of the values in fields, as TowerKind and Activation count.
std::string WordOf(TowerKind kind);
std::string WordOf(Activation activation);

}  // namespace medley

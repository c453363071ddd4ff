#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/model/blocks/tower_config.h>
#include <medley/model/blocks/tower_training.h>
#include <medley/model/model.h>

namespace medley {

// The shape of a forward of a VisionTower over one picture of each row.
struct TowerShape {
  std::int64_t rows = 1;
  std::int64_t positions = 0;     // of TowerLayers alone; 0: those of the tower
  std::int64_t number_bytes = 4;  // of the parameters' type
  bool goes_wide = false;         // products are made of copies in float (model/products.h)
  bool with_graph = true, on_gpu = false;
  bool carried = false;  // the picture has a gradient itself
};

// The parts of a VisionTower and of the Projector behind it, of the width `hidden`, in numbers of the
// parameters' type (blocks/footprint.h). What the projector gives stays until the forward ends. `tower` and
// `projector` are in front of the published names.
std::vector<ForwardPart> Footprint(const TowerConfig& config, const std::string& tower,
                                   const std::string& projector, std::int64_t hidden, const TowerShape& shape,
                                   const TowerTraining& training);
// Those of TowerLayers alone, whose input has a gradient where `training.patch`.
std::vector<ForwardPart> LayersFootprint(const TowerConfig& config, const std::string& root,
                                         const TowerShape& shape, const TowerTraining& training);

}  // namespace medley

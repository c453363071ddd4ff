#include <medley/run/starting_weights.h>

#include <medley/weights/pretrained_tower.h>

namespace medley {

PretrainedWeights::Setting StartingWeightsOf(const ModelFile& file, const std::vector<std::string>& missing,
                                             const std::vector<std::string>& unexpected) {
  const ModelConfig& config = file.config;
  PretrainedWeights::Setting setting{.directory = config.pretrained(),
                                     .root = file.info.pretrained.root,
                                     .rows = 0,
                                     .allow_missing = missing,
                                     .allow_unexpected = unexpected};
  if (!config.pretrained().empty()) setting.rows = config.Integer(file.info.pretrained.group + ".vocabulary");
  if (config.pretrained_tower().empty()) return setting;
  const PretrainedTower tower = ReadPretrainedTower(config.pretrained_tower(), config.tower_ignored_keys());
  setting.tower = {.directory = config.pretrained_tower(),
                   .root = file.info.tower.root,
                   .projector = file.info.tower.projector,
                   .projects = tower.in_llava && !file.info.tower.projector.empty(),
                   .layers_only = file.info.tower.layers_only};
  return setting;
}

}  // namespace medley

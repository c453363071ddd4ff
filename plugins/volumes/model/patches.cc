#include <ATen/core/Tensor.h>

#include <utility>

#include "model/volumes.h"

namespace medley_volumes {

Patches::Patches(medley::ParameterSet& set, const std::string& name, const Setting& setting)
    : setting_(setting),
      project_(set, name + ".project", setting.features(), setting.width, true),
      positions_(set.Normal(name + ".positions", {1, setting.tokens(), setting.width}, 0.1)) {}

at::Tensor Patches::Cut(const at::Tensor& scans) const {
  const std::int64_t p = setting_.patch, s = setting_.step, along = setting_.side / p;
  return scans.reshape({scans.size(0), setting_.frames / s, s, along, p, along, p, along, p})
      .permute({0, 1, 3, 5, 7, 2, 4, 6, 8})
      .reshape({scans.size(0), setting_.tokens(), setting_.features()});
}

at::Tensor Patches::operator()(const at::Tensor& scans) const { return project_(Cut(scans)).add(positions_); }

}  // namespace medley_volumes

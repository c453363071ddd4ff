#include <algorithm>
#include <utility>

#include <medley/model/blocks/footprint.h>
#include <medley/model/blocks/tower_footprint.h>

#include "model/volumes.h"

// What each part keeps was counted tensor by tensor; tests/model_test compares it with what a forward takes.
namespace medley_volumes {

using medley::ForwardPart;

// Patches and what they become; the tower; its norm and the projector.
void Volumes::AddScanParts(std::vector<ForwardPart>& parts, const Patches& patches, const std::string& name,
                           std::int64_t scans, const medley::ForwardShape& shape) const {
  if (scans == 0) return;
  const Patches::Setting& setting = patches.setting();
  const std::int64_t number_bytes = NumberBytes();
  const std::int64_t tokens = scans * setting.tokens(), width = tower_setting_.width,
                     hidden = language_config_.hidden;
  const auto add = [&](ForwardPart part, const std::string& parameters, std::int64_t output) {
    if (!shape.with_graph) part = medley::WithoutGraph(std::move(part), output);
    part.parameters = parameters;
    parts.push_back(std::move(part));
  };
  add({.kept = scans * setting.voxels(), .forward = 2 * tokens * width, .backward = tokens * width},
      name + ".", 0);
  for (std::size_t i = 0; i < tower_.size(); ++i) {
    for (ForwardPart& part :
         medley::Footprint(tower_setting_, "tower." + std::to_string(i), static_cast<int>(i),
                           {.rows = scans,
                           .positions = setting.tokens(),
                           .number_bytes = number_bytes,
                           .with_graph = shape.with_graph,
                           .on_gpu = shape.on_gpu}))
      parts.push_back(std::move(part));
  }
  if (published_) {
    medley::TowerTraining training;
    published_->AddTo(training);
    for (ForwardPart& part :
         medley::LayersFootprint(published_config_, std::string(kSpec.tower.root),
                                 {.rows = scans,
                                 .positions = setting.tokens(),
                                 .number_bytes = number_bytes,
                                 .goes_wide = medley::FloatTypeOf(*this) == at::kHalf && !shape.on_gpu,
                                 .with_graph = shape.with_graph,
                                 .on_gpu = shape.on_gpu},
                                 training))
      parts.push_back(std::move(part));
  }
  const std::int64_t statistics =
      medley::Floats(2 * tokens + (medley::IsHalf(number_bytes) ? 2 * width : 0), number_bytes);
  add({.kept = tokens * 2 * width + statistics, .backward = tokens * width}, "tower_norm", tokens * width);
  add({.kept = tokens * 2 * hidden, .forward = tokens * hidden, .backward = tokens * 2 * hidden},
      "projector.", tokens * hidden);
}

std::int64_t Volumes::NumberBytes() const {
  return static_cast<std::int64_t>(c10::elementSize(medley::FloatTypeOf(*this)));
}

std::vector<ForwardPart> Volumes::Footprint(const medley::ForwardShape& shape) const {
  std::vector<ForwardPart> parts;
  const std::int64_t volumes = shape.Size("volumes"), series = shape.Size("series"),
                     width = shape.Size("text_width"), hidden = language_config_.hidden;
  AddScanParts(parts, volume_, "patches.volume", volumes, shape);
  AddScanParts(parts, series_, "patches.series", series, shape);
  // The words, and their copy that has the scans in it; places.
  const std::int64_t scan_tokens = volumes * volume_.setting().tokens() + series * series_.setting().tokens();
  parts.push_back({.kept = medley::InNumbers(
                       8 * (scan_tokens + shape.rows * width + shape.Size("supervised")), NumberBytes()),
                   .forward = 2 * shape.rows * width * hidden + scan_tokens * hidden,
                   .backward = 2 * shape.rows * width * hidden + scan_tokens * hidden});
  if (!shape.with_graph) {  // what the first layer is given waits for the last one
    parts.back() = medley::WithoutGraph(parts.back(), parts.back().kept);
    parts.back().kept += shape.rows * width * hidden;
  }
  parts.back().parameters = "language.model.embed_tokens.";
  for (ForwardPart& part : medley::Footprint(language_config_, vocabulary_, "language.",
                                             {.rows = shape.rows,
                                             .width = width,
                                             .number_bytes = NumberBytes(),
                                             .mixed = scan_tokens > 0,
                                             .supervised = shape.Size("supervised"),
                                             .with_graph = shape.with_graph,
                                             .on_gpu = shape.on_gpu},
                                             language_.training()))
    parts.push_back(std::move(part));
  medley::InBytes(parts, parameters());
  return parts;
}

}  // namespace medley_volumes

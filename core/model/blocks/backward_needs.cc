#include <medley/model/blocks/backward_needs.h>

#include <algorithm>
#include <numeric>

#include <medley/model/blocks/footprint.h>

namespace medley {

std::int64_t Keeps::Norm(bool input, bool weight, std::int64_t width, std::int64_t scales) const {
  if (!IsHalf(number_bytes_)) return If(input, scales) + If(weight, width);
  return If(input || weight, Floats(scales, number_bytes_)) + If(weight && !input, width);
}

std::int64_t Keeps::Adapters(std::initializer_list<std::int64_t> numbers) const {
  return with_graph_ ? std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0}) : std::max(numbers);
}

std::int64_t KeyNumbers(const LanguageConfig& config, const LanguageTraining::Layer& layer,
                        const Keeps& keeps, const HasGradient& has) {
  const std::int64_t keys = config.kv_heads * config.head_dim;
  std::int64_t of_norm = 0;
  if (config.qk_norm) of_norm = If(has.k, keys) + keeps.Norm(has.k, layer.k_norm, keys, config.kv_heads);
  return of_norm + keeps.Adapters({keeps.Adapter(layer.k, config.hidden, has.seen),
                                   keeps.Adapter(layer.v, config.hidden, has.seen)});
}

LanguageTraining AllTrained(const LanguageTraining& training) {
  LanguageTraining all{.layers = std::vector<LanguageTraining::Layer>(training.layers.size()),
                       .tokens = training.tokens,
                       .dropout = training.dropout};
  for (std::size_t i = 0; i < training.layers.size(); ++i) {
    const auto ranks = [&](LanguageTraining::Map LanguageTraining::Layer::*map) {
      (all.layers[i].*map).rank = (training.layers[i].*map).rank;
    };
    using Layer = LanguageTraining::Layer;
    for (const auto map :
         {&Layer::q, &Layer::k, &Layer::v, &Layer::o, &Layer::gate, &Layer::up, &Layer::down})
      ranks(map);
  }
  return all;
}

std::int64_t SharedKeyNumbers(const LanguageConfig& config, const LanguageTraining& training,
                              std::size_t layer, std::int64_t number_bytes) {
  const LanguageTraining::Layer& trained = training.layers[layer];
  const Keeps keeps(training, number_bytes, /*with_graph=*/true);
  return keeps.Norm(true, trained.input_norm, config.hidden, 1) +
         If(keeps.Input(trained.k, trained.v), config.hidden) +
         KeyNumbers(config, trained, keeps, HasGradient(trained, true, true));
}

}  // namespace medley

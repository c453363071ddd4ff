#pragma once

#include <filesystem>
#include <vector>

#include <medley/model/blocks/language.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_weights.h>

namespace medley::test {

// The language of a folder, as a run reads it.
class Published {
 public:
  Published(const std::filesystem::path& folder, std::int64_t positions)
      : config_(ReadPretrainedConfig(folder)),
        weights_({.directory = folder, .root = "", .rows = config_.language.vocabulary}, Shapes(positions)),
        set_(0, at::kCPU, {}, &weights_.given()),
        language_(set_, config_.language, config_.language.vocabulary, positions) {
    weights_.Fill(set_.list(), {});
  }

  void To(at::ScalarType dtype) { set_.To(at::kCPU, dtype), language_.To(at::kCPU, dtype); }
  // [rows, width] -> [rows, width, vocabulary]; padded at the end
  at::Tensor LogitsOf(const at::Tensor& tokens) const {
    ForwardContext context;
    return language_.Logits(language_.Hidden(language_.Embed(tokens), {}, context));
  }
  const Language& language() const { return language_; }
  const std::vector<Parameter>& parameters() const { return set_.list(); }

 private:
  std::vector<Parameter> Shapes(std::int64_t positions) const {
    ParameterSet shapes(0, at::kMeta);
    const Language language(shapes, config_.language, config_.language.vocabulary, positions);
    return shapes.list();
  }

  PretrainedConfig config_;
  PretrainedWeights weights_;
  ParameterSet set_;
  Language language_;
};

}  // namespace medley::test

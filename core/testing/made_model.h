#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/model/model_context.h>
#include <medley/testing/checks.h>

namespace medley::check {

// A model without a run config: fresh, and with some values of its file changed.
template <typename Net>
class Made {
 public:
  using Values = std::vector<std::pair<std::string, OptionValue>>;

  // The tokenizer outlives it.
  explicit Made(const Values& values = {}, at::Device device = at::kCPU, const Tokenizer* tokenizer = nullptr)
      : config_(ConfigOf(Net::kSpec, values)),
        model_(std::make_unique<Net>(ModelContext(config_, 1, device, tokenizer))) {}
  Net& operator*() const { return *model_; }
  Net* operator->() const { return model_.get(); }

  const ModelConfig& config() const { return config_; }
  // Numbers in those parameters whose names begin so.
  std::int64_t parameters(std::string_view prefix = "") const {
    std::int64_t count = 0;
    for (const Parameter& parameter : model_->parameters()) {
      if (parameter.name.starts_with(prefix)) count += parameter.tensor.numel();
    }
    return count;
  }

 private:
  ModelConfig config_;
  std::unique_ptr<Net> model_;
};

}  // namespace medley::check

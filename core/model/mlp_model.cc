#include <medley/model/mlp_model.h>

#include <ATen/ops/cat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/model/blocks/footprint.h>

namespace medley {
namespace {

// Of a row: numbers, or fields of the model's config.
std::vector<std::int64_t> SizesOfRow(const ModelSpec& spec, const TensorSpec& tensor,
                                     const ModelConfig& config) {
  std::vector<std::int64_t> sizes;
  for (const std::string_view dimension : tensor.dimensions) {
    if (dimension == "rows") continue;
    std::int64_t& size = sizes.emplace_back(0);
    if (config.Has(dimension)) {
      size = config.Integer(dimension);
      continue;
    }
    const auto [end, error] = std::from_chars(dimension.begin(), dimension.end(), size);
    if (error == std::errc() && end == dimension.end() && size > 0) continue;
    throw Error("the model '" + std::string(spec.name) + "' is an MLP, whose '" + std::string(tensor.name) +
                "' has numbers as dimensions behind its rows; its spec has '" + std::string(dimension) + "'");
  }
  return sizes;
}

std::int64_t Product(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::string LayerName(std::size_t layer) { return "layers." + std::to_string(layer); }

}  // namespace

MlpModel::MlpModel(const ModelSpec& spec, const ModelContext& context)
    : ParameterModel(spec, context), width_(context.config.Integer("width")) {
  for (const TensorSpec& input : spec.inputs) inputs_ += Product(SizesOfRow(spec, input, context.config));
  const auto layers = static_cast<std::size_t>(context.config.Integer("layers"));
  for (std::size_t i = 0; i < layers; ++i)
    layers_.emplace_back(set(), LayerName(i), i == 0 ? inputs_ : width_, width_, true, std::sqrt(2.0));
  for (std::size_t i = 1; i < layers; ++i) set().Hidden(LayerName(i) + ".");
  for (const TensorSpec& output : spec.outputs) {
    const std::string name(output.name);
    const std::vector<std::int64_t> sizes = SizesOfRow(spec, output, context.config);
    const std::int64_t width = Product(sizes);
    heads_.emplace(name, Head{width, sizes, Linear(set(), name, width_, width, true)});
  }
}

at::Tensor MlpModel::Flat(const ModelInputs& inputs) const {
  std::vector<at::Tensor> all;
  for (const TensorSpec& input : spec().inputs) {
    const at::Tensor& tensor = InputNamed(inputs, input.name);
    all.push_back(tensor.reshape({tensor.size(0), -1}).to(FloatTypeOf(*this)));
  }
  return all.size() == 1 ? all.front() : at::cat(all, 1);
}

ModelOutputs MlpModel::Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                               ForwardContext& context) const {
  at::Tensor x = Flat(inputs);
  for (std::size_t i = 0; i < layers_.size(); ++i)
    x = context.Layer("layers", static_cast<int>(i), x,
                      [layer = layers_[i]](const at::Tensor& in) { return layer(in).relu(); });
  ModelOutputs outputs;
  for (const std::string_view name : wanted) {
    const auto found = heads_.find(name);
    if (found == heads_.end())
      throw Error("the model '" + std::string(spec().name) + "' has no output '" + std::string(name) +
                  "' (it has: " + Listed(heads_) + ")");
    const Head& head = found->second;
    std::vector<std::int64_t> shape = head.sizes;
    shape.insert(shape.begin(), x.size(0));
    outputs.emplace(name, head.map(x).view(shape));
  }
  return outputs;
}

// A layer keeps its input, and what its ReLU gives is the next one's.
std::vector<ForwardPart> MlpModel::Footprint(const ForwardShape& shape) const {
  const std::int64_t number_bytes = parameters().front().tensor.element_size();
  const bool copies = spec().inputs.size() > 1 || IsHalf(number_bytes);
  const std::int64_t wide = shape.rows * width_, flat = copies ? shape.rows * inputs_ : 0;
  std::vector<ForwardPart> parts;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::int64_t in = i == 0 ? flat : wide;
    ForwardPart part{.forward = 2 * wide + (shape.with_graph ? 0 : in), .product = wide};
    if (shape.with_graph) part.kept = part.layer_input = in, part.backward = 3 * std::max(wide, in);
    part.parameters = LayerName(i) + ".";
    part.layer = static_cast<int>(i);
    parts.push_back(part);
  }
  for (const auto& [name, head] : heads_) {
    if (!shape.outputs.empty() && shape.outputs.count(name) == 0) continue;
    const std::int64_t in = parts.size() == layers_.size() ? wide : 0, out = shape.rows * head.width;
    ForwardPart part{.kept = out + (shape.with_graph ? in : 0),
                     .forward = shape.with_graph ? 0 : in,
                     .backward = shape.with_graph ? 2 * wide + out : 0,
                     .product = out};
    part.parameters = name + ".";
    parts.push_back(part);
  }
  InBytes(parts, parameters());
  return parts;
}

}  // namespace medley

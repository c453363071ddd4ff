#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/model/blocks/language_config.h>
#include <medley/model/blocks/language_training.h>
#include <medley/model/blocks/transformer_layer.h>
#include <medley/model/model.h>

namespace medley {

// What the blocks add to a model's Footprint. Parts are in numbers of the parameters' type until InBytes.

// What a part leaves without a graph: its output, and nothing else.
ForwardPart WithoutGraph(ForwardPart part, std::int64_t output);
// Bytes, rounded up to numbers of so many bytes: dropout's masks.
std::int64_t InNumbers(std::int64_t bytes, std::int64_t number_bytes);
// Whether numbers of so many bytes are of a half type.
constexpr bool IsHalf(std::int64_t number_bytes) { return number_bytes < 4; }
// Counts numbers in float at least in numbers of so many bytes: two of a half type for each.
std::int64_t Floats(std::int64_t count, std::int64_t number_bytes);
// Numbers become bytes, and each part gets the gradients of the parameters that it names: those that begin
// so.
void InBytes(std::vector<ForwardPart>& parts, const std::vector<Parameter>& parameters);

// The shape of a forward of a TransformerLayer.
struct LayerShape {
  std::int64_t rows = 1, positions = 0;
  std::int64_t context = 0;       // positions of it, where the layer crosses
  bool masked = false;            // eager attention is handed a mask
  std::int64_t number_bytes = 4;  // of the parameters' type
  bool with_graph = true, on_gpu = false;
};
// The parts of TransformerLayer(set, name, setting), of layer `index` of a stack that ForwardContext::Layer
// runs. A context's own bytes are not counted.
std::vector<ForwardPart> Footprint(const TransformerLayer::Setting& setting, const std::string& name,
                                   int index, const LayerShape& shape);

// The shape of a forward of a Language.
struct TextShape {
  std::int64_t rows = 1, width = 0;
  std::int64_t number_bytes = 4;  // of the parameters' type
  bool mixed = false;  // there is more in the first layer's input than words, and it has a gradient
  std::int64_t prefix = 0, shared = 0;  // positions in front of it; of these, shared beside the layers
  std::int64_t supervised = 0;          // items of logits or losses, of all rows
  bool logits = true, losses = false;   // which of them are made; losses of logits where both are
  bool selects = true;                  // TextInput::selected is given: the last layer ends with the items
  std::int64_t ends = 0;                // where it selects others than the items, of which they are some
  std::int64_t cached = 0;              // as in ForwardShape
  bool embeds_more = false;             // the table is also looked up elsewhere
  bool with_graph = true, on_gpu = false;
};
// The parts of a Language: words, layers ("text"), final norm, and logits where there are items.
std::vector<ForwardPart> Footprint(const LanguageConfig& config, std::int64_t vocabulary,
                                   const std::string& root, const TextShape& shape,
                                   const LanguageTraining& training);
// Numbers, of so many bytes, that a layer keeps of a position whose keys and values it shares, beside these.
std::int64_t SharedKeyNumbers(const LanguageConfig& config, const LanguageTraining& training,
                              std::size_t layer, std::int64_t number_bytes);
// Numbers, of so many bytes, that say on the CPU where keys of so many positions stand.
std::int64_t KeyTurns(const LanguageConfig& config, std::int64_t positions, std::int64_t number_bytes);

}  // namespace medley

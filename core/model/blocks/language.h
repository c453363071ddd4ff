#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include <medley/model/blocks/adapter_drops.h>
#include <medley/model/blocks/attention.h>
#include <medley/model/blocks/item_losses.h>
#include <medley/model/blocks/language_config.h>
#include <medley/model/blocks/language_training.h>
#include <medley/model/blocks/operators.h>
#include <medley/model/blocks/row_changes.h>
#include <medley/model/parameter_set.h>

namespace medley {

// Keys and values of texts that grow: slot p holds position p, prefix included. A slot behind the end of a
// row's text holds anything; it is hidden until the token that comes to stand there overwrites it.
struct TextCache {
  std::int64_t positions = 0;            // slots
  std::vector<at::Tensor> keys, values;  // by layer, [rows, kv heads, positions, head dim]
};

// Keys and values of one layer, piece by piece: each [rows, kv heads, length, head dim].
struct KeysAndValues {
  std::vector<at::Tensor> keys, values;
};

// What every text layer of one forward sees besides its input.
struct TextInput {
  std::vector<KeysAndValues> shared{};  // by layer, of the front of the prefix; empty: none is made yet
  std::int64_t shared_length = 0;       // positions of it
  at::Tensor prefix;  // the rest [rows, length, hidden], or undefined; the same for all layers, not updated
  std::vector<PrefixPiece> pieces{};  // of the rest; none: it is one without a key
  at::Tensor selected;         // [items] int64 flat positions whose hidden states are wanted; undefined: all
  TextCache* cache = nullptr;  // filled where given, for Continue; without gradients only

  std::int64_t prefix_length() const { return shared_length + (prefix.defined() ? prefix.size(1) : 0); }
};

// A decoder of the Qwen3, Qwen2 or Llama architecture with the names of published checkpoints. A text sees
// itself from left to right, and a prefix where there is one (the agent's images): that is projected straight
// into the keys and values of every layer, and sees nothing.
class Language {
 public:
  // `vocabulary`: rows of the embedding table. The longest prefix and text together are `positions`. `root`
  // is in front of the published names.
  Language(ParameterSet& set, const LanguageConfig& config, std::int64_t vocabulary, std::int64_t positions,
           const std::string& root = "");

  // Adds to what the text sees the keys and values that all layers make of a piece of the prefix: fn() ->
  // [rows, `length`, hidden]. They are shared as `key`; fn is called where they are not there yet.
  void Share(const std::string& key, std::int64_t length, const ForwardContext::Fn& fn, TextInput& text,
             ForwardContext& context) const;

  // ids [...] -> [..., hidden]
  at::Tensor Embed(const at::Tensor& ids) const;
  // [rows, length, hidden] -> states after the final norm: the same shape, or [items, hidden] where selected.
  at::Tensor Hidden(at::Tensor x, const TextInput& text, ForwardContext& context) const;
  // One more token of each row: x [rows, hidden], at `positions` [rows] int64, all below `end` -> its state
  // after the final norm, [rows, hidden]. The same as Hidden of the whole text, but for rounding.
  at::Tensor Continue(const at::Tensor& x, const at::Tensor& positions, std::int64_t end,
                      TextCache& cache) const;
  // [..., hidden] -> [..., vocabulary], at least in float
  at::Tensor Logits(const at::Tensor& hidden) const;
  // Cross-entropies of [items, hidden], at least in float: [items]. No more logits are there at a time than
  // LanguageConfig::loss_bytes says, and plain operators make them where those of all items fit.
  at::Tensor Losses(const at::Tensor& hidden, const LossTargets& targets) const;

  // What the backward needs, as it is now.
  LanguageTraining training() const;
  at::Device device() const { return embedding_.device(); }
  std::int64_t positions() const { return rope_.cos.size(0); }
  std::int64_t TableBytes() const;  // of positions
  KernelShapes Kernels() const;
  void To(at::Device device, at::ScalarType dtype);

 private:
  struct Layer {
    at::Tensor input_norm, post_norm, q_norm, k_norm;  // the last two undefined without qk_norm
    Linear q, k, v, o, gate, up, down;
  };

  // The places of queries and keys, and which of them see each other; the same for all layers.
  struct Places {
    AttentionMask mask;
    RopeTables query_turns, key_turns;
  };
  // The next token of each row: it sees the slots [0, end) under the mask [rows, 1, 1, end].
  struct NextToken {
    at::Tensor positions;
    std::int64_t end;
    Places places;
  };

  // 0 without an adapter of the map.
  double DropoutOf(const Linear& map) const { return map.rank() > 0 ? dropout_ : 0; }
  AdapterDrops DropsOf(std::size_t index, const TextInput& text, ForwardContext& context) const;
  at::Tensor ProductLogits(const at::Tensor& hidden) const;  // of a half type where nothing is added to them
  RopeTables Turns(std::int64_t begin, std::int64_t end, std::int64_t heads) const;
  Places PlacesOf(const TextInput& text, std::int64_t width, const at::TensorOptions& options) const;
  at::Tensor Heads(const at::Tensor& x) const;  // [rows, n, kv heads * d] -> [rows, kv heads, n, d]
  // Queries or keys, normalised where the config says so, and turned.
  at::Tensor Turned(const at::Tensor& x, const at::Tensor& norm, const RopeTables& turns) const;
  at::Tensor Attend(std::size_t index, const at::Tensor& x, const TextInput& text, const Places& places,
                    const AdapterDrops& drops) const;
  NextToken Next(const at::Tensor& positions, std::int64_t end, const at::TensorOptions& options) const;
  at::Tensor AttendNext(std::size_t index, const at::Tensor& x, const NextToken& next,
                        TextCache& cache) const;
  // `row`: of each of the positions, where not all of them are computed.
  at::Tensor FeedForward(const Layer& layer, const at::Tensor& attended, const at::Tensor& residual,
                         const AdapterDrops& drops = {}, const at::Tensor& row = {}) const;
  at::Tensor RunLayer(std::size_t index, const at::Tensor& x, const TextInput& text, const Places& places,
                      const AdapterDrops& drops) const;

  LanguageConfig config_;
  at::Tensor embedding_, head_, final_norm_;
  RowChanges embedding_changes_, head_changes_;
  double dropout_ = 0;  // of what goes into adapters
  std::vector<Layer> layers_;
  RopeTables rope_, turns_;  // `turns_`: of all positions on a GPU, which repeats them for no head
};

}  // namespace medley

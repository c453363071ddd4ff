#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/rows.h>
#include <medley/model/kernel_shapes.h>
#include <medley/model/model_spec.h>

namespace medley {

// One input of a forward. Names may repeat ("images": oldest first, the current one last).
struct ModelInput {
  std::string name;
  at::Tensor tensor;
  std::string key;  // two inputs with one key are the same tensor: their encodings may be shared; "": unknown
};
using ModelInputs = std::vector<ModelInput>;
// The tensor of that name; null where there is none.
const at::Tensor* FindInput(const ModelInputs& inputs, std::string_view name);
// An Error that lists those that were handed in where there is none.
const at::Tensor& InputNamed(const ModelInputs& inputs, std::string_view name);
using ModelOutputs = std::map<std::string, at::Tensor, std::less<>>;
using WantedOutputs = std::vector<std::string_view>;

// What the executor lends a model during one forward.
class ForwardContext {
 public:
  using Fn = std::function<at::Tensor()>;
  virtual ~ForwardContext();

  // Runs layer `index` of a stack: x -> fn(x). Here the executor checkpoints; fn must own what it uses and
  // may run again.
  virtual at::Tensor Layer(std::string_view stack, int index, const at::Tensor& x,
                           const std::function<at::Tensor(const at::Tensor&)>& fn);
  // The value of fn, made once for a key in the micro-batch where that is possible. Never inside Layer.
  virtual at::Tensor Shared(const std::string& key, const Fn& fn);
  // Whether to make what layers make of that input alone beside them, through Shared: where several passes of
  // one graph read it. It is then kept for the backward, also where layers run again.
  virtual bool SharesBesideLayers(const std::string& key) const;
  // The seed of a site of the pass, or of the encoding around it: the same for all rows of the task. What is
  // random in row i of a forward takes CombineSeeds(Seed(site), Rows().begin + i), so that it depends on
  // neither micro-batch nor mode.
  virtual std::uint64_t Seed(std::string_view site);
  // The same of the encoding with that key, whichever pass makes it, and whether it is shared or not.
  virtual std::uint64_t SeedOf(const std::string& key, std::string_view site);
  // The rows of this forward; none outside of training.
  virtual RowRange Rows() const;
};

// How much of each size a forward has, by its name: of the widest row, of a ragged size that of all rows.
using ForwardSizes = std::map<std::string, std::int64_t, std::less<>>;

// A tensor of a model, or of an optimizer, by its name; a handle.
struct Parameter {
  std::string name;
  at::Tensor tensor;  // a leaf
  // What it was called before; "": never otherwise. Checkpoints of then are read, patterns match both, and
  // what is drawn for it depends on that name.
  std::string former_name{};
  bool frozen = false;  // by the model: no group trains it
  // The matrix of a hidden layer, or a kernel that is one as [out, the rest]: what Muon is for. Not a map of
  // the model's inputs or outputs, an embedding, a norm, a bias or an adapter.
  bool hidden = false;
};

// How a reply is made, token by token.
struct GenerateOptions {
  std::int64_t max_new_tokens = 16;
  double temperature = 0;  // 0: greedy
  // Drawn is one of the likeliest tokens, as few as have this much of the probability together.
  double top_p = 1;
  std::uint64_t seed = 0;
  bool decode_image = false;
  // One a row: what is random in a row hangs on its own and the token's place in the reply, and so on no row
  // beside it. Empty: of `seed` and the row's place.
  std::vector<std::uint64_t> seeds{};
  std::vector<std::int64_t> most{};  // of each row, the most new tokens, up to the above; empty: as many
  std::vector<std::int64_t> ends{};  // tokens that end a reply, beside the model's own <eos>
  bool log_probabilities = false;    // whether to tell them
  // Whether what the layers made of a text is kept while it grows; else it is made again for each token.
  bool cache = true;
  // Called behind each token with the replies so far, whose tokens and ends are there; false: no more.
  std::function<bool(const struct Generated& so_far)> on_token{};
};

// What a model wrote and drew.
struct Generated {
  std::vector<std::vector<std::int64_t>> tokens;  // of each row, without prompt, what ended it and pads
  at::Tensor image;                               // [rows, 3, size, size] where asked for
  std::vector<std::int64_t> ends{};  // [rows] the token that ended a reply; -1: none did, it was cut
  // [rows] where asked for: natural, of the reply with what ended it, as the model has them without
  // temperature and top_p.
  std::vector<double> log_probabilities{};
  bool stopped = false;  // by on_token
};

// The shape of a forward, for the estimate of its bytes.
struct ForwardShape {
  std::int64_t rows = 1;
  ForwardSizes sizes{};             // of the model's spec
  std::set<std::string> outputs{};  // that are wanted
  std::int64_t shared = 0;  // the first so many keyed inputs, of which more is shared than an encoding
  std::set<std::int64_t> carried{};  // those that have a gradient themselves, counted from 0
  bool with_graph = true;
  bool on_gpu = false;  // other kernels, which keep other things
  // Positions of text, and of what stands before it, of which something is kept for tokens to come; 0: none.
  std::int64_t cached = 0;

  // 0 where there is none of it.
  std::int64_t Size(std::string_view name) const;
};

// Attention in a part of a forward: its kernels take something beside what they read and give.
struct AttentionShape {
  std::int64_t rows = 0, heads = 1, kv_heads = 1, head_dim = 0;
  std::int64_t queries = 0, seen = 0;  // positions of a row
  bool fused = true;                   // no scores of all positions at once
  // Of what the part has, what is made only behind it: there is that much room.
  std::int64_t later = 0;
};

// A stretch of a forward and the bytes that it costs, inputs and parameters not counted. The parts of a
// forward stand in the order in which they run; the backward goes through them from the last to the first.
struct ForwardPart {
  std::int64_t kept = 0;       // from here until its backward is over; without a graph until the forward ends
  std::int64_t forward = 0;    // on top of that while it is made
  std::int64_t backward = 0;   // on top of that while its backward runs
  std::int64_t prefix = 0;     // of `kept`: for the keys and values of the images in front of the text
  std::int64_t logits = 0;     // of `kept`: for the logits
  std::string parameters{};    // names those that it uses: parts with one name use the same ones
  std::int64_t gradients = 0;  // of these parameters, that are trained
  std::int64_t largest_gradient = 0;  // of one of them
  // Belongs to the encoding of this keyed input, counted from 0, which passes may share; -1: none.
  int image = -1;
  bool in_place = false;    // only those that have the input at the same place share it
  std::int64_t output = 0;  // what passes share of it: held beside `kept` until joint forwards are over
  int layer = -1;           // number in its stack, where ForwardContext::Layer runs it; -1: not run by it
  std::int64_t layer_input = 0;  // what is left of `kept` where the layer is run again for the backward
  // Numbers, not bytes: of a product's result, which a kernel that sums in float has there beside the above.
  // Below 0: unknown, and then all that the part has may be one.
  std::int64_t product = -1;
  std::optional<AttentionShape> attention{};
};

// A function from inputs and parameters to outputs. It keeps nothing between two calls.
//
// A class that MEDLEY_PLUGIN names also has
//   static constexpr ModelSpec kSpec{...};
//   explicit ClassName(const ModelContext&);  // which hands kSpec to this class
class Model {
 public:
  // `spec` outlives the model.
  explicit Model(const ModelSpec& spec) : spec_(spec) {}
  virtual ~Model();
  const ModelSpec& spec() const { return spec_; }

  virtual ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                               ForwardContext& context) const = 0;
  // An InputError where a model does not say how.
  virtual Generated Generate(const ModelInputs& prompt, const GenerateOptions& options,
                             ForwardContext& context) const;

  // The parameters in a fixed order, names unique.
  virtual const std::vector<Parameter>& parameters() const = 0;
  // Ids of tokens are below it; 0 where a model has none. Looking up another one ends a GPU's context, so ids
  // are checked on the host before.
  virtual std::int64_t vocabulary() const;
  // The bytes of a forward, in parts. Only an estimate asks for it; an InputError where a model has none.
  virtual std::vector<ForwardPart> Footprint(const ForwardShape& shape) const;
  // Bytes of the tensors that it keeps beside its parameters.
  virtual std::int64_t TableBytes() const;
  // In which shapes it calls the blocks that a GPU has kernels for; of a model that does not say they go by
  // operators.
  virtual KernelShapes Kernels() const;
  // Moves every parameter to a device or another floating type (float64: gradient tests), in place.
  virtual void To(at::Device device, at::ScalarType dtype) = 0;

 private:
  const ModelSpec& spec_;
};

// What the model computes in: the type of its first floating parameter, float without any.
at::ScalarType FloatTypeOf(const Model& model);
// Frees the gradients of all parameters.
void ClearGradients(const Model& model);

}  // namespace medley

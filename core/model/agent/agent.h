#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/model/agent/agent_config.h>
#include <medley/model/agent/agent_inputs.h>
#include <medley/model/agent/spliced_text.h>
#include <medley/model/agent/vision.h>
#include <medley/model/blocks/language.h>
#include <medley/model/blocks/reply.h>
#include <medley/model/blocks/tower.h>
#include <medley/model/model.h>
#include <medley/model/model_context.h>
#include <medley/model/parameter_set.h>
#include <medley/text/tokenizer.h>

namespace medley {

// A language model of the Qwen3 architecture that sees up to four images as a key/value prefix of its layers,
// and draws a picture from the current image and the text's last hidden states. With a vision tower images
// go through the layers like words: each at its token in the text, or all in front of it (SplicedText).
// Inputs: see AgentInputs.
// Outputs (as kAgentSpec says):
//   logits   [items, vocabulary], at least in float, for the supervised tokens only
//   losses   [items], their cross-entropies; where nobody asks for logits, these need not be there all at
//   once targets  [items] int64, those tokens image    [rows, 3, size, size], not clamped; where the decoder
//   has alpha, what is drawn over the last
//            image
//   drawing  the same as it is drawn, whatever lies behind it
// A row's outputs depend on that row alone, and not on pads.
class Agent : public Model {
 public:
  // Uses the tokenizer for the images' labels and the special tokens, here only. Throws InputError where the
  // sizes do not fit together.
  Agent(const AgentConfig& config, const Tokenizer& tokenizer, std::uint64_t seed,
        at::Device device = at::kCPU, const std::set<std::string>* given = nullptr,
        const Adapters& adapters = {});
  explicit Agent(const ModelContext& context);

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override;
  // Images are encoded once, and keys and values of the text are kept while it grows. A picture is decoded
  // from the prompt and the reply with its eos.
  Generated Generate(const ModelInputs& prompt, const GenerateOptions& options,
                     ForwardContext& context) const override;

  const std::vector<Parameter>& parameters() const override { return parameters_.list(); }
  std::vector<ForwardPart> Footprint(const ForwardShape& shape) const override;
  std::int64_t vocabulary() const override { return vocabulary_; }
  std::int64_t TableBytes() const override;
  KernelShapes Kernels() const override { return language_.Kernels(); }
  void To(at::Device device, at::ScalarType dtype) override;

  // Positions that images take in front of the text.
  std::int64_t PrefixLength(std::int64_t images) const;
  // Columns that a text may have.
  static constexpr std::int64_t kLongestText = 4096;

 private:
  // Labels, markers and vectors of the images [begin, end) in order: [rows, length, hidden], undefined
  // without images.
  at::Tensor Prefix(const std::vector<at::Tensor>& encodings, std::size_t begin, std::size_t end) const;
  at::Tensor Encode(const ModelInput& image, ForwardContext& context) const;
  std::vector<at::Tensor> Encodings(const AgentInputs& in, ForwardContext& context) const;
  ModelOutputs ForwardEncoded(const AgentInputs& in, const std::vector<at::Tensor>& encodings,
                              ForwardContext& context) const;
  // Adds logits and losses of hidden states [items, hidden], where they are wanted.
  void Score(const AgentInputs& in, const at::Tensor& hidden, ModelOutputs& outputs) const;
  // Adds the pictures that are wanted.
  void Draw(const AgentInputs& in, const at::Tensor& query, const at::Tensor& hidden, ModelOutputs& outputs,
            ForwardContext& context) const;
  // Of the text's positions, [rows, width, hidden], where a picture is drawn, or [items, hidden]: with the
  // images in front of the layers, or among the words.
  at::Tensor HiddenBehind(const AgentInputs& in, const std::vector<at::Tensor>& encodings,
                          ForwardContext& context) const;
  at::Tensor HiddenSpliced(const AgentInputs& in, const std::vector<at::Tensor>& encodings,
                           ForwardContext& context) const;
  // The states of a text's words and, among or in front of them, of the images.
  at::Tensor Spliced(const SplicedText& text, const std::vector<at::Tensor>& encodings) const;
  // Whether images stand among the words instead of in front of the layers.
  bool Splices(const std::vector<at::Tensor>& encodings) const { return tower_ && !encodings.empty(); }
  // What the layers read of a prompt [rows, width] to which so many tokens may be added, and where it ends.
  PromptStates Prompts(const AgentInputs& in, const at::Tensor& tokens,
                       const std::vector<at::Tensor>& encodings, std::int64_t new_tokens,
                       ForwardContext& context) const;
  PromptStates SplicedPrompts(const AgentInputs& in, const at::Tensor& tokens,
                              const std::vector<at::Tensor>& encodings, std::int64_t new_tokens) const;
  // What the text sees besides itself.
  TextInput Seen(const AgentInputs& in, const std::vector<at::Tensor>& encodings,
                 ForwardContext& context) const;

  AgentConfig config_;
  std::int64_t vocabulary_, tokens_, pad_, eos_;  // rows of the table, and how many of them are tokens
  ParameterSet parameters_;
  PictureWords words_;
  // Before the language, whose base is the last one.
  std::optional<VisionTower> tower_;
  std::optional<Projector> projector_;
  Language language_;
  std::optional<ImageEncoder> encoder_;  // where there is no tower
  PictureDecoder decoder_;
};

}  // namespace medley

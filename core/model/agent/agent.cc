#include <medley/model/agent/agent.h>

#include <ATen/Functions.h>

#include <limits>
#include <utility>

#include <medley/base/error.h>
#include <medley/model/agent/agent_spec.h>
#include <medley/model/float_type.h>
#include <medley/text/special_tokens.h>

namespace medley {
namespace {

void Require(bool good, const std::string& message) {
  if (!good) throw InputError("model: " + message);
}

void CheckStack(const std::string& name, const AgentConfig::Stack& stack, std::int64_t width) {
  Require(stack.heads > 0 && width % stack.heads == 0,
          name + ".heads must divide language.hidden = " + std::to_string(width));
  Require(stack.dropout >= 0 && stack.dropout < 1, name + ".dropout must be at least 0 and below 1");
}

const AgentConfig& Checked(const AgentConfig& config, const Tokenizer& tokenizer) {
  const AgentConfig::Language& language = config.language;
  Require(language.hidden % 4 == 0, "language.hidden must be a multiple of 4");
  Require(language.kv_heads > 0 && language.heads % language.kv_heads == 0,
          "language.kv_heads must divide language.heads");
  Require(language.head_dim % 2 == 0, "language.head_dim must be even");
  Require(TableRows(language, tokenizer.size()) >= tokenizer.size(),
          "language.vocabulary is " + std::to_string(language.vocabulary) + ", the tokenizer has " +
              std::to_string(tokenizer.size()) + " tokens; set it to 0 for the tokenizer's size");
  const TowerConfig& tower = config.tower;
  Require(config.image.patch > 0 && config.image.size >= config.image.patch &&
              (tower.any() || config.image.size % config.image.patch == 0),
          "image.size must be a multiple of image.patch");
  Require(config.image.scale != 0, "image.scale must not be 0");
  Require(!tower.any() || (tower.heads > 0 && tower.width % tower.heads == 0),
          "tower.heads must divide tower.width = " + std::to_string(tower.width));
  Require(!tower.any() || tower.image_token < TableRows(language, tokenizer.size()),
          "tower.image_token is " + std::to_string(tower.image_token) + ", but the table has " +
              std::to_string(TableRows(language, tokenizer.size())) + " rows");
  Require(config.stem.channels >= 0 && (config.stem.channels == 0 ||
                                        (config.stem.cell > 0 && config.image.patch % config.stem.cell == 0)),
          "encoder.stem_cell must divide image.patch where there is a stem");
  if (!tower.any()) CheckStack("encoder", config.encoder, language.hidden);
  CheckStack("decoder", config.decoder, language.hidden);
  return config;
}

PictureWords WordsOf(const Tokenizer& tokenizer, const AgentConfig& config) {
  const std::int64_t grid = config.image.size / config.image.patch;
  PictureWords words{.labels = {},
                     .closing = at::tensor(tokenizer.Encode(kImageEnd), at::kLong),
                     .patches = grid * grid,
                     .token = config.tower.image_token,
                     .pad = tokenizer.pad()};
  for (std::size_t i = 1; i <= AgentInputs::kMaxImages; ++i)
    words.labels.push_back(at::tensor(tokenizer.Encode(ImageLabel(i)), at::kLong));
  return words;
}

template <typename T, typename... Arguments>
std::optional<T> MadeIf(bool wanted, Arguments&&... arguments) {
  if (!wanted) return std::nullopt;
  return std::optional<T>(std::in_place, std::forward<Arguments>(arguments)...);
}

// What of the text a picture sees, additive: [rows, 1, 1, width].
at::Tensor ContextMask(const AgentInputs& in, const at::TensorOptions& options) {
  const at::Tensor position = at::arange(in.width(), in.tokens.options());
  const at::Tensor hides = position.unsqueeze(0).ge(in.context_lengths.unsqueeze(1));  // [rows, width]
  return at::zeros(hides.sizes(), options)
      .masked_fill_(hides, -std::numeric_limits<double>::infinity())
      .view({in.rows(), 1, 1, in.width()});
}

}  // namespace

Agent::Agent(const AgentConfig& config, const Tokenizer& tokenizer, std::uint64_t seed, at::Device device,
             const std::set<std::string>* given, const Adapters& adapters)
    : Model(kAgentSpec),
      config_(Checked(config, tokenizer)),
      vocabulary_(TableRows(config.language, tokenizer.size())),
      tokens_(tokenizer.size()),
      pad_(tokenizer.pad()),
      eos_(tokenizer.eos()),
      // The language part had this in front of the published names.
      parameters_(seed, device, {{"model.", "qwen_model.model."}, {"lm_head.", "qwen_model.lm_head."}}, given,
                  adapters),
      words_(WordsOf(tokenizer, config)),
      tower_(MadeIf<VisionTower>(config.tower.any(), parameters_, config.tower,
                                 std::string(kAgentSpec.tower.root))),
      projector_(MadeIf<Projector>(config.tower.any(), parameters_, config.tower, config.language.hidden,
                                   std::string(kAgentSpec.tower.projector))),
      language_(parameters_, config.language, vocabulary_,
                kLongestText + words_.Front(AgentInputs::kMaxImages)),
      encoder_(MadeIf<ImageEncoder>(!config.tower.any(), parameters_, config)),
      decoder_(parameters_, config) {
  if (!device.is_cpu()) To(device, at::kFloat);
}

Agent::Agent(const ModelContext& context)
    : Agent(AgentConfig(context.config), context.tokenizer(), context.seed, context.device, context.given,
            context.adapters) {}

std::int64_t Agent::PrefixLength(std::int64_t images) const { return words_.Front(images); }

at::Tensor Agent::Encode(const ModelInput& image, ForwardContext& context) const {
  const auto encode = [&] {
    // In float until it is cut: a pixel near the mean would lose its last bits.
    const at::Tensor& like = parameters_.list().front().tensor;
    const at::Tensor pixels = image.tensor.to(like.device(), AtLeastFloat(like.scalar_type()));
    return tower_ ? (*projector_)((*tower_)(pixels, context)) : (*encoder_)(pixels, context);
  };
  return image.key.empty() ? encode() : context.Shared(image.key, encode);
}

at::Tensor Agent::Prefix(const std::vector<at::Tensor>& encodings, std::size_t begin, std::size_t end) const {
  if (begin == end) return {};
  const std::int64_t rows = encodings.front().size(0);
  const auto words = [&](const at::Tensor& ids) {
    return language_.Embed(ids).unsqueeze(0).expand({rows, ids.numel(), config_.language.hidden});
  };
  std::vector<at::Tensor> parts;
  for (std::size_t i = begin; i < end; ++i) {
    parts.insert(parts.end(), {words(words_.labels[i]), encodings[i], words(words_.closing)});
  }
  return at::cat(parts, 1);
}

std::vector<at::Tensor> Agent::Encodings(const AgentInputs& in, ForwardContext& context) const {
  std::vector<at::Tensor> encodings;
  for (const ModelInput* image : in.images) encodings.push_back(Encode(*image, context));
  return encodings;
}

TextInput Agent::Seen(const AgentInputs& in, const std::vector<at::Tensor>& encodings,
                      ForwardContext& context) const {
  const auto length_of = [&](std::size_t image) {
    const auto number = static_cast<std::int64_t>(image);
    return PrefixLength(number + 1) - PrefixLength(number);
  };
  TextInput text;
  std::size_t shared = 0;
  for (; shared < encodings.size() && context.SharesBesideLayers(in.images[shared]->key); ++shared) {
    language_.Share(
        in.images[shared]->key, length_of(shared), [&] { return Prefix(encodings, shared, shared + 1); },
        text, context);
  }
  text.prefix = Prefix(encodings, shared, encodings.size());
  for (std::size_t image = shared; image < encodings.size(); ++image)
    text.pieces.push_back({.key = in.images[image]->key, .length = length_of(image)});
  return text;
}

ModelOutputs Agent::Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                            ForwardContext& context) const {
  const AgentInputs in = AgentInputs::Read(inputs, wanted, config_, vocabulary_);
  if (in.width() > kLongestText) {
    throw Error("the agent's input 'tokens' has " + std::to_string(in.width()) + " columns, the most is " +
                std::to_string(kLongestText));
  }
  ModelOutputs outputs;
  if (in.scores() || in.draws()) {
    outputs = ForwardEncoded(in, Encodings(in, context), context);
  }
  if (in.targets.defined()) outputs["targets"] = in.targets;
  return outputs;
}

at::Tensor Agent::HiddenBehind(const AgentInputs& in, const std::vector<at::Tensor>& encodings,
                               ForwardContext& context) const {
  at::Tensor x = language_.Embed(in.tokens);
  TextInput text = Seen(in, encodings, context);
  if (!in.draws()) text.selected = in.selected;
  return language_.Hidden(std::move(x), text, context);
}

at::Tensor Agent::Spliced(const SplicedText& text, const std::vector<at::Tensor>& encodings) const {
  // In place: nothing else reads the words' states, and their lookup keeps none of them.
  at::Tensor x = language_.Embed(text.ids.flatten());
  for (std::size_t i = 0; i < encodings.size(); ++i)
    x.index_copy_(0, text.pictures[i], encodings[i].flatten(0, 1));
  return x.view({text.ids.size(0), text.length(), -1});
}

at::Tensor Agent::HiddenSpliced(const AgentInputs& in, const std::vector<at::Tensor>& encodings,
                                ForwardContext& context) const {
  const SplicedText spliced = Splice(in.tokens, words_, std::ssize(encodings));
  TextInput text;
  text.selected = in.draws() ? spliced.Ends() : spliced.Ends().index_select(0, in.selected);
  const at::Tensor hidden = language_.Hidden(Spliced(spliced, encodings), text, context);
  return in.draws() ? hidden.view({in.rows(), in.width(), -1}) : hidden;
}

ModelOutputs Agent::ForwardEncoded(const AgentInputs& in, const std::vector<at::Tensor>& encodings,
                                   ForwardContext& context) const {
  const at::Tensor hidden =
      Splices(encodings) ? HiddenSpliced(in, encodings, context) : HiddenBehind(in, encodings, context);
  ModelOutputs outputs;
  if (in.scores())
    Score(in, in.draws() ? hidden.flatten(0, 1).index_select(0, in.selected) : hidden, outputs);
  if (in.draws()) Draw(in, encodings.back(), hidden, outputs, context);
  return outputs;
}

void Agent::Score(const AgentInputs& in, const at::Tensor& hidden, ModelOutputs& outputs) const {
  LossTargets targets{.words = in.targets, .smoothing = {}};
  if (in.smoothing.defined()) targets.smoothing = in.smoothing.to(AtLeastFloat(hidden.scalar_type()));
  if (in.wants_logits) outputs["logits"] = language_.Logits(hidden);
  if (in.wants_losses) {
    outputs["losses"] =
        in.wants_logits ? LossesOfLogits(outputs["logits"], targets) : language_.Losses(hidden, targets);
  }
}

void Agent::Draw(const AgentInputs& in, const at::Tensor& query, const at::Tensor& hidden,
                 ModelOutputs& outputs, ForwardContext& context) const {
  const at::Tensor mask = ContextMask(in, hidden.options().requires_grad(false));
  const Drawn drawn =
      decoder_(query, hidden, mask, {.wanted = in.wants_image, .rows = in.drawn_alone}, context);
  if (in.wants_image) {
    outputs["image"] = drawn.opacity.defined() ? Composite(drawn, in.images.back()->tensor) : drawn.picture;
  }
  if (in.wants_drawing) outputs["drawing"] = drawn.picture;
}

void Agent::To(at::Device device, at::ScalarType dtype) {
  parameters_.To(device, dtype);
  for (at::Tensor& label : words_.labels) label = label.to(device);
  words_.closing = words_.closing.to(device);
  language_.To(device, dtype);
  if (tower_) tower_->To(device, dtype);
  if (encoder_) encoder_->To(device, dtype);
}

}  // namespace medley

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <medley/base/error.h>
#include <medley/model/agent/agent.h>
#include <medley/model/blocks/reply.h>

namespace medley {
namespace {

void RequireRoom(std::int64_t length, std::int64_t most) {
  if (length + most <= Agent::kLongestText) return;
  throw InputError("the prompt has " + std::to_string(length) + " tokens and " + std::to_string(most) +
                   " new tokens may follow, a text has at most " + std::to_string(Agent::kLongestText) +
                   " together; shorten one of them");
}

// Columns for the texts of prompts [rows, width] with their replies. InputError where one is too long.
std::int64_t RoomOf(const at::Tensor& lengths, std::int64_t width, const GenerateOptions& options) {
  if (static_cast<std::int64_t>(options.most.size()) != lengths.numel()) {
    RequireRoom(width, options.max_new_tokens);
    return width + options.max_new_tokens;
  }
  const at::Tensor on_host = lengths.to(at::kCPU).contiguous();
  std::int64_t room = width;
  for (std::size_t row = 0; row < options.most.size(); ++row) {
    const std::int64_t length = on_host.const_data_ptr<std::int64_t>()[row],
                       most = std::min(options.most[row], options.max_new_tokens);
    RequireRoom(length, most);
    room = std::max(room, length + most);
  }
  return room;
}

// In a prompt of a person it is no mistake of a task's.
void RequireFewPictures(const ModelInputs& prompt) {
  const auto pictures = std::ranges::count(prompt, "images", &ModelInput::name);
  if (pictures <= static_cast<std::ptrdiff_t>(AgentInputs::kMaxImages)) return;
  throw InputError("the prompt shows " + std::to_string(pictures) + " pictures, the agent sees " +
                   std::to_string(AgentInputs::kMaxImages) + " at most; leave some out");
}

}  // namespace

PromptStates Agent::Prompts(const AgentInputs& in, const at::Tensor& tokens,
                            const std::vector<at::Tensor>& encodings, std::int64_t new_tokens,
                            ForwardContext& context) const {
  if (Splices(encodings)) return SplicedPrompts(in, tokens, encodings, new_tokens);
  PromptStates prompts{.states = {},
                       .lengths = in.lengths.to(at::kCPU),
                       .seen = Seen(in, encodings, context),
                       .room = tokens.size(1) + new_tokens};
  const std::int64_t longest = prompts.lengths.max().item<std::int64_t>();
  prompts.states = language_.Embed(tokens.narrow(1, 0, longest).to(language_.device()));
  return prompts;
}

PromptStates Agent::SplicedPrompts(const AgentInputs& in, const at::Tensor& tokens,
                                   const std::vector<at::Tensor>& encodings, std::int64_t new_tokens) const {
  const SplicedText text = Splice(tokens.to(language_.device()), words_, std::ssize(encodings));
  const at::Tensor last = in.lengths.to(text.last.device()).unsqueeze(1) - 1;
  PromptStates prompts{.states = {},
                       .lengths = (text.last.gather(1, last).squeeze(1) + 1).to(at::kCPU),
                       .seen = {},
                       .room = text.length() + new_tokens};
  const std::int64_t longest = prompts.lengths.max().item<std::int64_t>();
  prompts.states = Spliced(text, encodings).narrow(1, 0, longest);
  return prompts;
}

Generated Agent::Generate(const ModelInputs& prompt, const GenerateOptions& options,
                          ForwardContext& context) const {
  const at::NoGradGuard no_grad;
  RequireFewPictures(prompt);
  const AgentInputs in = AgentInputs::Read(prompt, {}, config_, vocabulary_);
  if (options.decode_image && in.images.empty()) {
    throw Error("the agent cannot decode a picture without an image; the prompt has none");
  }
  const at::Tensor& tokens = InputNamed(prompt, "tokens");
  if (config_.tower.image_token > 0)
    AgentInputs::RequirePictures(tokens.to(at::kCPU), in.lengths.to(at::kCPU), config_.tower.image_token,
                                 std::ssize(in.images));
  const std::int64_t room = RoomOf(in.lengths, tokens.size(1), options);
  const std::vector<at::Tensor> encodings = Encodings(in, context);
  Generated generated =
      WriteReplies(language_, Prompts(in, tokens, encodings, room - tokens.size(1), context),
                   {.count = tokens_, .eos = eos_}, options);
  if (!options.decode_image) return generated;

  WrittenTexts texts = TextsOf(tokens, in.lengths, generated, room, pad_);
  if (config_.tower.image_token > 0) {
    // A token for a picture that was written shows none.
    const at::Tensor written =
        at::arange(texts.tokens.size(1), at::kLong).unsqueeze(0).ge(in.lengths.to(at::kCPU).unsqueeze(1));
    texts.tokens.masked_fill_(texts.tokens.eq(config_.tower.image_token).logical_and(written), pad_);
  }
  ModelInputs whole;
  for (const ModelInput* image : in.images) whole.push_back(*image);
  whole.push_back({"tokens", texts.tokens.to(language_.device()), ""});
  whole.push_back({"lengths", texts.lengths.to(language_.device()), ""});
  if (const at::Tensor* seen = FindInput(prompt, "context_lengths"))
    whole.push_back({"context_lengths", *seen, ""});
  const AgentInputs drawn = AgentInputs::Read(whole, {"image"}, config_, vocabulary_);
  generated.image = ForwardEncoded(drawn, encodings, context).at("image");
  return generated;
}

}  // namespace medley

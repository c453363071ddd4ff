#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/model/agent/agent.h>

namespace medley {
namespace {

// A token for each row from its logits [rows, vocabulary], on the CPU.
std::vector<std::int64_t> Choose(const at::Tensor& logits, const GenerateOptions& options,
                                 std::int64_t step) {
  const at::Tensor best = logits.argmax(-1).to(at::kCPU);
  const std::int64_t* greedy = best.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> chosen(greedy, greedy + best.numel());
  if (options.temperature <= 0) return chosen;
  const at::Tensor wide = logits.to(at::kCPU, at::kDouble) / options.temperature;
  const at::Tensor sums = at::cumsum(at::softmax(wide, -1), -1);
  for (std::size_t row = 0; row < chosen.size(); ++row) {
    RowRandom random(CombineSeeds(CombineSeeds(options.seed, row), static_cast<std::uint64_t>(step)));
    const at::Tensor line = sums.select(0, static_cast<std::int64_t>(row));
    const double* first = line.const_data_ptr<double>();
    const double* last = first + line.numel();
    const double* found = std::upper_bound(first, last, random.Uniform() * last[-1]);
    chosen[row] = std::min<std::int64_t>(found - first, line.numel() - 1);
  }
  return chosen;
}

// The rows' texts while they grow, on the CPU.
class Texts {
 public:
  // `prompt` [rows, width]; `most` tokens may follow.
  Texts(const at::Tensor& prompt, const at::Tensor& lengths, std::int64_t most, std::int64_t pad)
      : tokens_(at::full({prompt.size(0), prompt.size(1) + most}, pad, at::kLong)),
        lengths_(lengths.to(at::kCPU).clone()),
        done_(static_cast<std::size_t>(prompt.size(0))) {
    tokens_.narrow(1, 0, prompt.size(1)).copy_(prompt);
  }

  // Adds a token to each row that is not done.
  void Append(const std::vector<std::int64_t>& chosen, std::int64_t eos,
              std::vector<std::vector<std::int64_t>>& out) {
    std::int64_t* text = tokens_.mutable_data_ptr<std::int64_t>();
    std::int64_t* length = lengths_.mutable_data_ptr<std::int64_t>();
    for (std::size_t row = 0; row < chosen.size(); ++row) {
      if (done_[row]) continue;
      text[static_cast<std::int64_t>(row) * tokens_.size(1) + length[row]++] = chosen[row];
      done_[row] = chosen[row] == eos;
      if (!done_[row]) out[row].push_back(chosen[row]);
    }
  }

  bool AllDone() const {
    return std::ranges::all_of(done_, [](bool done) { return done; });
  }
  const at::Tensor& tokens() const { return tokens_; }    // [rows, width + most]
  const at::Tensor& lengths() const { return lengths_; }  // [rows]
  std::int64_t longest() const { return lengths_.max().item<std::int64_t>(); }

 private:
  at::Tensor tokens_, lengths_;
  std::vector<bool> done_;
};

// The hidden state of each row's last token: of the whole texts at first, then token by token.
class LastStates {
 public:
  // `seen`: what the prompts see; `room`: positions of the longest text.
  LastStates(const Language& language, TextInput seen, std::int64_t room)
      : language_(language), seen_(std::move(seen)), prefix_(seen_.prefix_length()) {
    cache_.positions = prefix_ + room;
  }

  // [rows, hidden]. Rows that are done repeat their last token, and with it the same keys and values.
  at::Tensor operator()(const Texts& texts) {
    const at::Device device = language_.device();
    const std::int64_t width = texts.longest();
    const at::Tensor last = texts.lengths() - 1;
    if (!cache_.keys.empty()) {
      const at::Tensor tokens = texts.tokens().gather(1, last.unsqueeze(1)).squeeze(1);
      return language_.Continue(language_.Embed(tokens.to(device)), (last + prefix_).to(device),
                                prefix_ + width, cache_);
    }
    seen_.selected = (at::arange(last.numel(), at::kLong) * width + last).to(device);
    seen_.cache = &cache_;
    ForwardContext plain;
    return language_.Hidden(language_.Embed(texts.tokens().narrow(1, 0, width).to(device)), seen_, plain);
  }

 private:
  const Language& language_;
  TextInput seen_;
  std::int64_t prefix_;
  TextCache cache_;
};

}  // namespace

Generated Agent::Generate(const ModelInputs& prompt, const GenerateOptions& options,
                          ForwardContext& context) const {
  const at::NoGradGuard no_grad;
  const AgentInputs in = AgentInputs::Read(prompt, {}, config_, vocabulary_);
  if (options.decode_image && in.images.empty()) {
    throw Error("the agent cannot decode a picture without an image; the prompt has none");
  }
  const at::Tensor& tokens = InputNamed(prompt, "tokens");
  if (tokens.size(1) + options.max_new_tokens > kLongestText) {
    throw InputError("the prompt has " + std::to_string(tokens.size(1)) + " tokens and " +
                     std::to_string(options.max_new_tokens) + " new tokens may follow, a text has at most " +
                     std::to_string(kLongestText) + " together; shorten one of them");
  }
  const std::vector<at::Tensor> encodings = Encodings(in, context);
  Texts texts(tokens, in.lengths, options.max_new_tokens, pad_);
  LastStates states(language_, Seen(in, encodings, context), texts.tokens().size(1));
  Generated generated{.tokens = std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(in.rows())),
                      .image = {}};
  for (std::int64_t step = 0; step < options.max_new_tokens && !texts.AllDone(); ++step) {
    const at::Tensor logits = language_.Logits(states(texts)).narrow(-1, 0, tokens_);  // no spare rows
    texts.Append(Choose(logits, options, step), eos_, generated.tokens);
  }
  if (!options.decode_image) return generated;

  ModelInputs whole;
  for (const ModelInput* image : in.images) whole.push_back(*image);
  whole.push_back({"tokens", texts.tokens().to(language_.device()), ""});
  whole.push_back({"lengths", texts.lengths().to(language_.device()), ""});
  if (const at::Tensor* seen = FindInput(prompt, "context_lengths"))
    whole.push_back({"context_lengths", *seen, ""});
  const AgentInputs drawn = AgentInputs::Read(whole, {"image"}, config_, vocabulary_);
  generated.image = ForwardEncoded(drawn, encodings, context).at("image");
  return generated;
}

}  // namespace medley

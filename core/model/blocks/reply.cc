#include <medley/model/blocks/reply.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/random.h>

namespace medley {
namespace {

void RequireOneARow(const char* name, std::size_t size, std::int64_t rows) {
  if (size == 0 || static_cast<std::int64_t>(size) == rows) return;
  throw Error("GenerateOptions::" + std::string(name) + " has " + std::to_string(size) +
              " numbers, the prompt " + std::to_string(rows) + " rows; expected one a row, or none");
}

std::uint64_t SeedOfRow(const GenerateOptions& options, std::size_t row) {
  return options.seeds.empty() ? CombineSeeds(options.seed, row) : options.seeds[row];
}

// A place in `sums`, which grow and are above 0, each as likely as it adds to them.
std::int64_t Draw(const at::Tensor& sums, RowRandom& random) {
  const double* first = sums.const_data_ptr<double>();
  const double* last = first + sums.numel();
  const double* found = std::upper_bound(first, last, random.Uniform() * last[-1]);
  return std::min<std::int64_t>(found - first, sums.numel() - 1);
}

// One of the likeliest of a row's probabilities [count], as few as have `top_p` together.
std::int64_t DrawLikely(const at::Tensor& probabilities, double top_p, RowRandom& random) {
  constexpr std::int64_t kFirst = 256;  // these have enough, mostly, and are found without sorting all
  auto [likely, ids] = probabilities.topk(std::min(kFirst, probabilities.numel()));
  at::Tensor sums = at::cumsum(likely, -1);
  if (sums.numel() < probabilities.numel() && sums[-1].item<double>() < top_p) {
    std::tie(likely, ids) = probabilities.sort(/*stable=*/true, -1, /*descending=*/true);
    sums = at::cumsum(likely, -1);
  }
  const std::int64_t kept = std::min(sums.lt(top_p).sum().item<std::int64_t>() + 1, sums.numel());
  return ids[Draw(sums.narrow(0, 0, kept), random)].item<std::int64_t>();
}

// A token for each row from its logits [rows, count], on the CPU.
std::vector<std::int64_t> Choose(const at::Tensor& logits, const GenerateOptions& options,
                                 std::int64_t step) {
  const at::Tensor best = logits.argmax(-1).to(at::kCPU);
  const std::int64_t* greedy = best.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> chosen(greedy, greedy + best.numel());
  if (options.temperature <= 0) return chosen;
  const at::Tensor wide = logits.to(at::kCPU, at::kDouble) / options.temperature;
  const at::Tensor probabilities = at::softmax(wide, -1);
  const bool is_cut = options.top_p < 1;
  const at::Tensor sums = is_cut ? at::Tensor() : at::cumsum(probabilities, -1);
  for (std::size_t row = 0; row < chosen.size(); ++row) {
    RowRandom random(CombineSeeds(SeedOfRow(options, row), static_cast<std::uint64_t>(step)));
    const auto place = static_cast<std::int64_t>(row);
    chosen[row] = is_cut ? DrawLikely(probabilities.select(0, place), options.top_p, random)
                         : Draw(sums.select(0, place), random);
  }
  return chosen;
}

// How likely the chosen one of each row is, by logits [rows, count]. Rows of logits stay where they are.
std::vector<double> LogsOf(const at::Tensor& logits, const std::vector<std::int64_t>& chosen) {
  const at::Tensor place = at::tensor(chosen, at::kLong).to(logits.device()).unsqueeze(1);
  const at::Tensor logs = at::log_softmax(logits.to(at::kDouble), -1).gather(1, place).to(at::kCPU);
  return {logs.const_data_ptr<double>(), logs.const_data_ptr<double>() + logs.numel()};
}

// The replies while they grow.
class Replies {
 public:
  Replies(const PromptStates& prompts, const ReplyWords& words, const GenerateOptions& options)
      : eos_(words.eos), options_(options), lengths_(prompts.lengths.clone()) {
    const auto rows = static_cast<std::size_t>(lengths_.numel());
    last_.resize(rows);
    written_.tokens.resize(rows);
    written_.ends.assign(rows, -1);
    if (options.log_probabilities) written_.log_probabilities.resize(rows);
  }

  // A token of each row that is not done, chosen by its logits [rows, count].
  void Add(const at::Tensor& logits, std::int64_t step) {
    const std::vector<std::int64_t> chosen = Choose(logits, options_, step);
    const std::vector<double> logs =
        options_.log_probabilities ? LogsOf(logits, chosen) : std::vector<double>();
    std::int64_t* length = lengths_.mutable_data_ptr<std::int64_t>();
    for (std::size_t row = 0; row < chosen.size(); ++row) {
      if (IsDone(row)) continue;
      ++length[row];
      last_[row] = chosen[row];
      if (!logs.empty()) written_.log_probabilities[row] += logs[row];
      if (Ends(chosen[row]))
        written_.ends[row] = chosen[row];
      else
        written_.tokens[row].push_back(chosen[row]);
    }
    if (options_.on_token && !options_.on_token(written_)) written_.stopped = true;
  }

  bool AllDone() const {
    bool all = true;
    for (std::size_t row = 0; row < last_.size(); ++row) all = all && IsDone(row);
    return written_.stopped || all;
  }
  // Positions of each row, [rows]: those of its prompt and of its reply with what ended it.
  const at::Tensor& lengths() const { return lengths_; }
  std::int64_t longest() const { return lengths_.max().item<std::int64_t>(); }
  at::Tensor last() const { return at::tensor(last_, at::kLong); }  // the token of each that came last
  Generated Take() { return std::move(written_); }

 private:
  bool IsDone(std::size_t row) const {
    return written_.ends[row] >= 0 ||
           (!options_.most.empty() && std::ssize(written_.tokens[row]) >= options_.most[row]);
  }
  bool Ends(std::int64_t token) const {
    return token == eos_ || std::ranges::find(options_.ends, token) != options_.ends.end();
  }

  std::int64_t eos_;
  const GenerateOptions& options_;
  at::Tensor lengths_;
  std::vector<std::int64_t> last_;
  Generated written_;
};

// The hidden state of each row's last position, [rows, hidden]: of the whole prompts at first. Rows that are
// done repeat their last token, and with it the same keys and values.
class LastStates {
 public:
  virtual ~LastStates() = default;
  virtual at::Tensor Of(const Replies& replies) = 0;
};

// Then token by token.
class KeptStates final : public LastStates {
 public:
  KeptStates(const Language& language, PromptStates prompts)
      : language_(language), prompts_(std::move(prompts)), prefix_(prompts_.seen.prefix_length()) {
    cache_.positions = prefix_ + prompts_.room;
  }

  at::Tensor Of(const Replies& replies) override {
    const at::Device device = language_.device();
    const std::int64_t width = replies.longest();
    const at::Tensor last = replies.lengths() - 1;
    if (!cache_.keys.empty()) {
      return language_.Continue(language_.Embed(replies.last().to(device)), (last + prefix_).to(device),
                                prefix_ + width, cache_);
    }
    prompts_.seen.selected = (at::arange(last.numel(), at::kLong) * width + last).to(device);
    prompts_.seen.cache = &cache_;
    ForwardContext plain;
    return language_.Hidden(std::exchange(prompts_.states, {}), prompts_.seen, plain);
  }

 private:
  const Language& language_;
  PromptStates prompts_;
  std::int64_t prefix_;
  TextCache cache_;
};

// Then of the whole texts again.
class StatesMadeAgain final : public LastStates {
 public:
  StatesMadeAgain(const Language& language, PromptStates prompts)
      : language_(language), prompts_(std::move(prompts)) {
    const at::Tensor& states = prompts_.states;
    states_ = at::zeros({states.size(0), prompts_.room, states.size(2)}, states.options());
    states_.narrow(1, 0, states.size(1)).copy_(states);
  }

  at::Tensor Of(const Replies& replies) override {
    const at::Device device = language_.device();
    const std::int64_t width = replies.longest();
    const at::Tensor row = at::arange(replies.lengths().numel(), at::kLong), last = replies.lengths() - 1;
    if (begun_)
      states_.index_put_({row.to(device), last.to(device)}, language_.Embed(replies.last().to(device)));
    begun_ = true;
    prompts_.seen.selected = (row * width + last).to(device);
    ForwardContext plain;
    return language_.Hidden(states_.narrow(1, 0, width), prompts_.seen, plain);
  }

 private:
  const Language& language_;
  PromptStates prompts_;
  at::Tensor states_;  // [rows, room, hidden]
  bool begun_ = false;
};

}  // namespace

Generated WriteReplies(const Language& language, PromptStates prompts, const ReplyWords& words,
                       const GenerateOptions& options) {
  const at::NoGradGuard no_grad;
  RequireOneARow("seeds", options.seeds.size(), prompts.states.size(0));
  RequireOneARow("most", options.most.size(), prompts.states.size(0));
  if (prompts.room == 0) prompts.room = prompts.states.size(1) + options.max_new_tokens;
  Replies replies(prompts, words, options);
  const auto states = [&]() -> std::unique_ptr<LastStates> {
    if (options.cache) return std::make_unique<KeptStates>(language, std::move(prompts));
    return std::make_unique<StatesMadeAgain>(language, std::move(prompts));
  }();
  for (std::int64_t step = 0; step < options.max_new_tokens && !replies.AllDone(); ++step) {
    replies.Add(language.Logits(states->Of(replies)).narrow(-1, 0, words.count), step);  // no spare rows
  }
  return replies.Take();
}

WrittenTexts TextsOf(const at::Tensor& prompts, const at::Tensor& lengths, const Generated& replies,
                     std::int64_t width, std::int64_t pad) {
  WrittenTexts texts{.tokens = at::full({prompts.size(0), width}, pad, at::kLong),
                     .lengths = lengths.to(at::kCPU).clone()};
  texts.tokens.narrow(1, 0, prompts.size(1)).copy_(prompts);
  std::int64_t* row = texts.tokens.mutable_data_ptr<std::int64_t>();
  std::int64_t* length = texts.lengths.mutable_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < replies.tokens.size(); ++i, row += width, ++length) {
    for (const std::int64_t token : replies.tokens[i]) row[(*length)++] = token;
    if (replies.ends[i] >= 0) row[(*length)++] = replies.ends[i];
  }
  return texts;
}

}  // namespace medley

#include <medley/task/drivers/reply_task.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <medley/base/printable.h>
#include <medley/base/utf8.h>
#include <medley/data/item_stream.h>
#include <medley/data/last_read.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

namespace medley {
namespace {

constexpr std::int64_t kShownRows = 4096;

// The tokens of row `row` from `begin` to `end`.
std::vector<std::int64_t> Span(const at::Tensor& tokens, std::int64_t row, std::int64_t begin,
                               std::int64_t end) {
  const std::int64_t* first = tokens.const_data_ptr<std::int64_t>() + row * tokens.size(1);
  return {first + begin, first + end};
}

bool IsGivenFile(const TaskContext& context, const TaskSpec& spec) {
  return std::ranges::any_of(spec.options, [&](const OptionSpec& option) {
    return option.kind == OptionKind::kPath && context.options.contains(option.name) &&
           !context.Path(option.name).empty();
  });
}

// How often each reply is that of the first training rows, by its label; `label_of` gets those that are new.
template <typename ReplyOf>
std::vector<std::int64_t> CountReplies(std::int64_t rows, std::map<std::string, std::int64_t>& label_of,
                                       const ReplyOf& reply_of) {
  std::vector<std::int64_t> times(label_of.size());
  ForEachRow({.seed = 0, .begin = 0, .count = rows}, [&](Row& row) {
    const std::int64_t label = label_of.emplace(reply_of(row), std::ssize(label_of)).first->second;
    times.resize(label_of.size());
    ++times[static_cast<std::size_t>(label)];
  });
  return times;
}

}  // namespace

ReplyTask::ReplyTask(const TaskContext& context, const TaskSpec& spec)
    : tokenizer_(context.tokenizer()),
      texts_(context),
      has_file_(IsGivenFile(context, spec)),
      width_(static_cast<std::size_t>(spec.passes[0].text_width)),
      reply_width_(static_cast<std::size_t>(spec.terms[0].max_items)) {}

// The reply with its eos. As long as the spec allows where that is asked for: its last words again and again.
ReplyTask::Tokens ReplyTask::TokensOf(Row& row) const {
  ForgetRead();
  const Exchange exchange = Draw(row);
  const bool is_of_file = has_file_ || WasRead() || Items() != nullptr;
  const auto encode = [&](const std::string& text) {
    return is_of_file ? texts_.Encode(text) : tokenizer_.Encode(text);
  };
  Tokens tokens{encode(exchange.prompt), encode(exchange.reply)};
  const auto refuse = [&](const std::string& what) {
    constexpr std::size_t kMostShown = 200;
    const auto shown = [&](const std::string& text) {
      return "\"" + Printable(CutText(text, kMostShown)) + "\"";
    };
    throw InputError("row " + std::to_string(row.number) + ", " + shown(exchange.prompt) +
                     " with the reply " + shown(exchange.reply) + ": " + what);
  };
  if (tokens.prompt.empty() || tokens.reply.empty()) refuse("prompt and reply need a token each");
  const std::size_t reply = tokens.reply.size() + 1, all = tokens.prompt.size() + reply;
  if (reply > reply_width_ || all > width_) {
    refuse(std::to_string(all) + " tokens, " + std::to_string(reply) +
           " of them the reply's and its eos; the spec has " + std::to_string(width_) + " and " +
           std::to_string(reply_width_) +
           ". Shorten it, raise text_width or reply_width, or train the vocabulary on the task's texts "
           "(medley tokenizer train)");
  }
  if (row.longest()) {
    tokens.reply.resize(reply_width_ - 1, tokens.reply.back());
    tokens.prompt.resize(width_ - reply_width_, tokens.prompt.back());
  }
  tokens.reply.push_back(tokenizer_.eos());
  return tokens;
}

Batch ReplyTask::Sample(const RowRange& rows) const {
  std::vector<std::int64_t> lengths, prompt_lengths;
  std::vector<std::vector<std::int64_t>> texts;
  std::vector<LearnedSpan> learned;
  ForEachRow(rows, [&](Row& row) {
    Tokens tokens = TokensOf(row);
    prompt_lengths.push_back(std::ssize(tokens.prompt));
    tokens.prompt.insert(tokens.prompt.end(), tokens.reply.begin(), tokens.reply.end());
    lengths.push_back(std::ssize(tokens.prompt));
    learned.push_back({prompt_lengths.back(), lengths.back()});
    texts.push_back(std::move(tokens.prompt));
  });
  Batch batch(rows);
  batch.Add("tokens", PadRows(texts, static_cast<std::int64_t>(width_), tokenizer_.pad()));
  batch.Add("lengths", IntColumn(lengths));
  batch.Add("prompt_lengths", IntColumn(prompt_lengths));
  AddLearned(batch, "learned", "reply", learned);
  return batch;
}

Sums ReplyTask::Run(std::string_view, PassContext& context) const {
  const Batch& batch = context.batch();
  const at::Tensor& tokens = batch.Column("tokens");
  const ModelOutputs outputs =
      context.Forward({{"tokens", tokens, ""},
                       {"lengths", batch.Column("lengths"), ""},
                       {"supervised", FlatPositions(batch.Ragged("learned"), tokens.size(1)), ""}},
                      {"losses"});
  return {{"reply", SumLosses(outputs.at("losses"))}};
}

// Both sides are decoded: a vocabulary need not give back a text as it was.
Outcomes ReplyTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  Sheet sheet;
  std::map<std::string, std::int64_t> label_of;
  std::vector<std::int64_t> labels;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const Batch& batch = piece.batch();
    const at::Tensor& tokens = batch.Column("tokens");
    const at::Tensor& prompt_lengths = batch.Column("prompt_lengths");
    const at::Tensor place = at::arange(tokens.size(1), tokens.options()).unsqueeze(0);
    const at::Tensor prompts = tokens.masked_fill(place.ge(prompt_lengths.unsqueeze(1)), tokenizer_.pad());
    const Generated generated = piece.Generate({{"tokens", prompts, ""}, {"lengths", prompt_lengths, ""}},
                                               {.max_new_tokens = static_cast<std::int64_t>(reply_width_)});
    const at::Tensor all = tokens.to(at::kCPU).contiguous();
    const std::vector<std::int64_t> begins = HostValues(prompt_lengths),
                                    ends = HostValues(batch.Column("lengths"));
    for (std::size_t i = 0; i < generated.tokens.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const std::string right = tokenizer_.Decode(Span(all, row, begins[i], ends[i] - 1)),
                        reply = tokenizer_.Decode(generated.tokens[i]);
      labels.push_back(label_of.emplace(right, std::ssize(label_of)).first->second);
      if (Sheet::Shows(outcomes.score.size()))
        sheet.Add(outcomes.score.size(), {.question = tokenizer_.Decode(Span(all, row, 0, begins[i])),
                                          .reply = reply,
                                          .right = right,
                                          .is_right = reply == right});
      outcomes.score.push_back(reply == right ? 1 : 0);
    }
  });
  std::vector<std::int64_t> trained;
  if (const ItemStream* items = Items())
    trained = CountReplies(std::min(kShownRows, items->size(Split::kTraining)), label_of,
                           [&](Row& row) { return tokenizer_.Decode(texts_.Encode(Draw(row).reply)); });
  outcomes.trivial["most frequent reply"] = MostFrequentIsRight(labels, trained);
  if (const auto replies = std::ranges::count_if(trained, [](auto times) { return times > 0; }); replies > 0)
    outcomes.chance = 1.0 / static_cast<double>(replies);
  sheet.MoveTo(outcomes);
  return outcomes;
}

std::vector<std::string> ReplyTask::ShownTexts() const {
  std::set<std::string> texts;
  ForEachRow({.seed = 0, .begin = 0, .count = kShownRows}, [&](Row& row) {
    const Exchange exchange = Draw(row);
    texts.insert(exchange.prompt + exchange.reply);
  });
  return {texts.begin(), texts.end()};
}

}  // namespace medley

// A whole task in one file. Three numbers are counted, the model says the next: "two, three, four," asks for
// " five".
#include <medley/task/plugin.h>

#include <array>

#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

namespace {

using namespace medley;

constexpr int kWidth = 48;  // most tokens of a row; a vocabulary that knows the words needs a third of them
constexpr std::array<std::string_view, 10> kNumbers = {"one", "two",   "three", "four", "five",
                                                       "six", "seven", "eight", "nine", "ten"};
constexpr int kRows = 7;  // starts that leave a next number

std::string Prompt(int start) {
  std::string text;
  for (int i = start; i < start + 3; ++i) text += (i > start ? " " : "") + std::string(kNumbers[i]) + ",";
  return text;
}
std::string Reply(int start) { return " " + std::string(kNumbers[start + 3]); }

class CountOn final : public Task {
 public:
  static constexpr TaskSpec kSpec{.name = "count_on",
                                  .summary = "say the number that comes next",
                                  .passes = {{.name = "count", .text_width = kWidth}},
                                  .terms = {{.name = "number", .max_items = kWidth - 1}},
                                  .inputs = {"tokens", "lengths", "supervised"},
                                  .outputs = {"logits"},
                                  .special_tokens = {"<pad>", "<eos>"},
                                  .score = {.name = "accuracy", .chance = 1.0 / kRows},
                                  .rows_repeat = true};
  static std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (int start = 0; start < kRows; ++start) texts.push_back(Prompt(start) + Reply(start));
    return texts;
  }

  explicit CountOn(const TaskContext& context)
      : pad_(context.tokenizer().pad()), eos_(context.tokenizer().eos()) {
    for (int start = 0; start < kRows; ++start) {
      prompts_[start] = context.tokenizer().Encode(Prompt(start));
      replies_[start] = context.tokenizer().Encode(Reply(start));
      if (prompts_[start].size() + replies_[start].size() >= kWidth) {
        throw InputError("\"" + Prompt(start) + Reply(start) + "\" is too long in this vocabulary");
      }
    }
  }

  // Row r is a function of the range's seed and r alone. What is learned: the reply and its eos.
  Batch Sample(const RowRange& rows) const override {
    std::vector<std::int64_t> starts, lengths, prompt_lengths;
    std::vector<std::vector<std::int64_t>> tokens;
    std::vector<LearnedSpan> learned;
    for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
      const std::int64_t start = rows.Random(row).Below(kRows);
      std::vector<std::int64_t> ids = prompts_[start];
      starts.push_back(start);
      prompt_lengths.push_back(static_cast<std::int64_t>(ids.size()));
      ids.insert(ids.end(), replies_[start].begin(), replies_[start].end());
      ids.push_back(eos_);
      lengths.push_back(static_cast<std::int64_t>(ids.size()));
      learned.push_back({prompt_lengths.back(), lengths.back()});
      tokens.push_back(std::move(ids));
    }
    Batch batch(rows);
    batch.Add("start", IntColumn(starts));
    batch.Add("tokens", PadRows(tokens, kWidth, pad_));
    batch.Add("lengths", IntColumn(lengths));
    batch.Add("prompt_lengths", IntColumn(prompt_lengths));
    AddLearned(batch, "learned", "number", learned);
    return batch;
  }

  Sums Run(std::string_view, PassContext& context) const override {
    const Batch& batch = context.batch();
    const ModelOutputs outputs =
        context.Forward({{"tokens", batch.Column("tokens"), ""},
                         {"lengths", batch.Column("lengths"), ""},
                         {"supervised", FlatPositions(batch.Ragged("learned"), kWidth), ""}},
                        {"logits"});
    return {{"number", SumCrossEntropy(outputs.at("logits"), outputs.at("targets"))}};
  }

  // 1 where the model's own reply is the right one, eos included.
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    Outcomes outcomes;
    context.ForEachPiece(rows, [&](EvalPass& piece) {
      const Batch& batch = piece.batch();
      const Generated generated = piece.Generate(
          {{"tokens", batch.Column("tokens"), ""}, {"lengths", batch.Column("prompt_lengths"), ""}},
          {.max_new_tokens = kWidth / 2});
      const at::Tensor starts = batch.Column("start").to(at::kCPU);
      for (std::size_t row = 0; row < generated.tokens.size(); ++row) {
        const auto start = starts.const_data_ptr<std::int64_t>()[row];
        outcomes.score.push_back(generated.tokens[row] == replies_[start] ? 1 : 0);
      }
    });
    return outcomes;
  }

  at::Tensor Constant(std::string_view name) const override {
    throw Error("count_on has no constant '" + std::string(name) + "'");
  }

 private:
  std::array<std::vector<std::int64_t>, kRows> prompts_, replies_;  // tokens by the first number
  std::int64_t pad_, eos_;
};

}  // namespace

MEDLEY_PLUGIN(CountOn)

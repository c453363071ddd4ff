// Goes a way and is told what it was worth; nobody shows it the right one (REINFORCE, Williams 1992).
#include <medley/base/random.h>
#include <medley/task/drivers/judge_pictures.h>
#include <medley/task/drivers/row.h>
#include <medley/task/plugin.h>
#include <medley/task/tensors.h>
#include <medley/task/text_rows.h>

using namespace medley;

// The way that pays has the place of its question.
constexpr std::string_view kAsked[] = {"Where is the gold?", "Where is the door?", "Where is the wall?"};
constexpr std::string_view kWays[] = {"left", "right", "ahead"};
constexpr int kWidth = 24;  // tokens of a question, with its end
constexpr double kChance = 1.0 / std::size(kWays);

class Bandit final : public Task {
 public:
  static constexpr TaskSpec kSpec{
      .name = "bandit",
      .summary = "find the way that pays, by trying",
      .passes = {{.name = "act", .text_width = kWidth, .keeps = {"way", "worth"}, .no_gradient = true},
                 {.name = "before", .text_width = kWidth, .keeps = {"before"}, .reference = "start"},
                 {.name = "learn", .text_width = kWidth}},
      .terms = {{.name = "worth"}, {.name = "leash", .weight = 0.01}},
      .constants = {{.name = "asked", .rows = std::size(kAsked), .width = kWidth}},
      .inputs = {"tokens", "lengths", "supervised"},
      .outputs = {"logits"},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "paid", .chance = kChance, .low = 0, .high = 1},
      .rows_repeat = true};
  static std::vector<std::string> Texts() {
    std::vector<std::string> texts{std::begin(kAsked), std::end(kAsked)};
    texts.insert(texts.end(), std::begin(kWays), std::end(kWays));
    return texts;
  }
  explicit Bandit(const TaskContext& context)
      : asked_(context.tokenizer(), "asked", kAsked, kWidth, TextEnd::kEos) {
    for (const std::string_view way : kWays) ways_.push_back(context.tokenizer().Encode(way).front());
  }

  Batch Sample(const RowRange& rows) const override {
    std::vector<std::int64_t> asked, lengths;
    ForEachRow(rows, [&](Row& row) {
      asked.push_back(asked_.Draw(rows, row.random));
      lengths.push_back(asked_.Length(asked.back()));
    });
    Batch batch(rows);
    batch.Add("asked", IntColumn(asked));
    batch.Add("lengths", IntColumn(lengths));
    batch.CountEach("worth");
    batch.CountEach("leash");
    return batch;
  }

  Sums Run(std::string_view pass, PassContext& context) const override {
    const at::Tensor likely = Likely(context);
    if (pass == "before") context.Carry("before", likely);
    if (pass == "act") {
      const at::Tensor way = Drawn(likely, context.Seed("way"), context.batch().rows());
      context.Carry("way", way);
      context.Carry("worth", Pays(way, context) - kChance);
    }
    if (pass != "learn") return {};
    const at::Tensor went = likely.gather(1, context.Carried("way").unsqueeze(1)).squeeze(1);
    return {{"worth", -(went * context.Carried("worth")).sum()},
            {"leash", (likely.exp() * (likely - context.Carried("before"))).sum()}};
  }

  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    Outcomes outcomes;
    context.ForEachPiece(
        rows, [&](EvalPass& piece) { AppendRows(outcomes.score, Pays(Likely(piece).argmax(1), piece)); });
    return outcomes;
  }

  at::Tensor Constant(std::string_view) const override { return asked_.Tokens(); }

 private:
  // How likely each way is as the first word of an answer, [rows, ways], as logarithms.
  at::Tensor Likely(PassContext& context) const {
    const at::Tensor& lengths = context.batch().Column("lengths");
    const at::Tensor end = at::arange(lengths.size(0), lengths.options()) * kWidth + lengths - 1;
    const at::Tensor tokens = context.Constant("asked").index_select(0, context.batch().Column("asked"));
    const ModelOutputs outputs = context.Forward(
        {{"tokens", tokens, ""}, {"lengths", lengths, ""}, {"supervised", end, ""}}, {"logits"});
    return outputs.at("logits").index_select(1, IntColumn(ways_).to(lengths.device())).log_softmax(1);
  }
  // Each row by a number of its own, the same whatever rows are beside it: [rows].
  static at::Tensor Drawn(const at::Tensor& likely, std::uint64_t seed, const RowRange& rows) {
    std::vector<double> drawn;
    for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row)
      drawn.push_back(RowRandom(CombineSeeds(seed, static_cast<std::uint64_t>(row))).Uniform());
    const at::Tensor numbers = at::tensor(drawn, at::kDouble).to(likely.options()).unsqueeze(1);
    return likely.exp().cumsum(1).lt(numbers).sum(1).clamp_max(static_cast<std::int64_t>(std::size(kWays)) -
                                                               1);
  }
  static at::Tensor Pays(const at::Tensor& way, PassContext& context) {
    return (way == context.batch().Column("asked")).to(at::kFloat);
  }

  TextTable asked_;
  std::vector<std::int64_t> ways_;
};

MEDLEY_PLUGIN(Bandit)

// A task of two passes that is wrong in the way that its option names: what an author gets wrong and no
// compiler sees. Its rows are replies of one to six tokens, one in 16 of 24.
#include <ATen/core/Tensor.h>

#include <cstdlib>
#include <numeric>

#include <medley/task/losses.h>
#include <medley/task/plugin.h>
#include <medley/task/text_rows.h>

namespace medley::testing {

constexpr int kWidth = 32, kMostTokens = 24, kMostOthers = 6, kWords = 8;

class WrongAuthor final : public Task {
 public:
  static constexpr TaskSpec kSpec{
      .name = "wrong_author",
      .passes = {{.name = "say", .text_width = kWidth}, {.name = "repeat", .text_width = kWidth}},
      .terms = {{.name = "reply", .max_items = 99}},
      .options =
          {WordOption("wrong",
                      {"nothing", "mean", "counter", "rand", "range", "kept", "longest", "counts_row_3"},
                      "what is"),
           SwitchOption("wants_a_model", false, "its passes refuse outputs that nothing computed"),
           {.name = "items", .value = 0, .low = 0, .high = 99, .summary = "of a row; 0: the right number"}},
      .inputs = {"tokens", "lengths", "supervised"},
      .outputs = {"logits", "targets"},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "luck", .chance = 0.5},
  };
  static std::vector<std::string> Texts() { return {}; }

  explicit WrongAuthor(const TaskContext& context)
      : pad_(context.tokenizer().pad()),
        eos_(context.tokenizer().eos()),
        wrong_(context.Word("wrong")),
        wants_a_model_(context.Switch("wants_a_model")),
        items_(static_cast<std::int64_t>(context.Option("items"))) {}

  Batch Sample(const RowRange& rows) const override {
    std::vector<std::vector<std::int64_t>> tokens;
    std::vector<std::int64_t> lengths, items;
    std::vector<std::vector<std::int64_t>> learned;
    for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
      const std::int64_t length = Length(rows, row);
      RowRandom random = rows.Random(row, 1);
      std::vector<std::int64_t>& ids = tokens.emplace_back(static_cast<std::size_t>(length), 0);
      for (std::int64_t& id : ids) id = random.Below(kWords);
      ids.push_back(eos_);
      lengths.push_back(length + 1);
      std::vector<std::int64_t>& positions = learned.emplace_back(static_cast<std::size_t>(length));
      std::iota(positions.begin(), positions.end(), 1);
      items.push_back(items_ > 0 ? items_ : 2 * length);
    }
    Batch batch(rows);
    batch.Add("tokens", PadRows(tokens, kWidth, pad_));
    batch.Add("lengths", IntColumn(lengths));
    batch.AddRagged("learned", learned);
    batch.SetItems("reply", IntColumn(items));
    return batch;
  }

  Sums Run(std::string_view pass, PassContext& context) const override {
    const Batch& batch = context.batch();
    const ModelOutputs outputs =
        context.Forward({{"tokens", batch.Column("tokens"), ""},
                         {"lengths", batch.Column("lengths"), ""},
                         {"supervised", FlatPositions(batch.Ragged("learned"), kWidth), ""}},
                        {"logits", "targets"});
    const at::Tensor& logits = outputs.at("logits");
    if (wants_a_model_ && logits.requires_grad() && !logits.grad_fn()) throw Error("no model made this");
    at::Tensor sum = SumCrossEntropy(logits, outputs.at("targets"));
    if (wrong_ == "mean") sum = sum.div(batch.ItemCount("reply"));
    if (wrong_ == "kept" && pass == "say") kept_ = logits.detach().abs().mean();
    if (wrong_ == "kept" && pass == "repeat" && kept_.defined()) sum = sum.add(kept_.mul(0.05));
    return {{"reply", sum}};
  }

  Outcomes Evaluate(EvalContext&, const RowRange& rows) const override {
    return {.score = std::vector<double>(static_cast<std::size_t>(rows.count), 1.0)};
  }
  at::Tensor Constant(std::string_view) const override { return {}; }

 private:
  std::int64_t Length(const RowRange& rows, std::int64_t row) const {
    if (rows.longest && wrong_ != "longest") return kMostTokens;
    if (wrong_ == "counter") return 1 + calls_++ % kMostOthers;
    if (wrong_ == "counts_row_3" && row == 3) return 1 + calls_++ % kMostOthers;
    if (wrong_ == "rand") return 1 + std::rand() % kMostOthers;
    if (wrong_ == "range") return 1 + (row - rows.begin) % kMostOthers;
    return row % 16 == 15 ? kMostTokens : 1 + rows.Random(row).Below(kMostOthers);
  }

  std::int64_t pad_, eos_;
  std::string wrong_;
  bool wants_a_model_;
  std::int64_t items_;
  mutable std::int64_t calls_ = 0;
  mutable at::Tensor kept_;
};

MEDLEY_PLUGIN(WrongAuthor)

}  // namespace medley::testing

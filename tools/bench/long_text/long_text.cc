// As many tokens as a row holds, all of them learned, for the step of tools/gpu-check: what they are costs
// nothing.
#include <medley/task/losses.h>
#include <medley/task/plugin.h>
#include <medley/task/text_rows.h>

#include <ATen/core/Tensor.h>

#include <string_view>
#include <vector>

namespace {

using namespace medley;

constexpr int kWidth = 512, kShortWidth = 16;

class LongText final : public Task {
 public:
  static constexpr TaskSpec kSpec{.name = "long_text",
                                  .summary = "texts of one width, to see how long a step takes",
                                  .passes = {{.name = "text", .text_width = kWidth}},
                                  .terms = {{.name = "text", .max_items = kWidth - 1}},
                                  .variants = {{.name = "short",
                                                .passes = {{.name = "text", .text_width = kShortWidth}},
                                                .terms = {{.name = "text", .max_items = kShortWidth - 1}},
                                                .summary = "for a machine without a GPU"}},
                                  .inputs = {"tokens", "lengths", "supervised"},
                                  .outputs = {"losses"},
                                  .score = {.name = "none"}};
  explicit LongText(const TaskContext& context)
      : width_(context.variant == "short" ? kShortWidth : kWidth), words_(context.tokenizer().size()) {}

  Batch Sample(const RowRange& rows) const override {
    std::vector<std::vector<std::int64_t>> texts;
    for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
      RowRandom random = rows.Random(row);
      std::vector<std::int64_t>& text = texts.emplace_back();
      for (std::int64_t i = 0; i < width_; ++i) text.push_back(random.Below(words_));
    }
    Batch batch(rows);
    batch.Add("tokens", PadRows(texts, width_, /*pad=*/0));
    batch.Add("lengths", IntColumn(std::vector<std::int64_t>(texts.size(), width_)));
    AddLearned(batch, "learned", "text", std::vector<LearnedSpan>(texts.size(), {1, width_}));
    return batch;
  }

  Sums Run(std::string_view, PassContext& context) const override {
    const Batch& batch = context.batch();
    const ModelOutputs outputs =
        context.Forward({{"tokens", batch.Column("tokens"), ""},
                         {"lengths", batch.Column("lengths"), ""},
                         {"supervised", FlatPositions(batch.Ragged("learned"), width_), ""}},
                        {"losses"});
    return {{"text", SumLosses(outputs.at("losses"))}};
  }
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { return {}; }

 private:
  std::int64_t width_, words_;
};

}  // namespace

MEDLEY_PLUGIN(LongText)

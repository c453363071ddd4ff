// What tests/python/tasks/ has in Python.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include <medley/task/drivers/judge_pictures.h>
#include <medley/task/plugin.h>

namespace medley {

using Floats = std::vector<float>;

at::Tensor TensorOfFloats(const Floats& values, at::IntArrayRef sizes) {
  at::Tensor tensor = at::empty(sizes);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<float>());
  return tensor;
}

// A noisy line: [rows, 24] and [rows, 2].
void DrawLines(const RowRange& rows, Floats& series, Floats& targets) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    RowRandom random = rows.Random(rows.begin + i);
    const double begin = random.Uniform() * 2 - 1, slope = random.Uniform() * 2 - 1;
    for (int f = 0; f < 24; ++f) {
      const double frame = static_cast<double>(static_cast<float>(f) / 24.0f);
      series.push_back(static_cast<float>((begin + slope * frame) + (random.Uniform() - 0.5)));
    }
    targets.push_back(static_cast<float>(begin));
    targets.push_back(static_cast<float>(slope));
  }
}

class Lines final : public Task {
 public:
  static constexpr TaskSpec kSpec{.name = "line",
                                  .summary = "say where a line begins and how steep it is",
                                  .passes = {{.name = "look"}},
                                  .terms = {{.name = "error"}},
                                  .inputs = {"series"},
                                  .outputs = {"values"},
                                  .score = {.name = "error", .higher_is_better = false}};
  explicit Lines(const TaskContext&) {}

  Batch Sample(const RowRange& rows) const override {
    Floats series, targets;
    DrawLines(rows, series, targets);
    Batch batch(rows);
    batch.Add("series", TensorOfFloats(series, {rows.count, 24}));
    batch.Add("targets", TensorOfFloats(targets, {rows.count, 2}));
    batch.CountEach("error");
    return batch;
  }
  static at::Tensor Errors(PassContext& context) {
    const at::Tensor values =
        context.Forward({{"series", context.batch().Column("series"), ""}}, {"values"}).at("values");
    return values.sub(context.batch().Column("targets")).square().mean(1);
  }
  Sums Run(std::string_view, PassContext& context) const override {
    return {{"error", Errors(context).sum()}};
  }
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    Outcomes outcomes;
    context.ForEachPiece(rows, [&](EvalPass& piece) { AppendRows(outcomes.score, Errors(piece)); });
    return outcomes;
  }
};

// A bright box on noise: where its corner is.
class Boxes final : public Task {
 public:
  static constexpr TaskSpec kSpec{.name = "box",
                                  .summary = "say where a box is",
                                  .passes = {{.name = "look"}},
                                  .terms = {{.name = "error"}},
                                  .inputs = {"picture"},
                                  .outputs = {"corner"},
                                  .score = {.name = "error", .higher_is_better = false}};
  explicit Boxes(const TaskContext&) {}

  Batch Sample(const RowRange& rows) const override {
    at::Tensor pictures = at::zeros({rows.count, 3, 32, 32}, at::kByte);
    Floats corners;
    auto* pixel = pictures.mutable_data_ptr<std::uint8_t>();
    for (std::int64_t i = 0; i < rows.count; ++i) {
      RowRandom random = rows.Random(rows.begin + i);
      const std::int64_t x = random.Below(24), y = random.Below(24);
      for (int c = 0; c < 3; ++c) {
        for (std::int64_t r = y; r < y + 8; ++r)
          for (std::int64_t q = x; q < x + 8; ++q) pixel[((i * 3 + c) * 32 + r) * 32 + q] = 200;
      }
      corners.push_back(static_cast<float>(x) / 24.0f);
      corners.push_back(static_cast<float>(y) / 24.0f);
    }
    Batch batch(rows);
    batch.Add("picture", pictures);
    batch.Add("corner", TensorOfFloats(corners, {rows.count, 2}));
    batch.CountEach("error");
    return batch;
  }
  static at::Tensor Errors(PassContext& context) {
    const at::Tensor corner =
        context.Forward({{"picture", context.Pixels("picture"), ""}}, {"corner"}).at("corner");
    return corner.sub(context.batch().Column("corner")).square().mean(1);
  }
  Sums Run(std::string_view, PassContext& context) const override {
    return {{"error", Errors(context).sum()}};
  }
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    Outcomes outcomes;
    context.ForEachPiece(rows, [&](EvalPass& piece) { AppendRows(outcomes.score, Errors(piece)); });
    return outcomes;
  }
};

// Two passes with a carry, a kept tensor, a table, a ragged column, items, an option, random numbers of a
// pass, and the starting weights.
class Chains final : public Task {
 public:
  static constexpr TaskSpec kSpec{
      .name = "chain",
      .summary = "a line once more, with what it has said of it",
      .passes = {{.name = "before", .keeps = {"begun"}, .reference = "start"},
                 {.name = "first", .carries = {"said"}, .keeps = {"sign"}},
                 {.name = "second"}},
      .terms = {{.name = "error"}, {.name = "again", .weight = 0.5, .max_items = 3}},
      .constants = {{.name = "table", .rows = 4, .width = 24, .dtype = "float32"}},
      .options = {{.name = "noise", .value = 0.25}},
      .inputs = {"series"},
      .outputs = {"values"},
      .score = {.name = "error", .higher_is_better = false}};
  explicit Chains(const TaskContext& context) : noise_(context.Option("noise")) {}

  Batch Sample(const RowRange& rows) const override {
    Floats series, targets;
    DrawLines(rows, series, targets);
    at::Tensor index = at::empty({rows.count}, at::kLong), items = at::empty({rows.count}, at::kLong);
    std::vector<std::vector<std::int64_t>> more;
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const std::int64_t row = rows.begin + i, count = rows.longest ? 3 : row % 3 + 1;
      index.mutable_data_ptr<std::int64_t>()[i] = row % 4;
      items.mutable_data_ptr<std::int64_t>()[i] = count;
      more.emplace_back();
      for (std::int64_t k = 0; k < count; ++k) more.back().push_back(k + 1);
    }
    Batch batch(rows);
    batch.Add("series", TensorOfFloats(series, {rows.count, 24}));
    batch.Add("targets", TensorOfFloats(targets, {rows.count, 2}));
    batch.Add("index", index);
    batch.AddRagged("more", more);
    batch.CountEach("error");
    batch.SetItems("again", items);
    return batch;
  }

  Sums Run(std::string_view pass, PassContext& context) const override {
    const Batch& batch = context.batch();
    const at::Tensor &series = batch.Column("series"), &targets = batch.Column("targets");
    if (pass == "second") return Second(context, series, targets);
    const at::Tensor values = context.Forward({{"series", series, ""}}, {"values"}).at("values");
    if (pass == "before") {
      context.Carry("begun", values);
      return {};
    }
    context.Carry("said", values);
    context.Carry("sign", values.sign());
    return {{"error", values.sub(targets).square().mean(1).sum()}};
  }

  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    Outcomes outcomes;
    context.ForEachPiece(rows, [&](EvalPass& piece) {
      const at::Tensor values =
          piece.Forward({{"series", piece.batch().Column("series"), ""}}, {"values"}).at("values");
      AppendRows(outcomes.score, values.sub(piece.batch().Column("targets")).square().mean(1));
      AppendRows(outcomes.Amount("size"), values.abs().sum(1));
    });
    return outcomes;
  }

  at::Tensor Constant(std::string_view) const override {
    Floats table;
    for (int i = 0; i < 96; ++i) table.push_back(static_cast<float>(i) / 96.0f);
    return TensorOfFloats(table, {4, 24});
  }

 private:
  Sums Second(PassContext& context, const at::Tensor& series, const at::Tensor& targets) const {
    const Batch& batch = context.batch();
    Floats noise;
    for (std::int64_t i = 0; i < batch.size(); ++i)
      noise.push_back(static_cast<float>(
          RowRandom(CombineSeeds(context.Seed("noise"), static_cast<std::uint64_t>(batch.rows().begin + i)))
              .Uniform(0, noise_)));
    const at::Tensor noisy = TensorOfFloats(noise, {batch.size(), 1}).to(series.scalar_type());
    const RaggedColumn& more = batch.Ragged("more");
    const at::Tensor sums = at::zeros({batch.size()}, series.options())
                                .index_add(0, more.item_row, more.values.to(series.scalar_type()));
    const at::Tensor said = context.Carried("said");
    const at::Tensor other = context.Constant("table").index_select(0, batch.Column("index"));
    const at::Tensor input = series.add(other).add(noisy).add(said.sum(1, true).mul(0.125));
    const at::Tensor values = context.Forward({{"series", input, ""}}, {"values"}).at("values");
    const at::Tensor wanted =
        targets.add(context.Carried("sign").mul(0.25)).add(context.Carried("begun").mul(0.5));
    return {{"again", values.sub(wanted).square().mean(1).mul(sums).sum()}};
  }

  double noise_;
};

}  // namespace medley

MEDLEY_PLUGIN(medley::Lines, medley::Boxes, medley::Chains)

// A disc is seen, then gone: the second pass draws it from the drawing of the first.
#include <medley/task/drivers/picture_task.h>
#include <medley/task/losses.h>
#include <medley/task/plugin.h>

using namespace medley;

constexpr std::string_view kTexts[] = {"Draw it."};
constexpr TextList kPrompts{"prompts", kTexts};

class Carried final : public Task {
 public:
  static constexpr TaskSpec kSpec{.name = "carried",
                                  .summary = "draw the disc that is gone",
                                  .passes = {{"look", kPromptWidth, {"image"}, true, {"canvas"}},
                                             {"recall", kPromptWidth, {"canvas"}, true}},
                                  .terms = {{.name = "look"}, {.name = "recall"}},
                                  .constants = {kPrompts.Spec()},
                                  .inputs = {"images", "tokens", "lengths"},
                                  .outputs = {"image"},
                                  .special_tokens = {"<pad>", "<eos>"},
                                  .score = {.name = "image_error", .higher_is_better = false}};
  static std::vector<std::string> Texts() { return TextsOf({&kPrompts, 1}); }
  explicit Carried(const TaskContext& context)
      : size_(static_cast<double>(context.image().size)), prompts_(context, "task", kPrompts) {}

  Batch Sample(const RowRange& rows) const override {
    PictureColumn seen(rows.count, static_cast<std::int64_t>(size_));
    ForEachRow(rows, [&](Row& row) {
      const double down = size_ * row.random.Uniform(0.3, 0.7), right = size_ * row.random.Uniform(0.3, 0.7);
      seen[row.index()].Disc(down, right, size_ * row.random.Uniform(0.2, 0.3), kBlack);
    });
    Batch batch(rows);
    batch.Add("image", seen.tensor());
    prompts_.AddDrawn(batch);
    for (const TermSpec& term : kSpec.terms) batch.CountEach(std::string(term.name));
    return batch;
  }
  Sums Run(std::string_view pass, PassContext& context) const override {
    const at::Tensor drawn = context.Forward(Inputs(pass, context), {"image"}).at("image");
    if (pass == "look") context.Carry("canvas", drawn);
    const at::Tensor target = context.Pixels("image");
    return {{std::string(pass), SumPictureError(drawn, target, target, 0)}};
  }
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    const auto recall = [this](EvalPass& piece) { return Run("look", piece), Inputs("recall", piece); };
    return JudgePictures(context, rows, {.target = "image", .inputs = recall});
  }
  at::Tensor Constant(std::string_view) const override { return prompts_.Constant(); }

 private:
  ModelInputs Inputs(std::string_view pass, PassContext& context) const {
    return prompts_.Inputs({context.Image(pass == "look" ? "image" : "canvas")}, context);
  }
  double size_;
  Prompts prompts_;
};

MEDLEY_PLUGIN(Carried)

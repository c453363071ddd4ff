#include <medley/task/plugin.h>

#include <medley/task/drivers/control_pass.h>
#include <medley/task/drivers/streams.h>

#include "tasks/drivers/pictures.h"
#include "tasks/world/control_scenes.h"

namespace medley::tasks {
namespace {

// A picture of any kind comes back while a line of text is read: the pass that other tasks make beside their
// own.
class Control final : public Task {
 public:
  static constexpr TaskSpec kSpec{.name = "control",
                                  .summary = "draw the picture that you see; continue a line of text",
                                  .passes = {ControlPassSpec(/*decodes_image=*/true)},
                                  .terms = {ControlImageTerm(), ControlTextTerm()},
                                  .inputs = {"images", "tokens", "lengths", "supervised"},
                                  .outputs = {"losses", "drawing"},
                                  .special_tokens = {"<pad>", "<eos>"},
                                  .score = {.name = "image_error", .higher_is_better = false},
                                  // Some kinds of scenes are few: to show one again is no mistake.
                                  .rows_repeat = true};

  explicit Control(const TaskContext& context) : size_(ImageSize(context)), pass_(context) {}

  Batch Sample(const RowRange& rows) const override {
    std::vector<world::Scene> scenes;
    for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row)
      scenes.push_back(SceneOf(rows, row));
    Batch batch(rows);
    batch.Add("image", RenderScenes(scenes, size_));
    pass_.Sample(batch, /*decodes_image=*/true);
    return batch;
  }

  Sums Run(std::string_view, PassContext& context) const override {
    return pass_.Run(context, /*decodes_image=*/true);
  }

  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    const auto zoom = [&rows](std::int64_t row) {
      const world::Scene scene = SceneOf(rows, row);
      return scene.options.zoom ? scene.options.zoom->factor : 1.0;
    };
    return JudgePictures(context, rows,
                         {.target = "image",
                          .mean_answer = "mean image",
                          .output = "drawing",
                          .inputs = [this](EvalPass& piece) { return pass_.Inputs(piece); },
                          .more = FoundFigures(zoom, /*input_is_an_answer=*/false)});
  }

 private:
  static world::Scene SceneOf(const RowRange& rows, std::int64_t row) {
    RowRandom random = rows.Random(row, kSceneStream);
    return world::ControlScene(row, random);
  }

  int size_;
  ControlPass pass_;
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::Control)

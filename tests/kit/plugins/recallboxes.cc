// One to five discs are seen, then gone: the second pass draws each of them again from the drawing of the
// first.
#include <medley/task/drivers/carry_task.h>
#include <medley/task/plugin.h>
#include <medley/task/tensors.h>

using namespace medley;

constexpr std::string_view kTexts[] = {"Remember the discs.", "Draw every disc again."};
constexpr TextList kPrompts{.name = "prompts", .texts = kTexts, .most_tokens = 24};
constexpr Colour kColours[] = {{200, 0, 0}, {0, 150, 0}, {0, 0, 200}};
constexpr int kMost = 5;

class RecallBoxes final : public CarryTask {
 public:
  static constexpr TaskSpec kSpec = CarrySpec(
      "recallboxes", "draw the discs that are gone", kPrompts,
      {{.name = "look", .weight = 0.5}, {.name = "discs", .looks_at = "look", .most_items = kMost}});
  explicit RecallBoxes(const TaskContext& context) : CarryTask(context, kSpec, kPrompts) {}

 private:
  std::vector<std::int64_t> Draw(Row& row, PictureBytes image, PictureBytes target) const override {
    const std::int64_t count = row.longest() ? kMost : 1 + row.random.Below(kMost), size = image.size();
    std::vector<std::int64_t> places;  // of each disc row and column as one number
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t y = row.random.Below(size), x = row.random.Below(size);
      const Colour colour = kColours[row.random.Below(3)];
      for (const PictureBytes& picture : {image, target})
        picture.Disc(static_cast<double>(y), static_cast<double>(x), static_cast<double>(size) / 10, colour);
      places.push_back(y * size + x);
    }
    return places;
  }

  // Mean squared error on the pixels of each disc, [discs].
  at::Tensor Errors(std::string_view pass, const at::Tensor& drawn, PassContext& context) const override {
    if (pass == "look") return CarryTask::Errors(pass, drawn, context);
    const RaggedColumn& discs = context.batch().Ragged("items");
    const std::int64_t size = drawn.size(2);
    const at::Tensor side = at::arange(size, discs.values.options());
    const at::Tensor dy = side.view({1, -1, 1}) - discs.values.floor_divide(size).view({-1, 1, 1});
    const at::Tensor dx = side.view({1, 1, -1}) - discs.values.remainder(size).view({-1, 1, 1});
    const at::Tensor inside = (dy * dy + dx * dx).le(size * size / 100);  // [discs, size, size]
    const at::Tensor error =
        (drawn - context.Pixels("target")).square().mean(1).index_select(0, discs.item_row);
    return (error * inside).sum({1, 2}) / inside.sum({1, 2});
  }
};

MEDLEY_PLUGIN(RecallBoxes)

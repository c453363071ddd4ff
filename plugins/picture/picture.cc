#include <medley/task/drivers/picture_task.h>
#include <medley/task/plugin.h>

constexpr std::string_view kTexts[] = {"Draw it blue.", "Draw it green."};
constexpr medley::TextList kPrompts{"prompts", kTexts};
constexpr medley::Colour kRed{220, 30, 30}, kColours[] = {{30, 30, 220}, {30, 160, 30}};

// A red box stands somewhere. The model draws the picture with the box in the colour that is asked for.
class Repaint final : public medley::PictureTask {
 public:
  static constexpr medley::TaskSpec kSpec = medley::PictureSpec(
      "repaint", "draw the box in the colour that is asked for", kPrompts, {.region_share = 0.8});
  explicit Repaint(const medley::TaskContext& context) : PictureTask(context, kSpec, kPrompts) {}

 private:
  Prompt Draw(medley::Row& row, medley::PictureBytes input, medley::PictureBytes target) const override {
    const std::int64_t asked = row.random.Below(2), side = input.size() / 4 + row.random.Below(16);
    const std::int64_t top = row.random.Below(input.size() - side),
                       left = row.random.Below(input.size() - side);
    input.Box(top, left, side, side, kRed);
    target.Box(top, left, side, side, kColours[asked]);
    return asked;
  }
};

MEDLEY_PLUGIN(Repaint)

// Two discs and two questions: what colour is the large one, and on which side of it is the small one?
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/question_task.h>
#include <medley/task/plugin.h>

using namespace medley;

constexpr std::string_view kColourTexts[] = {"What colour is the large disc?", "Which colour is large?"};
constexpr std::string_view kRed[] = {"Red."}, kGreen[] = {"Green."}, kBlue[] = {"Blue."};
constexpr std::string_view kSideTexts[] = {"Where is the small disc?", "Is it left or right?"};
constexpr std::string_view kLeft[] = {"Left."}, kRight[] = {"Right."};
constexpr std::array<TextList, 7> kLists{{{"colour_prompts", kColourTexts},
                                          {"red", kRed, /*reply=*/true},
                                          {"green", kGreen, true},
                                          {"blue", kBlue, true},
                                          {"side_prompts", kSideTexts},
                                          {"left", kLeft, true},
                                          {"right", kRight, true}}};
constexpr std::array<Question, 2> kQuestions{
    {{"colour", "colour_prompts", {"red", "green", "blue"}}, {"side", "side_prompts", {"left", "right"}}}};
constexpr Colour kColours[] = {{200, 30, 30}, {30, 160, 30}, {30, 30, 200}};

class Discs final : public QuestionTask {
 public:
  static constexpr TaskSpec kSpec = QuestionSpec(
      "discs", "say what colour the large disc has and where the small one is", kLists, kQuestions);
  explicit Discs(const TaskContext& context) : QuestionTask(context, kSpec, kLists, kQuestions) {}

 private:
  // Every colour with every side equally often.
  QuestionLabels Draw(Row& row, PictureBytes picture) const override {
    const int label = BalancedLabel(row.number, 6, kSpec.passes.size());
    const int colour = label % 3, side = label / 3;
    const double size = static_cast<double>(picture.size());
    const double down = size * row.random.Uniform(0.4, 0.6), away = size * row.random.Uniform(0.3, 0.35);
    picture.Disc(down, size / 2, size * row.random.Uniform(0.15, 0.22), kColours[colour]);
    picture.Disc(down, size / 2 + (side == 0 ? -away : away), size / 16, kBlack);
    return {{colour, side}};
  }
};

MEDLEY_PLUGIN(Discs)

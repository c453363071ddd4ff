#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/question_task.h>
#include <medley/task/plugin.h>

#include <array>

constexpr std::string_view kAsked[] = {"Where is the disc?", "On which side is it?"};
constexpr std::string_view kLeft[] = {"Left.", "On the left."};
constexpr std::string_view kRight[] = {"Right.", "On the right."};
constexpr std::array<medley::TextList, 3> kTexts{
    {{"asked", kAsked}, {"left", kLeft, true}, {"right", kRight, true}}};
constexpr std::array<medley::Question, 1> kQuestions{{{"side", "asked", {"left", "right"}}}};

// A disc stands left or right of the middle.
class @CLASS@ final : public medley::QuestionTask {
 public:
  static constexpr medley::TaskSpec kSpec =
      medley::QuestionSpec("@NAME@", "say on which side the disc is", kTexts, kQuestions);
  explicit @CLASS@(const medley::TaskContext& context) : QuestionTask(context, kSpec, kTexts, kQuestions) {}

 private:
  medley::QuestionLabels Draw(medley::Row& row, medley::PictureBytes picture) const override {
    const int right = medley::BalancedLabel(row.number, 2);
    const auto size = static_cast<double>(picture.size());
    const double across = row.random.Uniform(0.1, 0.4) + (right == 1 ? 0.5 : 0.0);
    picture.Disc(row.random.Uniform(0.2, 0.8) * size, across * size, 0.1 * size, {200, 40, 40});
    return {.labels = {right}};
  }
};

MEDLEY_PLUGIN(@CLASS@)

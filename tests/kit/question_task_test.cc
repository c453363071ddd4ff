// Mistakes in the lists of a question that would be learned from, or read foreign memory.
#include <medley/task/drivers/question_task.h>

#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kAsk[] = {"red or green?"}, kRed[] = {"red"}, kGreen[] = {"green"};
constexpr std::array<Question, 1> kQuestions{{{"colour", "ask", {"red", "green"}}}};

// Gives each row its number as the label.
template <bool kEnds>
class Colours final : public QuestionTask {
 public:
  static constexpr std::array<TextList, 3> kLists{
      {{"ask", kAsk}, {"red", kRed, true}, {"green", kGreen, kEnds}}};
  static constexpr TaskSpec kSpec = QuestionSpec("colours", "name a colour", kLists, kQuestions);
  explicit Colours(const TaskContext& context) : QuestionTask(context, kSpec, kLists, kQuestions) {}

 private:
  QuestionLabels Draw(Row& row, PictureBytes) const override { return {{static_cast<int>(row.number)}}; }
};

TaskContext Context() {
  static const std::vector<std::string> kLines{"red or green?", "red", "green"};
  static const WordTokenizer kWords(kLines);
  return GameContext(kWords, kLines, {});
}

template <typename Fn>
std::string MessageOf(Fn fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(QuestionTask, ALabelWithoutAReplyNamesItsRow) {
  const Colours<true> task(Context());
  EXPECT_EQ(MessageOf([&] { task.Sample({1, 0, 2}); }), "nothing was thrown");
  EXPECT_EQ(MessageOf([&] {
              task.Sample({1, 0, 3});
            }),
            "row 2: Draw gave 2 as the label of 'colour'; expected 0 to 1");
}

TEST(QuestionTask, RepliesThatNeverEndAreRefused) {
  EXPECT_EQ(
      MessageOf([] { Colours<false> task(Context()); }),
      "the list of texts 'green' is a question's replies, and no reply of it ends: set its `reply` to true");
}

// Cut in silence, it would read behind the end of its replies.
TEST(QuestionTask, MoreRepliesThanAQuestionCanHaveDoNotCompile) {
  constexpr auto fits = [](const ReplyNames& replies) {
    const std::array<Question, 1> questions{{{"colour", "ask", replies}}};
    return QuestionSpec("colours", "name a colour", Colours<true>::kLists, questions).terms.fits();
  };
  static_assert(fits({"red", "green"}));
  static_assert(!fits({"red", "red", "red", "red", "red", "red", "red", "red", "red", "red", "red", "red",
                       "red", "red", "red", "red", "green"}));
}

}  // namespace
}  // namespace medley::tasks

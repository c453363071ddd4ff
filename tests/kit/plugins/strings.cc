// Strings of letters, some of which are held out: which letter comes first?
#include <medley/task/drivers/reply_task.h>
#include <medley/task/plugin.h>

constexpr std::string_view kLetters = "abcdefgh";

class FirstLetter final : public medley::ReplyTask {
 public:
  static constexpr medley::TaskSpec kSpec = medley::ReplySpec(
      "first_letter", "say which letter comes first", {.text_width = 24, .chance = 1.0 / kLetters.size()});
  explicit FirstLetter(const medley::TaskContext& context) : ReplyTask(context, kSpec) {}

 private:
  // A fifth of all strings is for evaluations only, whatever the run's seed.
  static bool IsHeldOut(std::string_view letters) { return medley::HashName(letters) % 5 == 0; }

  medley::Exchange Draw(medley::Row& row) const override {
    std::string letters;
    do {
      letters.clear();
      for (int i = 0; i < 4; ++i) letters += kLetters[row.random.Below(kLetters.size())];
    } while (IsHeldOut(letters) != row.is_held_out());
    std::string prompt;
    for (const char letter : letters) prompt += std::string(1, letter) + " ";
    return {prompt, letters.substr(0, 1)};
  }
};

MEDLEY_PLUGIN(FirstLetter)

#include <medley/task/drivers/reply_task.h>
#include <medley/task/plugin.h>

constexpr const char* kNumbers[] = {"one", "two",   "three", "four", "five",
                                    "six", "seven", "eight", "nine", "ten"};

// Three numbers are counted, the model says the next: "two, three, four," asks for " five".
class CountOn final : public medley::ReplyTask {
 public:
  static constexpr medley::TaskSpec kSpec = medley::ReplySpec("count_on", "say the number that comes next",
                                                              {.chance = 1.0 / 7, .rows_repeat = true});
  explicit CountOn(const medley::TaskContext& context) : ReplyTask(context, kSpec) {}

 private:
  medley::Exchange Draw(medley::Row& row) const override {
    const std::int64_t start = row.random.Below(7);
    std::string prompt;
    for (std::int64_t i = start; i < start + 3; ++i) prompt += std::string(kNumbers[i]) + ", ";
    return {prompt, kNumbers[start + 3]};
  }
};

MEDLEY_PLUGIN(CountOn)

#include <medley/task/drivers/reply_task.h>
#include <medley/task/plugin.h>

#include <algorithm>
#include <string>

// Which of two numbers is larger? "3 or 8?" asks for " 8".
class @CLASS@ final : public medley::ReplyTask {
 public:
  // Of these rows guessing gets a fifth; of others leave chance out, or say theirs.
  static constexpr medley::TaskSpec kSpec =
      medley::ReplySpec("@NAME@", "say the larger of two numbers", {.chance = 0.2, .rows_repeat = true});
  explicit @CLASS@(const medley::TaskContext& context) : ReplyTask(context, kSpec) {}

 private:
  medley::Exchange Draw(medley::Row& row) const override {
    const auto one = row.random.Below(10);
    const auto other = (one + 1 + row.random.Below(9)) % 10;
    return {std::to_string(one) + " or " + std::to_string(other) + "?",
            " " + std::to_string(std::max(one, other))};
  }
};

MEDLEY_PLUGIN(@CLASS@)

#include <medley/task/drivers/chat_task.h>
#include <medley/task/plugin.h>

#include <string>

// A user asks for the number after one. Answers are learned, each with the token that ends it.
class @CLASS@ final : public medley::ChatTask {
 public:
  static constexpr medley::TaskSpec kSpec = medley::ChatSpec("@NAME@", "count on", {.rows_repeat = true});
  explicit @CLASS@(const medley::TaskContext& context) : ChatTask(context) {}

 private:
  medley::Conversation Draw(medley::Row& row) const override {
    const auto number = row.random.Below(9);
    return {{"user", std::to_string(number) + " and then?"}, {"assistant", std::to_string(number + 1), true}};
  }
};

MEDLEY_PLUGIN(@CLASS@)

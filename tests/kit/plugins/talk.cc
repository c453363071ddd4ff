// A user counts, and an assistant goes on: conversations that no file has.
#include <medley/task/drivers/chat_task.h>
#include <medley/task/plugin.h>

using namespace medley;

class Talk final : public ChatTask {
 public:
  static constexpr TaskSpec kSpec = ChatSpec("talk", "count on", {.text_width = 64, .rows_repeat = true});
  explicit Talk(const TaskContext& context) : ChatTask(context) {}

 private:
  Conversation Draw(Row& row) const override {
    static constexpr const char* kNumbers[] = {"one", "two", "three", "four", "five", "six"};
    const auto first = row.random.Below(5);
    return {{"user", kNumbers[first]}, {"assistant", kNumbers[first + 1], /*learned=*/true}};
  }
};
MEDLEY_PLUGIN(Talk)

// Two replies to a question, of which the first is the better one.
#include <medley/task/drivers/preference_task.h>
#include <medley/task/plugin.h>

using namespace medley;

class Pairs final : public PreferenceTask {
 public:
  static constexpr TaskSpec kSpec =
      PreferenceSpec("pairs", "prefer the number that comes next", {.rows_repeat = true});
  explicit Pairs(const TaskContext& context) : PreferenceTask(context) {}

 private:
  Preference Draw(Row& row) const override {
    static constexpr const char* kNumbers[] = {"one", "two", "three", "four", "five", "six"};
    const auto first = row.random.Below(5);
    return {.prompt = {{"user", std::string("what comes behind ") + kNumbers[first]}},
            .chosen = kNumbers[first + 1],
            .rejected = kNumbers[(first + 2 + row.random.Below(5)) % 6]};
  }
};
MEDLEY_PLUGIN(Pairs)

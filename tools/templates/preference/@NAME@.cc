#include <medley/task/drivers/preference_task.h>
#include <medley/task/plugin.h>

#include <string>

// Two replies to a question, of which the first is the better one.
class @CLASS@ final : public medley::PreferenceTask {
 public:
  static constexpr medley::TaskSpec kSpec =
      medley::PreferenceSpec("@NAME@", "prefer the number that comes next", {.rows_repeat = true});
  explicit @CLASS@(const medley::TaskContext& context) : PreferenceTask(context) {}

 private:
  medley::Preference Draw(medley::Row& row) const override {
    const auto number = row.random.Below(9);
    return {.prompt = {{"user", std::to_string(number) + " and then?"}},
            .chosen = std::to_string(number + 1),
            .rejected = std::to_string((number + 2 + row.random.Below(8)) % 10)};
  }
};

MEDLEY_PLUGIN(@CLASS@)

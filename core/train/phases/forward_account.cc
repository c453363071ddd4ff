#include <medley/train/phases/forward_account.h>

#include <medley/base/json_count.h>

namespace medley {

using nlohmann::json;

json ForwardAccount::Save() const {
  return {{"trained", trained_}, {"spent", spent_}, {"earned", earned_}, {"marked", marked_}};
}

void ForwardAccount::Load(const json& state) {
  trained_ = CountOf(state, "trained", 0, INT64_MAX);
  spent_ = CountOf(state, "spent", 0, INT64_MAX);
  marked_ = CountOf(state, "marked", 0, INT64_MAX);
  earned_ = state.at("earned").get<double>();
}

}  // namespace medley

#include <medley/curriculum/curriculum_edit.h>

#include <algorithm>
#include <string>

namespace medley {

void CheckWhatStays(ConfigFile& file, const Curriculum& before, const Curriculum& next,
                    const StagePlace& place) {
  const std::string stays = "is the run's and stays \"";
  const bool are_urns = next.order == DrawOrder::kUrn && before.order == DrawOrder::kUrn;  // see WeightsOf
  if (next.unit != before.unit && !are_urns) file.FailAt({"unit"}, stays + EnumName(before.unit) + "\"");
  if (next.order != before.order) file.FailAt({"order"}, stays + EnumName(before.order) + "\"");
  for (std::size_t i = 0; i < std::min(place.number + 1, before.stages.size()); ++i) {
    const Stage& old = before.stages[i];
    if (i >= next.stages.size()) {
      file.FailAt({"stages"}, "stage " + std::to_string(i + 1) + ", " + old.name +
                                  ", is missing; a stage that was begun stays");
      continue;
    }
    Stage allowed = next.stages[i];
    if (i == place.number) {
      if (old.name.empty()) allowed.name.clear();
      allowed.weights = old.weights;
      allowed.ramp = old.ramp;
      allowed.keep = old.keep;
      allowed.eval_every = old.eval_every;
      if (!place.cools) {
        allowed.until = old.until;
        allowed.cooldown_steps = old.cooldown_steps;
        allowed.cooldown_to = old.cooldown_to;
      }
    }
    if (ToJson(allowed) == ToJson(old)) continue;
    std::string words = "stage " + old.name + " is over; what is over stays as it was";
    if (i == place.number)
      words =
          std::string("this stage is present; it may get other weights, another ramp, keep and eval_every") +
          (place.cools ? ", but it cools: its end stays as it is, but in a resume from before that"
                       : ", until and cooldown") +
          ". Put the rest back";
    file.FailAt(next.PathOf(i), words);
  }
}

}  // namespace medley

#include <medley/run/odd_settings.h>

#include <gtest/gtest.h>

#include "config/config_testing.h"

namespace medley::testing {
namespace {

const Registry& FixtureTasks() {
  static const Registry registry = Registry::Scan({.paths = {MEDLEY_CONFIG_FIXTURES},
                                                   .environment = false,
                                                   .user_directory = false,
                                                   .own_directory = false});
  return registry;
}

std::vector<OddSetting> OddOf(const std::vector<std::string>& overrides, const std::string& weights = "") {
  const Workspace work;
  if (!weights.empty()) work.Write("weights.json", weights);
  const CheckedRun checked = CheckRun(work.WriteRun(), overrides, FixtureTasks());
  return OddSettings(checked, FixtureTasks());
}

std::string WordsOf(const std::vector<OddSetting>& odd) {
  std::string words;
  for (const OddSetting& setting : odd) words += setting.words + "\n";
  return words;
}

struct OddCase {
  std::vector<std::string> overrides;
  std::string words;  // that must be said; "": nothing is
  bool changes_training = true;
  std::string weights = "";
};

void ExpectSaid(const OddCase& each) {
  const std::vector<OddSetting> odd = OddOf(each.overrides, each.weights);
  if (each.words.empty()) {
    EXPECT_EQ(WordsOf(odd), "");
    return;
  }
  ASSERT_EQ(odd.size(), 1u) << WordsOf(odd) << each.words;
  EXPECT_TRUE(Has(odd[0].words, each.words)) << odd[0].words;
  EXPECT_EQ(odd[0].changes_training, each.changes_training) << odd[0].words;
}

TEST(OddSettings, OfTheScheduleAreSaidWithWhatWouldMakeSense) {
  for (const OddCase& each : std::vector<OddCase>{
           {{"steps=1000"}, ""},
           {{"steps=1000", "optimizer.warmup_steps=0"}, ""},
           {{"steps=1000", "optimizer.warmup_steps=701"}, ""},
           {{"steps=4", "checkpoint.every=0", "optimizer.warmup_steps=1"}, ""},
           {{"steps=1000", "optimizer.warmup_steps=25000"},
            "optimizer.warmup_steps: 25000 steps of warm-up in a run of 1000 steps: it comes to "},
           {{"steps=1000", "optimizer.warmup_steps=25000", "optimizer.decay_fraction=0"},
            "it comes to 4.0 % of 0.001 and no further; 100 would do"},
           {{"steps=1000", "optimizer.warmup_steps=900"},
            "whose learning rate falls from step 701 on: it comes to 77"},
           {{"steps=1000", "optimizer.decay_fraction=0.0001"}, "in a run of 1000 steps is 0 steps, in which"},
           {{"steps=1000", "optimizer.decay_fraction=0.001"},
            "is 1 step, in which the learning rate does not fall"},
           {{"steps=1000", "optimizer.decay_fraction=0.002"}, ""},
           {{"steps=1000", "optimizer.final_scale=1"}, "optimizer.final_scale: 1 is where the decay begins"},
           {{"steps=1000", "optimizer.final_scale=1", "optimizer.decay_fraction=0"}, ""},
           {{"steps=1000", "optimizer.schedule=one_cycle"}, ""},
           {{"steps=1000", "optimizer.schedule=one_cycle", "optimizer.rise_fraction=0.001"},
            "is no step that rises"},
           {{"steps=1000", "optimizer.average=0.9999"},
            "averages over about 10000 steps in a run of 1000 steps"},
           {{"steps=1000", "optimizer.average=0.99"}, ""}})
    ExpectSaid(each);
}

TEST(OddSettings, OfWhatNeverComesAndWhatDoesNothing) {
  for (const OddCase& each : std::vector<OddCase>{
           {{"steps=1000", "eval.every=1001"},
            "eval.every: 1001 steps in a run of 1000 steps: nothing is evaluated"},
           {{"steps=1000", "eval.every=1000", "checkpoint.every=1000"}, ""},
           {{"steps=1000", "checkpoint.every=1001"},
            "it is saved at its end; 100 would save ten times",
            false},
           {{"steps=1000", "data.threads=0", "data.ahead=9"}, "data.ahead: with data.threads 0", false},
           {{"steps=1000", "deterministic=true"}, "deterministic: the CPU always is", false},
           {{"steps=1000", R"(allow_missing=["head"])"}, "allow_missing: is for a model that begins", false},
           {{"steps=1000", "matmul_precision=tf32"}, "matmul_precision: is a GPU's", false},
           {{"steps=1000", "tasks.gamma.rows=4"}, "tasks.gamma: the weights file does not name it", false},
           {{"steps=1000", "optimizer.average=0.9", "phases.warmup_steps=990"},
            "phases: the first prediction comes after step 1010 at the earliest in a run of 1000 steps"},
           {{"steps=1000", R"(optimizer.groups=[{"match": "*"}, {"match": "head.*"}])"},
            "'head.*' stands behind '*'"},
           {{"steps=1000", R"(optimizer.groups=[{"match": "a", "learning_rate_scale": 0}])"},
            "trains nothing"}})
    ExpectSaid(each);
}

TEST(OddSettings, OfStagesAreSaid) {
  const auto stages = [](const std::string& first, const std::string& last = "") {
    return R"({"stages": [{"name": "a", "weights": {"alpha": 1}, )" + first +
           R"(}, {"name": "b", "weights": {"beta": 1})" + last + "}]}";
  };
  const std::vector<std::string> steps = {"steps=1000"};
  for (const OddCase& each :
       std::vector<OddCase>{{steps, "", true, stages(R"("until": {"steps": 999})")},
                            {steps, "stages: b is never begun in a run of 1000 steps", true,
                             stages(R"("until": {"steps": 1000})")},
                            {steps, "stage a: warmup of 200 steps, and it ends after 100; 10 would do", true,
                             stages(R"("until": {"steps": 100}, "warmup": 200)")},
                            {steps, "stage a: cooldown_to 1 is where", true,
                             stages(R"("until": {"steps": 100}, "cooldown": 9, "cooldown_to": 1)")}})
    ExpectSaid(each);
}

}  // namespace
}  // namespace medley::testing

#include <medley/memory/profile.h>

#include <fstream>

#include "tests/memory/plan_fixture.h"
#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

using namespace plan_fixture;

TEST(Profile, ReadsWhatItWrote) {
  Profile profile = TwoTasks();
  profile.tasks["qa"].modes[1].more_than = 77;
  const auto json = ToJson(profile);
  EXPECT_EQ(ToJson(ProfileFromJson(json, "profile.json")), json);
}

TEST(Profile, DamageIsRefusedWithTheFileAndTheReason) {
  const auto good = ToJson(TwoTasks());
  const auto refuses = [](const nlohmann::ordered_json& json, const std::string& reason) {
    try {
      ProfileFromJson(json, "some/profile.json");
      ADD_FAILURE() << "was read: " << reason;
    } catch (const InputError& error) {
      const std::string words = error.what();
      EXPECT_NE(words.find("some/profile.json"), std::string::npos) << words;
      EXPECT_NE(words.find(reason), std::string::npos) << words;
    }
  };
  refuses(nullptr, "no profile");
  refuses(nlohmann::ordered_json::array(), "no profile");
  auto bad = good;
  bad["format"] = 7;
  refuses(bad, "format is 7");
  bad = good;
  bad["tasks"]["qa"]["modes"][0]["mode"] = "sideways";
  refuses(bad, "sideways");
  bad = good;
  bad["tasks"]["qa"]["modes"][0]["whole"][0]["rows"] = 0;
  refuses(bad, "rows is 0");
  bad = good;
  bad["floor"]["weights"] = -1;
  refuses(bad, "weights is -1");
  bad = good;
  bad["floor"].erase("weights");
  refuses(bad, "weights");
  bad = good;
  bad["gradients"] = "many";
  refuses(bad, "no profile");
}

TEST(Profile, AFileThatIsNoJsonIsRefused) {
  const ScratchDirectory scratch;
  std::ofstream(scratch.path() / "profile.json") << "{ not json";
  EXPECT_THROW(ReadProfile(scratch.path() / "profile.json"), InputError);
  EXPECT_THROW(ReadProfile(scratch.path() / "nothing.json"), InputError);
}

TEST(Profile, WhatDiffersBetweenKeysIsSaid) {
  const nlohmann::ordered_json before = {{"model", "a.json (1)"}, {"threads", 2}, {"device", "cpu"}};
  nlohmann::ordered_json now = before;
  EXPECT_EQ(KeyDifferences(before, now), "");
  now["model"] = "b.json (2)";
  now["threads"] = 4;
  EXPECT_EQ(KeyDifferences(before, now), "model a.json (1) -> b.json (2); threads 2 -> 4");
  now.erase("device");
  EXPECT_EQ(KeyDifferences(before, now),
            "model a.json (1) -> b.json (2); threads 2 -> 4; device cpu -> nothing");
}

TEST(Profile, TimesAreInterpolated) {
  const ModeProfile mode = ModeOf(Mode::kJoint, 100, 10, 0, /*ms_per_row=*/3);
  EXPECT_DOUBLE_EQ(mode.Milliseconds(1), 5);
  EXPECT_DOUBLE_EQ(mode.Milliseconds(8), 26);
  EXPECT_DOUBLE_EQ(mode.Milliseconds(100), 302);
  EXPECT_EQ(ModeProfile().Milliseconds(8), 0);
}

}  // namespace
}  // namespace medley

#include <medley/train/profile_sink.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include <medley/base/error.h>

namespace medley {
namespace {

// What it writes on a GPU is asked by tools/gpu-check, on a fake one too.
TEST(ProfileSink, RefusesWhatAreNoSteps) {
  RecordSinks sinks;
  for (const std::string words : {"7", "1-3", "5-4", "2-x", "2-3 4", "-"}) {
    setenv("MEDLEY_PROFILE", words.c_str(), 1);
    EXPECT_THROW(AddProfile(sinks, "run", c10::Device(c10::kCUDA, 0)), InputError) << words;
    EXPECT_NO_THROW(AddProfile(sinks, "run", c10::kCPU));
  }
  setenv("MEDLEY_PROFILE", "2-2", 1);
  EXPECT_NO_THROW(AddProfile(sinks, "run", c10::Device(c10::kCUDA, 0)));
  unsetenv("MEDLEY_PROFILE");
}

}  // namespace
}  // namespace medley

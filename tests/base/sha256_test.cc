#include <medley/base/sha256.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <medley/base/error.h>

namespace medley {
namespace {

// The examples of FIPS 180-2: one block, and a million letters.
TEST(Sha256, GivesTheSumsOfTheStandardsExamples) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "medley_sha256";
  std::ofstream(file) << "abc";
  EXPECT_EQ(Sha256OfFile(file), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::ofstream(file) << std::string(1'000'000, 'a');
  EXPECT_EQ(Sha256OfFile(file), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::filesystem::remove(file);
  EXPECT_THROW(Sha256OfFile(file), Error);
  EXPECT_THROW(Sha256OfFile(::testing::TempDir()), Error);
}

}  // namespace
}  // namespace medley

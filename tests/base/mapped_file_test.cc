#include <medley/base/mapped_file.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include <medley/base/crash.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

constexpr std::size_t kPages = std::size_t{4} << 16;

TEST(MappedFile, KnowsWhoseAnAddressIsWhileItLives) {
  const ScratchDirectory scratch;
  WriteText(scratch / "a", std::string(kPages, 'a'));
  WriteText(scratch / "b", "b");
  const std::byte* gone = nullptr;
  const MappedFile a(scratch / "a");
  {
    const MappedFile b(scratch / "b");
    gone = b.data();
    EXPECT_EQ(MappedPathAt(gone), (scratch / "b").string());
    EXPECT_EQ(MappedPathAt(gone + 1), "");
  }
  EXPECT_EQ(MappedPathAt(gone), "");
  EXPECT_EQ(MappedPathAt(a.data() + kPages - 1), (scratch / "a").string());
  const MappedFile again(scratch / "b");
  EXPECT_EQ(MappedPathAt(again.data()), (scratch / "b").string());
  EXPECT_EQ(MappedPathAt(a.data()), (scratch / "a").string());
  EXPECT_EQ(MappedPathAt(nullptr), "");
}

TEST(MappedFile, OneThatGetsShorterEndsTheProcessWithItsName) {
  const ScratchDirectory scratch;
  WriteText(scratch / "shrinks.bin", std::string(kPages, 'a'));
  const auto touch = [&] {
    SetCrashAdvice("Then go on.");
    InstallCrashWords();
    const MappedFile file(scratch / "shrinks.bin");
    std::filesystem::resize_file(scratch / "shrinks.bin", 10);
    std::fill_n(file.data() + kPages / 2, 10, std::byte{1});
  };
  EXPECT_EXIT(touch(), ::testing::ExitedWithCode(1),
              "shrinks.bin cannot be read any more: it got shorter.*Then go on");
}

}  // namespace
}  // namespace medley
